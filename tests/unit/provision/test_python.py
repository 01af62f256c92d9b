"""Environments of Python stacks, with an installer that stands in for uv: no registry is asked."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from longlook.core.errors import InputError, MachineError
from longlook.core.job import Program
from longlook.core.paths import adapters_dir
from longlook.provision import python
from longlook.provision.python import adapter_of, environment, is_made
from longlook.stacks.aioquic import STACK

UV = """#!/bin/sh
# pip install … --python VENV/bin/python … -r LOCK
while [ "$1" != --python ]; do shift; done
site=$(dirname "$(dirname "$2")")/lib/python{version}/site-packages
mkdir -p "$site/thing-1.0.dist-info"
echo 'ANSWER = 42' > "$site/thing.py"
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LONGLOOK_CACHE", str(tmp_path / "cache"))
    uv = tmp_path / "uv"
    uv.write_text(UV.replace("{version}", f"{sys.version_info.major}.{sys.version_info.minor}"))
    uv.chmod(0o755)
    monkeypatch.setattr(python, "find_uv", lambda: str(uv))
    return tmp_path / "cache"


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    folder = tmp_path / "sources"
    (folder / "locks").mkdir(parents=True)
    (folder / "locks" / "1.0.txt").write_text("thing==1.0\n")
    (folder / "adapter.py").write_text("import thing\nprint(thing.ANSWER)\n")
    return folder


def make(sources: Path) -> Program:
    return environment("thing", "1.0", sources)


def test_an_environment_of_its_own_runs_the_adapter(sources: Path) -> None:
    assert not is_made("thing", "1.0", sources)
    program = make(sources)
    assert is_made("thing", "1.0", sources)
    assert make(sources) == program
    command = [program.path, str(adapter_of(program) / "adapter.py")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "42\n"


def test_everything_is_compiled_and_names_its_final_place(sources: Path) -> None:
    folder = Path(make(sources).path).parents[1]
    modules = [path for path in folder.rglob("*.py") if "__pycache__" not in path.parts]
    compiled = list(folder.rglob("*.pyc"))
    assert len(compiled) == len(modules)
    assert {"adapter.py", "thing.py"} <= {path.name for path in modules}
    for file in compiled:
        assert str(folder).encode() in file.read_bytes()
        assert file.read_bytes()[4:8] == b"\1\0\0\0"  # by hash, and unchecked: no time stamp matters


def test_the_digest_covers_the_adapter_and_the_packages_but_not_the_place(
    sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = make(sources)
    monkeypatch.setenv("LONGLOOK_CACHE", str(tmp_path / "another"))
    again = make(sources)
    assert again.digest == first.digest
    assert again.path != first.path
    (sources / "adapter.py").write_text("print(43)\n")
    assert make(sources).digest != first.digest


def test_a_damaged_environment_is_made_again(sources: Path) -> None:
    program = make(sources)
    package = next(Path(program.path).parents[1].rglob("thing.py"))
    package.write_text("ANSWER = 41\n")
    assert not is_made("thing", "1.0", sources)
    assert make(sources) == program
    assert package.read_text() == "ANSWER = 42\n"


def test_what_python_compiled_of_the_sources_changes_nothing(sources: Path) -> None:
    make(sources)
    (sources / "__pycache__").mkdir()
    (sources / "__pycache__" / "adapter.cpython-311.pyc").write_bytes(b"x")
    assert is_made("thing", "1.0", sources)


def test_without_uv(sources: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setenv("LONGLOOK_CACHE", str(sources.parent / "cache"))
    monkeypatch.setenv("PATH", str(sources))
    monkeypatch.setattr(sys, "executable", str(sources / "python"))
    with pytest.raises(MachineError, match="uv is missing"):
        make(sources)


def test_every_version_of_aioquic_has_a_lock_of_its_own_with_digests_and_without_hosts() -> None:
    for version in STACK.version_names:
        lock = (adapters_dir() / "aioquic" / "locks" / f"{version}.txt").read_text()
        assert f"aioquic=={version} \\\n" in lock
        assert "://" not in lock
        pinned = [line for line in lock.splitlines() if "==" in line]
        assert all(line.endswith("\\") for line in pinned), "a package without digests"


def test_unknown_version_of_aioquic() -> None:
    with pytest.raises(InputError):
        STACK.install("0.1.0")


def test_the_record_names_what_it_was_made_with(sources: Path) -> None:
    record = json.loads((Path(make(sources).path).parents[2] / "program.json").read_text())
    assert (record["name"], record["version"]) == ("thing", "1.0")
    assert sys.version.split()[0] in record["toolchain"]
