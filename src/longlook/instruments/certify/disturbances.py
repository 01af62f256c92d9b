"""Disturbances of the host while exact trials are repeated. Each ends with its block, and reaches nothing of others.

A disturbance starts processes of its own, or changes how the repeats are started: environment, folder, CPUs, a mount
namespace. None fills a disk or a memory that others use: memory is taken only if twice as much is free, and the full
/dev/shm is one that the repeats alone see.
"""

import math
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from longlook.core import paths, usable_cpus

_GIB = 1 << 30
_MOST_MEMORY_BYTES = 4 * _GIB
_LEAST_MEMORY_BYTES = _GIB // 4
_ENDS_WITHIN_S = 30.0
_EVERY_S = 1.0
_BELOW_DISK = 64  # folders


@dataclass(frozen=True)
class RepeatLaunch:
    """How repeats are started: words before the command, changes of the environment, and the run folder."""

    folder: Path
    prefix: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Disturbance:
    """A disturbance by name. `missing` says why it cannot be made on this machine, None if it can.

    `disturb` takes the run folder and an empty folder of its own.
    """

    name: str
    summary: str
    missing: Callable[[], str | None]
    disturb: Callable[[Path, Path], AbstractContextManager[RepeatLaunch]]


@contextmanager
def _undisturbed(run: Path, _place: Path) -> Iterator[RepeatLaunch]:
    yield RepeatLaunch(run)


@contextmanager
def _compilers(run: Path, place: Path) -> Iterator[RepeatLaunch]:
    source = place / "work.c"
    functions = (f"int f{n}(int x) {{ return x * {n} + f{n - 1}(x); }}" for n in range(1, 2000))
    source.write_text("\n".join(["int f0(int x) { return x; }", *functions, ""]))
    loop = 'while :; do cc -O2 -c -o "$1" "$2"; done'
    commands = [("sh", "-c", loop, "sh", f"{place}/{n}.o", str(source)) for n in range(2 * len(usable_cpus()))]
    with _running(commands):
        yield RepeatLaunch(run)


@contextmanager
def _busy_loops(run: Path, _place: Path) -> Iterator[RepeatLaunch]:
    with _running([("sh", "-c", "while :; do :; done")] * (2 * len(usable_cpus()))):
        yield RepeatLaunch(run)


_TOUCH = """
import sys
held = bytearray(int(sys.argv[1]))
while True:
    for at in range(0, len(held), 4096):
        held[at] = (held[at] + 1) % 256
"""


@contextmanager
def _memory(run: Path, _place: Path) -> Iterator[RepeatLaunch]:
    with _running([(sys.executable, "-c", _TOUCH, str(_memory_to_take()))]):
        yield RepeatLaunch(run)


@contextmanager
def _cold_files(run: Path, _place: Path) -> Iterator[RepeatLaunch]:
    stop = threading.Event()
    thread = threading.Thread(target=_evict, args=(stop,))
    thread.start()
    try:
        yield RepeatLaunch(run)
    finally:
        stop.set()
        thread.join()


@contextmanager
def _other_runs(run: Path, place: Path) -> Iterator[RepeatLaunch]:
    command = (sys.executable, "-m", "longlook", "run", "exactness", "--rounds", "1000", "--no-cache")
    with _running([(*command, "--out", str(place / "other"))]):
        yield RepeatLaunch(run)


@contextmanager
def _other_environment(run: Path, place: Path) -> Iterator[RepeatLaunch]:
    own = os.pathsep.join(f"{place}/{'bin' * (n % 7 + 1)}{n}" for n in range(_BELOW_DISK))
    more = {f"DISTURBANCE_{n}": "x" * n for n in range(_BELOW_DISK)}
    path = f"{own}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    yield RepeatLaunch(run, environment={"PATH": path, "LANG": "C.UTF-8", "TZ": "Pacific/Auckland", **more})


@contextmanager
def _other_folder(run: Path, place: Path) -> Iterator[RepeatLaunch]:
    other = place / "a run folder of another name" / ("deep" * 20)
    shutil.copytree(run, other)
    yield RepeatLaunch(other)


@contextmanager
def _one_cpu(run: Path, _place: Path) -> Iterator[RepeatLaunch]:
    yield RepeatLaunch(run, prefix=("taskset", "--cpu-list", str(max(usable_cpus()))))


@contextmanager
def _full_shm(run: Path, _place: Path) -> Iterator[RepeatLaunch]:
    yield RepeatLaunch(run, prefix=_in_full_shm())


@contextmanager
def _running(commands: Sequence[Sequence[str]]) -> Iterator[None]:
    """Run commands beside the block; at its end each gets SIGTERM with all that it started, and SIGKILL later."""
    with ExitStack() as ends:
        for command in commands:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # a process group of its own, which is ended as a whole
            )
            ends.callback(_end, process)
        yield


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a command and every process of its group, and wait until all are gone."""
    deadline = time.monotonic() + _ENDS_WITHIN_S
    number = signal.SIGTERM
    while True:
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            return
        process.poll()  # reaps the leader
        if time.monotonic() > deadline:
            number, deadline = signal.SIGKILL, math.inf
        time.sleep(0.02)


def _evict(stop: threading.Event) -> None:
    roots = [paths.cache_dir() / name for name in ("kernel", "bundles", "stacks")]
    files = [path for root in (*roots, Path(__file__).parents[2]) for path in root.rglob("*") if path.is_file()]
    while not stop.wait(_EVERY_S):
        for path in files:
            with suppress(OSError), path.open("rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _memory_to_take() -> int:
    lines = (line.split() for line in Path("/proc/meminfo").read_text().splitlines())
    available_bytes = next(int(words[1]) * 1024 for words in lines if words[0] == "MemAvailable:")
    return min(available_bytes // 2, _MOST_MEMORY_BYTES)


def _no_memory() -> str | None:
    return None if _memory_to_take() >= _LEAST_MEMORY_BYTES else "less than 512 MiB of memory are free"


def _no_program(name: str) -> str | None:
    return None if shutil.which(name) else f"no program {name}"


def _in_full_shm() -> tuple[str, ...]:
    user = () if os.geteuid() == 0 else ("--user", "--map-root-user")
    script = 'mount -t tmpfs -o size=16m tmpfs /dev/shm && exec "$@"'
    return ("unshare", *user, "--mount", "--propagation", "private", "sh", "-c", script, "sh")


def _no_namespace() -> str | None:
    try:
        made = subprocess.run([*_in_full_shm(), "true"], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return "no program unshare"
    return None if made.returncode == 0 else f"no mount namespace: {made.stderr.strip()}"


DISTURBANCES = (
    Disturbance("none", "the host as it is", lambda: None, _undisturbed),
    Disturbance("compilers", "two compilers for each CPU", lambda: _no_program("cc"), _compilers),
    Disturbance("busy loops", "two busy loops for each CPU", lambda: None, _busy_loops),
    Disturbance("memory", "half of the free memory, up to 4 GiB, taken and touched", _no_memory, _memory),
    Disturbance("cold files", "programs dropped from the page cache each second", lambda: None, _cold_files),
    Disturbance("other runs", "another run of Longlook at the same time", lambda: None, _other_runs),
    Disturbance("other environment", "another PATH, time zone and 64 more variables", lambda: None, _other_environment),
    Disturbance("other folder", "the run folder under another, longer name", lambda: None, _other_folder),
    Disturbance("one CPU", "all guests on one CPU", lambda: _no_program("taskset"), _one_cpu),
    Disturbance("full /dev/shm", "16 MiB in a /dev/shm of its own", _no_namespace, _full_shm),
)
