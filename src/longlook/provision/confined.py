"""Runs builds of sources that nobody vouches for, confined and with limits.

A build has a time, a size of its folder, of its memory and of the number of its processes. It sees the machine's files
except for credentials, writes to its folder and named caches alone, and has no privilege, no device, no other process
in sight and no network. A step that fetches has the network: it may run nothing of the sources, only a package manager.
A machine on which no namespaces can be made keeps the limits, and the step says that there is nothing else.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO

from longlook.core import InputError, MachineError, tree_of
from longlook.provision import confined_child
from longlook.provision.build_steps import LINES_SHOWN, REGISTRY_HINT, end_group
from longlook.provision.progress import report_step

MINUTES = "LONGLOOK_BUILD_MINUTES"
"""The variable with the time that each step of a build may take, in minutes."""

_DEFAULT_MINUTES = 30.0
_LOOKS_EVERY_S = 0.5
_FREE_BYTES = 256 << 20
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_TAIL_BYTES = 1 << 16
_HINT = "correct the sources, or install what the last lines miss"
_NAMESPACES = ("--mount", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc")
_AS_ROOT, _AS_USER = (), ("--user", "--map-current-user", "--keep-caps")
_CREDENTIALS = (
    *("/etc/shadow", "/etc/gshadow", "/etc/ssh", "/etc/ssl/private", "/run/secrets", "/run/credentials", "/run/user"),
    *("~/.ssh", "~/.gnupg", "~/.aws", "~/.azure", "~/.kube", "~/.docker", "~/.netrc", "~/.git-credentials", "~/.npmrc"),
    *("~/.pypirc", "~/.password-store", "~/.local/share/keyrings", "~/.cargo/credentials", "~/.cargo/credentials.toml"),
    *("~/.config/gh", "~/.config/glab-cli", "~/.config/gcloud", "~/.config/git/credentials", "~/.config/pip"),
)
"""Files and folders that a build does not see."""


@dataclass(frozen=True)
class BuildLimits:
    """Limits of one step of a build: seconds, bytes of its folder with its log, bytes of memory, number of processes.

    The bound of memory holds for each process, and for the sum of all of them. `free_bytes` is the room on the disk at
    which the build is stopped.
    """

    time_s: float
    folder_bytes: int = 8 << 30
    memory_bytes: int = 8 << 30
    processes: int = 1000
    free_bytes: int = _FREE_BYTES


def usual_limits() -> BuildLimits:
    """Return the limits of builds; InputError if LONGLOOK_BUILD_MINUTES is no number above 0."""
    text = os.environ.get(MINUTES, "")
    try:
        minutes = float(text) if text else _DEFAULT_MINUTES
    except ValueError:
        minutes = 0.0
    if not 0 < minutes < float("inf"):
        raise InputError(f"{MINUTES}={text}: no number of minutes above 0", f"write for example {MINUTES}=60")
    return BuildLimits(minutes * 60)


def run(
    command: Sequence[str],
    folder: Path,
    env: Mapping[str, str],
    *,
    caches: Sequence[Path] = (),
    network: bool = False,
    limits: BuildLimits | None = None,
    log: Path | None = None,
    cwd: Path | None = None,
) -> None:
    """Run one step of a build that may write to `folder`, where its temporary files are, too, and to `caches`.

    It starts in `cwd`, by default in `folder`. Its output is appended to `log`, if that is given. Raise MachineError
    with the end of the output if the step fails, and with what it exceeded if it is stopped. Whatever it has started
    ends with it.
    """
    report_step(" ".join([Path(command[0]).name, *command[1:3]]))
    bounds = limits or usual_limits()
    temporary = tempfile.mkdtemp(prefix=".tmp-", dir=folder)
    existing = [path for path in (folder, *caches) if path.is_dir()]
    prefix = _prefix(existing, bounds, network=network)
    with tempfile.TemporaryFile() if log is None else log.open("a+b") as output:
        child = subprocess.Popen(
            (*prefix, *command),
            cwd=cwd or folder, env={**env, "TMPDIR": temporary}, stdin=subprocess.DEVNULL,
            stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        try:
            exceeded = _watch(child, folder, output, bounds)
        finally:
            end_group(child)
            shutil.rmtree(temporary, ignore_errors=True)
        shown = " ".join(command)
        if exceeded:
            raise MachineError(f"{shown} was stopped: {exceeded}", "does it end on its own there?")
        if child.returncode != 0:
            tail = "\n".join(_tail(output).splitlines()[-LINES_SHOWN:])
            where = "" if log is None else f" (log: {log})"
            raise MachineError(
                f"{shown} failed with exit code {child.returncode}:\n{tail}",
                f"{REGISTRY_HINT if network else _HINT}{where}",
            )


def inside(path: Path, folder: Path) -> Path:
    """Return where a path leads that a build has left; MachineError if that is not below its folder."""
    found = path.resolve()
    if not found.is_relative_to(folder.resolve()):
        raise MachineError(
            f"the build left a link at {path} that leads out of its folder, to {found}", "remove it there"
        )
    return found


def _prefix(writable: Sequence[Path], bounds: BuildLimits, *, network: bool) -> tuple[str, ...]:
    """Return the command that confines the one behind it; say so if it only limits it."""
    found = confinement()
    if isinstance(found, str):
        report_step(f"not confined: this build can reach your files and the network, since {found}")
        return _child(bounds)
    hidden = [] if network else [str(Path(path).expanduser()) for path in _CREDENTIALS]
    confined = {"writable": [*map(str, writable)], "hidden": hidden, "offline": not network}
    return (*found, *(() if network else ("--net",)), "--", *_child(bounds, **confined))


def _child(bounds: BuildLimits, **confined: object) -> tuple[str, ...]:
    asked = json.dumps({"file_bytes": bounds.folder_bytes, "memory_bytes": bounds.memory_bytes, **confined})
    return (sys.executable, "-I", "-S", confined_child.__file__, asked)


@cache
def confinement() -> tuple[str, ...] | str:
    """Return the command that makes namespaces for a build on this machine, or the reason why there is none."""
    trial = _child(BuildLimits(1), writable=[tempfile.gettempdir()], hidden=[], offline=True)
    reason = "it failed"
    for own in (_AS_ROOT, _AS_USER) if os.geteuid() == 0 else (_AS_USER,):
        command = ("unshare", *own, *_NAMESPACES)
        try:
            done = subprocess.run(
                (*command, "--net", "--", *trial, "true"), capture_output=True, text=True, check=False
            )
        except FileNotFoundError:
            return "there is no program unshare (Debian's util-linux)"
        if done.returncode == 0:
            return command
        reason = next((line for line in reversed(done.stderr.splitlines()) if line.strip()), reason)
    return f"no namespaces can be made: {reason.strip()}"


def _watch(child: subprocess.Popen[bytes], folder: Path, log: IO[bytes], bounds: BuildLimits) -> str:
    """Wait for the end of a build; return what it exceeded, "" if it ended by itself."""
    began = time.monotonic()
    while True:
        with suppress(subprocess.TimeoutExpired):
            child.wait(_LOOKS_EVERY_S)
            return ""
        if time.monotonic() - began > bounds.time_s:
            return f"it took more than {bounds.time_s / 60:g} minutes ({MINUTES} allows more)"
        if sum(_sizes(folder), os.fstat(log.fileno()).st_size) > bounds.folder_bytes:
            return f"its folder and its log have more than {bounds.folder_bytes / 2**30:.3g} GiB"
        own = _memory_of(child.pid)
        if len(own) > bounds.processes:
            return f"it has more than {bounds.processes} processes"
        if sum(own) > bounds.memory_bytes:
            return f"its processes have more than {bounds.memory_bytes / 2**30:.3g} GiB of memory"
        state = os.statvfs(folder)
        if state.f_bavail * state.f_frsize < bounds.free_bytes:
            return f"less than {bounds.free_bytes >> 20} MiB are free on the disk of {folder}"


def _sizes(folder: Path) -> Iterator[int]:
    """Yield the bytes on the disk of the files below a folder, which may change meanwhile."""
    for root, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                yield Path(root, name).lstat().st_blocks * 512


def _memory_of(first: int) -> list[int]:
    """Return the bytes of memory of its own that each process below one has."""
    memory = []
    for pid in tree_of(first).keys() - {first}:
        with suppress(OSError, ValueError):
            resident, shared = map(int, Path(f"/proc/{pid}/statm").read_text().split()[1:3])
            memory.append((resident - shared) * _PAGE_BYTES)
    return memory


def _tail(log: IO[bytes]) -> str:
    log.seek(max(0, os.fstat(log.fileno()).st_size - _TAIL_BYTES))
    return log.read().decode(errors="replace")
