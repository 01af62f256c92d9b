import json
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from longlook.core.digests import file_digest
from longlook.core.errors import InputError, MachineError
from longlook.provision import guest_kernel
from longlook.provision.build_steps import BuildProgress, ObjectCount, run
from longlook.provision.guest_kernel.build import STEPS, lost_settings
from longlook.provision.guest_kernel.source import pinned_source
from longlook.provision.pins import identity
from longlook.provision.setup import DEFAULT_PARTS, install
from tests.support.processes import has_ended

builds: list[Path] = []


def fake_build(recipe: Path, work: Path, into: Path, *_: Any) -> dict[str, Any]:
    builds.append(into)
    work.mkdir(exist_ok=True)
    into.write_text("#!/bin/sh\n")
    source = identity(pinned_source(recipe))
    other = {**source, "version": "7.2.14-1", "sha256": "1" * 64, "instead_of": source}
    return {
        "source": other if (work.parent / "pinned-is-gone").exists() else source,
        "patch": file_digest(recipe / "time-travel.patch"),
        "config": file_digest(recipe / "config"),
        "steps": STEPS,
        "sha256": file_digest(into),
        "release": "7.2.13-tt",
    }


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    builds.clear()
    monkeypatch.setenv("LONGLOOK_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("LONGLOOK_KERNEL", raising=False)
    monkeypatch.setattr(guest_kernel, "build_kernel", fake_build)
    return tmp_path / "cache"


@pytest.fixture
def recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "recipe"
    folder.mkdir()
    (folder / "config").write_text("CONFIG_NET=y\n")
    (folder / "time-travel.patch").write_text("--- a\n+++ b\n")
    (folder / "source.lock").write_text(f"linux-source-7.2 7.2.13-1 all 20 {'0' * 64} pool/main/l/linux/linux.deb\n")
    monkeypatch.setenv("LONGLOOK_KERNEL_RECIPE", str(folder))
    return folder


def quiet(_text: str) -> None:
    """Nobody listens."""


def test_built_once_and_the_work_folder_is_gone(cache: Path) -> None:
    assert not guest_kernel.installed()
    program = guest_kernel.kernel_program(quiet)
    assert guest_kernel.installed()
    assert guest_kernel.kernel_program(quiet) == program
    assert len(builds) == 1
    assert program.digest == file_digest(Path(program.path))
    assert not (cache / "kernel" / "work").exists()
    assert guest_kernel.readiness().detail.startswith("Linux 7.2.13-tt, sha256 ")


@pytest.mark.parametrize("file", ["linux", "kernel.json"])
@pytest.mark.parametrize("rot", ["rotten", "[]", "{}", None])
def test_corrupt_entry_is_rebuilt(file: str, rot: str | None) -> None:
    program = guest_kernel.kernel_program(quiet)
    broken = Path(program.path).parent / file
    broken.unlink() if rot is None else broken.write_text(rot)
    assert not guest_kernel.installed()
    assert guest_kernel.kernel_program(quiet) == program
    assert len(builds) == 2
    assert file_digest(Path(program.path)) == program.digest


@pytest.mark.parametrize("file", ["config", "time-travel.patch", "source.lock"])
def test_another_recipe_is_another_entry(recipe: Path, file: str) -> None:
    first = guest_kernel.kernel_program(quiet)
    text = (recipe / file).read_text()
    (recipe / file).write_text(text.replace("0" * 64, "2" * 64) if file == "source.lock" else "CONFIG_NET=n\n")
    assert guest_kernel.kernel_program(quiet).path != first.path
    assert Path(first.path).exists()


def test_entry_is_found_by_its_record_whatever_its_name(cache: Path) -> None:
    program = guest_kernel.kernel_program(quiet)
    Path(program.path).parent.rename(cache / "kernel" / "named-otherwise")
    assert guest_kernel.kernel_program(quiet).digest == program.digest
    assert len(builds) == 1


def test_kernel_of_another_source_stands_in_and_is_marked(cache: Path, snapshot: SnapshotAssertion) -> None:
    (cache / "kernel").mkdir(parents=True)
    (cache / "kernel" / "pinned-is-gone").touch()
    program = guest_kernel.kernel_program(quiet)
    assert guest_kernel.kernel_program(quiet) == program
    assert len(builds) == 1
    said = guest_kernel.deviation() or ""
    assert said == snapshot
    assert said in guest_kernel.readiness().detail


def test_kernel_of_the_pinned_source_is_not_marked() -> None:
    assert guest_kernel.deviation() is None
    guest_kernel.kernel_program(quiet)
    assert guest_kernel.deviation() is None


def test_missing_recipe_gives_a_hint(recipe: Path) -> None:
    (recipe / "config").unlink()
    assert not guest_kernel.installed()
    with pytest.raises(MachineError) as caught:
        guest_kernel.kernel_program(quiet)
    assert "LONGLOOK_KERNEL_RECIPE" in (caught.value.hint or "")


def test_failed_build_keeps_its_work_and_makes_no_entry(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_recipe: Path, work: Path, *_: Any) -> dict[str, Any]:
        work.mkdir()
        (work / "half").touch()
        raise MachineError("broken")

    monkeypatch.setattr(guest_kernel, "build_kernel", fail)
    with pytest.raises(MachineError, match="broken"):
        guest_kernel.kernel_program(quiet)
    assert [path.name for path in (cache / "kernel").iterdir() if path.is_dir()] == ["work"]
    assert (cache / "kernel" / "work" / "half").exists()


def test_two_at_once_build_once() -> None:
    with ThreadPoolExecutor(4) as pool:
        made = {each.result() for each in [pool.submit(guest_kernel.kernel_program, quiet) for _ in range(4)]}
    assert len(made) == 1
    assert len(builds) == 1


def test_named_kernel_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = tmp_path / "mine"
    mine.write_text("#!/bin/sh\n")
    mine.chmod(0o755)
    monkeypatch.setenv("LONGLOOK_KERNEL", str(mine))
    assert guest_kernel.kernel_program(quiet).path == str(mine)
    assert guest_kernel.installed()
    assert guest_kernel.readiness().ready
    assert builds == []
    assert guest_kernel.made_of() is None
    assert "nobody vouches" in (guest_kernel.deviation() or "")


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda _path: None, "names no file"),
        (lambda path: path.mkdir(), "names no file"),
        (lambda path: path.touch(0o644), "cannot be executed"),
    ],
)
def test_bad_named_kernel_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Any, says: str) -> None:
    make(tmp_path / "mine")
    monkeypatch.setenv("LONGLOOK_KERNEL", str(tmp_path / "mine"))
    with pytest.raises(InputError, match=says):
        guest_kernel.kernel_program(quiet)
    assert not guest_kernel.installed()
    assert not guest_kernel.readiness().ready
    assert builds == []


def test_kernel_is_a_part_of_the_setup() -> None:
    assert DEFAULT_PARTS[0] == "kernel"
    assert install("kernel", quiet) == guest_kernel.kernel_program(quiet)


def test_readiness_gives_the_reason_why_not(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found = guest_kernel.readiness()
    assert not found.ready
    assert "cannot be" in found.detail
    assert "build-essential" in (found.hint or "")


def test_settings_that_a_newer_linux_lost() -> None:
    wanted = "# remark\nCONFIG_HOSTFS=y\nCONFIG_IFB=y\n# CONFIG_WLAN is not set\n"
    assert lost_settings(wanted, "CONFIG_HOSTFS=y\nCONFIG_IFB=y\n") == []
    assert lost_settings(wanted, "CONFIG_HOSTFS=y\n") == ["CONFIG_IFB=y"]
    with pytest.raises(MachineError, match="CONFIG_HOSTFS=y"):
        lost_settings(wanted, "CONFIG_IFB=y\n")


def test_progress_is_few_lines() -> None:
    reported: list[str] = []
    count = ObjectCount(BuildProgress(reported.append, "compiling"), expected=200, already=20)
    for _ in range(300):
        count.see("  CC      kernel/fork.o\n")
        count.see("  AR      kernel/built-in.a\n")
    assert reported == [f"compiling: {percent} %" for percent in range(10, 100, 5)]


def test_failing_step_shows_the_end_of_its_log(tmp_path: Path) -> None:
    with pytest.raises(MachineError) as caught:
        run(["sh", "-c", "seq 100; exit 3"], tmp_path / "log", hint="try again")
    assert caught.value.message.endswith("99\n100")
    assert "\n80\n" not in caught.value.message
    assert caught.value.hint == f"try again (log: {tmp_path / 'log'})"
    assert "\n1\n2\n" in (tmp_path / "log").read_text()


def test_full_disk_is_named(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    with pytest.raises(MachineError) as caught:
        run(["sh", "-c", "echo 'a.o: No space left on device'; exit 1"], tmp_path / "log", hint="")
    assert caught.value.message == snapshot
    assert "LONGLOOK_CACHE" in (caught.value.hint or "")


STOPPED = """
import signal, sys
from pathlib import Path
from longlook.provision.build_steps import run

def stop(*_):
    raise KeyboardInterrupt

signal.signal(signal.SIGTERM, stop)
command = ["sh", "-c", "sleep 600 & echo $!; echo $$; wait; sleep 600"]
run(command, Path(sys.argv[1]), hint="", each=lambda line: print(line, end="", flush=True))
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_nothing_is_left_when_a_build_is_stopped(tmp_path: Path, number: int) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STOPPED, str(tmp_path / "log")],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        children = [int(process.stdout.readline()) for _ in range(2)]
        process.send_signal(number)
        watchdog = threading.Timer(30, process.kill)
        watchdog.start()
        process.wait()
        watchdog.cancel()
    assert process.returncode != 0
    assert [pid for pid in children if not has_ended(pid)] == []


def test_record_is_beside_the_kernel() -> None:
    program = guest_kernel.kernel_program(quiet)
    record = json.loads((Path(program.path).parent / "kernel.json").read_text())
    assert record["sha256"] == program.digest
