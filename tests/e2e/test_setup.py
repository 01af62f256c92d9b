"""Installing side by side, with real processes: what fails, what is interrupted, what is done twice at once."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

WORKSHOP = Path(__file__).parents[1] / "support" / "workshop"


class Desk:
    """`longlook setup` with a cache of its own and the stack `workshop`."""

    def __init__(self, folder: Path) -> None:
        self.cache = folder / "cache"
        self.log = folder / "builds.log"
        plugins = {"LONGLOOK_CACHE": str(self.cache), "LONGLOOK_PLUGINS": str(WORKSHOP)}
        self._env = {**os.environ, **plugins, "WORKSHOP_LOG": str(self.log)}

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "longlook", "setup", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self._env,
            start_new_session=True,
        )

    def run(self, *arguments: str) -> tuple[int, str, str]:
        process = self.start(*arguments)
        out, errors = process.communicate(timeout=60)
        return process.returncode, out, errors

    def entries(self) -> list[str]:
        """Return the versions that the cache holds whole."""
        return sorted(path.parent.parent.name for path in self.cache.glob("stacks/workshop/*/*/program.json"))

    def builds(self) -> int:
        return len(self.log.read_text().splitlines()) if self.log.exists() else 0

    def wait_for_builds(self, count: int) -> None:
        deadline = time.monotonic() + 30
        while self.builds() < count:
            assert time.monotonic() < deadline
            time.sleep(0.05)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    yield Desk(tmp_path)


def still_runs(log: Path) -> list[str]:
    return [pid for pid in Path(f"{log}.pids").read_text().split() if _asleep(pid)]


def _asleep(pid: str) -> bool:
    try:
        name, _, rest = Path(f"/proc/{pid}/stat").read_text().partition("(")[2].rpartition(")")
    except OSError:
        return False
    return name == "sleep" and rest.split()[0] != "Z"  # dead, though nobody has asked for it yet


def test_a_part_that_fails_does_not_stop_the_rest(desk: Desk) -> None:
    code, out, errors = desk.run("workshop@quick-1", "workshop@broken", "workshop@quick-2")
    assert code == 3, errors
    assert desk.entries() == ["quick-1", "quick-2"]
    assert "workshop@quick-1: ready (sha256 " in out
    assert "1 of 3 could not be installed" in out
    assert "│ main.c:7: it does not build" in out
    assert "│ 8\n" not in out  # the last lines alone
    assert "→ look at the last lines" in out
    assert "Traceback" not in errors


def test_machines_get_json_lines(desk: Desk) -> None:
    code, out, _ = desk.run("workshop@quick-1", "workshop@broken", "--json")
    lines = [json.loads(line) for line in out.splitlines()]
    assert code == 3
    assert lines[-1] == {"event": "done", "ready": ["workshop@quick-1"], "failed": ["workshop@broken"]}
    assert {line["text"] for line in lines if line["event"] == "step"} >= {"sh build.sh broken"}
    ready = next(line for line in lines if line["event"] == "ready")
    assert len(ready["digest"]) == 64


def test_installed_ones_need_no_build(desk: Desk) -> None:
    assert desk.run("workshop@slow-1")[0] == 0
    began_s = time.monotonic()
    assert desk.run("workshop@slow-1", "workshop@quick-1")[0] == 0
    assert time.monotonic() - began_s < 20
    assert desk.builds() == 1


def test_all_versions_are_those_that_are_known(desk: Desk) -> None:
    Path(f"{desk.log}.go").touch()
    code, out, _ = desk.run("workshop@all", "workshop", "--jobs", "4")
    assert code == 3
    assert desk.entries() == ["held", "quick-1", "quick-2", "slow-1", "slow-2"]
    assert "1 of 6 could not be installed" in out


@pytest.mark.parametrize(
    ("part", "messages"),
    [("workshp", ["workshop"]), ("workshop@quick", ["quick-1"]), ("workshp@all", ["workshop"])],
)
def test_unknown_parts_have_nearest_names_and_nothing_begins(desk: Desk, part: str, messages: list[str]) -> None:
    code, _, errors = desk.run("workshop@slow-1", part)
    assert code == 2
    assert all(message in errors for message in messages), errors
    assert desk.builds() == 0


def test_a_killed_installation_leaves_nothing_half_done(desk: Desk) -> None:
    process = desk.start("workshop@slow-1", "--json")  # alone and for a machine: it builds in this process
    desk.wait_for_builds(1)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert desk.entries() == []
    assert desk.run("workshop@slow-1")[0] == 0
    assert desk.entries() == ["slow-1"]
    assert not list(desk.cache.rglob(".*making*"))
    assert desk.builds() == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopping_ends_every_build_with_what_it_started(desk: Desk, number: signal.Signals) -> None:
    process = desk.start("workshop@slow-1", "workshop@slow-2", "--jobs", "2")
    desk.wait_for_builds(2)
    process.send_signal(number)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 130, errors
    assert "stopped" in errors
    assert desk.entries() == []
    assert still_runs(desk.log) == []


def test_two_at_once_build_one_program(desk: Desk) -> None:
    first = desk.start("workshop@held")
    desk.wait_for_builds(1)
    second = desk.start("workshop@held")
    assert second.stdout is not None
    assert any("waiting for another longlook" in line for line in second.stdout)
    Path(f"{desk.log}.go").touch()
    for process in (first, second):
        process.communicate(timeout=60)
    assert [first.returncode, second.returncode] == [0, 0]
    assert desk.builds() == 1


def test_a_corrupt_program_is_found_and_built_again(desk: Desk) -> None:
    desk.run("workshop@quick-1")
    program = next(desk.cache.glob("stacks/workshop/quick-1/*/program"))
    whole = program.read_bytes()
    program.write_bytes(whole + b"rot")
    assert desk.run("workshop@quick-1", "workshop@quick-2")[0] == 0
    assert program.read_bytes() == whole
