"""Builds that never end, fill the disk, leave processes behind, or write and connect where they must not."""

import os
import socket
import time
from pathlib import Path

import pytest

from longlook.core import InputError, MachineError
from longlook.provision import confined
from longlook.provision.confined import MINUTES, BuildLimits
from longlook.provision.progress import listening

SMALL = BuildLimits(60, folder_bytes=4 << 20, free_bytes=0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "build"
    made.mkdir()
    return made


@pytest.fixture(params=[True, False], ids=["namespaces", "limits alone"])
def _either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if not request.param:
        monkeypatch.setattr(confined, "confinement", lambda: "this is a test")


@pytest.fixture
def _confinement() -> None:
    found = confined.confinement()
    if isinstance(found, str):
        pytest.skip(found)


def shell(script: str, folder: Path, limits: BuildLimits = SMALL, **more: object) -> None:
    confined.run(("sh", "-c", script), folder, dict(os.environ), limits=limits, **more)  # type: ignore[arg-type]


@pytest.fixture
def marker() -> str:
    """A time for `sleep` by which its process is known."""
    return f"{os.getpid()}{time.time_ns() % 1000}"


def _is_running(marker: str) -> bool:
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = file.read_bytes().split(b"\0")
        except OSError:
            continue
        if words[:2] == [b"sleep", marker.encode()]:
            return True
    return False


@pytest.mark.usefixtures("_either_way")
def test_a_build_writes_into_its_folder_and_its_errors_are_told(folder: Path) -> None:
    shell("echo made > program && echo scratch > $TMPDIR/file", folder)
    assert (folder / "program").read_text() == "made\n"
    with pytest.raises(MachineError, match=r"failed with exit code 7:\nfirst\nlast$"):
        shell("echo first; echo last >&2; exit 7", folder)


@pytest.mark.usefixtures("_either_way")
def test_a_build_that_never_ends_is_stopped_with_what_it_started(folder: Path, marker: str) -> None:
    began = time.monotonic()
    with pytest.raises(MachineError, match=rf"it took more than 0\.05 minutes \({MINUTES} allows more\)"):
        shell(f"sleep {marker} & sleep {marker}", folder, BuildLimits(3, free_bytes=0))
    assert time.monotonic() - began < 40
    assert not _is_running(marker)


@pytest.mark.usefixtures("_either_way")
def test_nothing_outlives_a_build(folder: Path, marker: str) -> None:
    shell(f"sleep {marker} & echo done", folder)
    assert not _is_running(marker)


@pytest.mark.usefixtures("_confinement")
def test_not_even_a_session_of_its_own_outlives_a_build(folder: Path, marker: str) -> None:
    shell(f"setsid sleep {marker} > /dev/null 2>&1 & sleep 0.2", folder)
    assert not _is_running(marker)


@pytest.mark.usefixtures("_either_way")
def test_a_build_that_fills_the_disk_is_stopped(folder: Path) -> None:
    with pytest.raises(MachineError, match=r"its folder and its log have more than 0\.00391 GiB"):
        shell("n=0; while :; do head -c 1000000 /dev/zero > f$n; n=$((n+1)); [ $n -gt 20 ] && sleep 60; done", folder)


@pytest.mark.usefixtures("_either_way")
@pytest.mark.parametrize("script", ["exec head -c 9000000 /dev/zero > one", "exec yes"], ids=["a file", "its log"])
def test_a_file_that_grows_without_end_is_cut_off(script: str, folder: Path) -> None:
    with pytest.raises(MachineError, match=r"failed|was stopped"):
        shell(script, folder)
    assert sum(path.stat().st_size for path in folder.glob("one")) <= SMALL.folder_bytes


@pytest.mark.usefixtures("_either_way")
def test_a_disk_that_is_nearly_full_stops_a_build(folder: Path) -> None:
    with pytest.raises(MachineError, match="MiB are free on the disk of"):
        shell("sleep 60", folder, BuildLimits(60, free_bytes=1 << 60))


@pytest.mark.usefixtures("_either_way")
def test_a_process_gets_no_more_memory_than_it_may_have(folder: Path) -> None:
    few = BuildLimits(60, memory_bytes=64 << 20, free_bytes=0)
    with pytest.raises(MachineError, match="MemoryError"):
        confined.run(("python3", "-c", "bytearray(1 << 30)"), folder, dict(os.environ), limits=few)


@pytest.mark.usefixtures("_confinement")
def test_a_build_writes_to_its_folder_and_named_caches_alone(folder: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    shell(f"echo kept > {cache}/file", folder, caches=(cache, tmp_path / "missing"))
    assert (cache / "file").read_text() == "kept\n"
    for target in (cache / "other", tmp_path / "outside", Path.home() / ".longlook-outside"):
        with pytest.raises(MachineError, match="Read-only file system"):
            shell(f"export LC_ALL=C; echo bad > {target}", folder)
        assert not target.exists()
    with pytest.raises(MachineError, match=r"exit code"):
        shell("mount -o remount,bind,rw /", folder)
    with pytest.raises(MachineError, match=r"exit code"):
        shell(f"kill -9 {os.getpid()}", folder)


@pytest.mark.usefixtures("_confinement")
def test_a_build_has_no_network_unless_it_fetches(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        connect = ("python3", "-c", f"import socket; socket.create_connection(('127.0.0.1', {port}), 5)")
        confined.run(connect, folder, dict(os.environ), network=True, limits=SMALL)
        with pytest.raises(MachineError, match="OSError"):
            confined.run(connect, folder, dict(os.environ), limits=SMALL)


@pytest.mark.usefixtures("_confinement")
def test_a_build_reaches_no_daemon_by_a_socket_in_the_file_system(folder: Path) -> None:
    place = folder / "daemon"
    with socket.socket(socket.AF_UNIX) as daemon:
        daemon.bind(str(place))
        daemon.listen()
        connect = ("python3", "-c", f"import socket; socket.socket(socket.AF_UNIX).connect({str(place)!r})")
        confined.run(connect, folder, dict(os.environ), network=True, limits=SMALL)
        with pytest.raises(MachineError, match="PermissionError"):
            confined.run(connect, folder, dict(os.environ), limits=SMALL)


@pytest.mark.usefixtures("_confinement")
def test_pipes_and_pairs_of_sockets_serve_a_build(folder: Path) -> None:
    pair = "import socket, os; a, b = socket.socketpair(); a.send(b'1'); assert b.recv(1) == b'1'; os.pipe()"
    confined.run(("python3", "-c", pair), folder, dict(os.environ), limits=SMALL)
    shell("echo 1 > /dev/shm/own && cat /dev/shm/own > /dev/null && head -c 4 /dev/urandom > random", folder)
    assert (folder / "random").stat().st_size == 4


@pytest.mark.usefixtures("_confinement")
def test_a_build_has_no_device_of_the_machine(folder: Path) -> None:
    shell("ls /dev > devices", folder)
    found = set((folder / "devices").read_text().split())
    assert found == {"fd", "full", "null", "random", "shm", "stderr", "stdin", "stdout", "urandom", "zero"}
    with pytest.raises(MachineError, match="exit code"):
        shell("mknod null c 1 3 && echo > null", folder)


@pytest.mark.usefixtures("_confinement")
def test_a_build_has_no_capability_and_gets_none(folder: Path) -> None:
    shell("grep -E '^Cap(Inh|Prm|Eff|Bnd|Amb)' /proc/self/status > status", folder)
    assert {int(line.split()[1], 16) for line in (folder / "status").read_text().splitlines()} == {0}


@pytest.mark.usefixtures("_confinement")
def test_credentials_are_hidden_from_a_build_but_not_from_what_fetches(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "id").write_text("secret")
    (tmp_path / ".netrc").write_text("secret")
    shell("ls -A ~/.ssh > seen; cat ~/.netrc >> seen", folder)
    assert (folder / "seen").read_text() == ""
    shell("ls -A ~/.ssh > seen; cat ~/.netrc >> seen", folder, network=True)
    assert (folder / "seen").read_text() == "id\nsecret"


@pytest.mark.usefixtures("_either_way")
def test_a_build_that_starts_processes_without_end_is_stopped(folder: Path, marker: str) -> None:
    few = BuildLimits(60, processes=20, free_bytes=0)
    with pytest.raises(MachineError, match="it has more than 20 processes"):
        shell(f"for n in $(seq 40); do sleep {marker} & done; wait", folder, few)
    assert not _is_running(marker)


@pytest.mark.usefixtures("_either_way")
def test_the_memory_of_all_processes_together_is_limited(folder: Path) -> None:
    few = BuildLimits(60, memory_bytes=96 << 20, free_bytes=0)
    hold = "python3 -c 'import time; kept = bytearray(40 << 20); time.sleep(60)'"
    with pytest.raises(MachineError, match=r"its processes have more than 0\.0938 GiB of memory"):
        shell(f"{hold} & {hold} & {hold} & wait", folder, few)


@pytest.mark.parametrize("target", ["/etc/passwd", "../elsewhere"])
def test_a_link_that_a_build_leaves_is_not_followed_out_of_its_folder(target: str, folder: Path) -> None:
    (folder / "program").symlink_to(target)
    with pytest.raises(MachineError, match="leads out of its folder"):
        confined.inside(folder / "program", folder)
    (folder / "made").write_text("made")
    (folder / "link").symlink_to("made")
    assert confined.inside(folder / "link", folder) == (folder / "made").resolve()


def test_a_machine_without_namespaces_says_that_nothing_confines(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confined, "confinement", lambda: "no namespaces can be made")
    said: list[str] = []
    with listening(said.append):
        shell("true", folder)
    assert "this build can reach your files and the network, since no namespaces can be made" in said[-1]


@pytest.mark.parametrize("text", ["0", "-1", "half an hour", "inf", "nan"])
def test_a_time_that_is_none_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MINUTES, text)
    with pytest.raises(InputError, match=MINUTES):
        confined.usual_limits()


def test_the_time_of_a_step_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(MINUTES, raising=False)
    assert confined.usual_limits().time_s == 1800
    monkeypatch.setenv(MINUTES, "1.5")
    assert confined.usual_limits().time_s == 90
