"""What programs of a trial see of the machine: the same everywhere, since a program's memory depends on it."""

from pathlib import Path

import pytest

from longlook.lab.environment import Environment


def test_programs_do_not_see_where_the_user_has_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    environment = Environment(Path("/run/longlook/scratch"), "guest")
    seen = []
    for path in ("/usr/bin", ":".join(f"/home/somebody/tools-{number}" for number in range(32))):
        monkeypatch.setenv("PATH", path)
        monkeypatch.setenv("SOMETHING_ELSE", path)
        seen.append(environment.variables({"QLOGDIR": "/q"}, {"EXTRA": "1"}))
    assert seen[0] == seen[1]
    assert seen[0]["QLOGDIR"] == "/q"
    assert "/usr/bin" in seen[0]["PATH"].split(":")
    assert "SOMETHING_ELSE" not in seen[0]


def test_a_stack_can_have_a_path_of_its_own() -> None:
    environment = Environment(Path("/run/longlook/scratch"), "guest")
    assert environment.variables({}, {"PATH": "/opt/stack/bin"})["PATH"] == "/opt/stack/bin"
