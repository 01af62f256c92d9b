"""The box around a guest: what `longlook-box` is asked for, and what it reports (docs/explanation/virtual-time.md).

Programs under test may find a way out of their guest. The guest's kernel therefore runs as a user that has nothing, in
namespaces of its own, and sees of the host only what is named here, read-only.
"""

import json
import os
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from longlook.core import TRUST_HINT, MachineError, box_program, programs_are_trusted
from longlook.lab import LimitGroup, both_ends, outermost, raise_if_unreadable

SYSTEM = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    "/nix",
    "/snap",
    "/var/cache/fontconfig",
)
"""The host's folders of programs, libraries and settings; every box sees the folders that exist."""

TASKS = 4096
"""Processes of the host that a guest may have: one for each process of the guest, and its kernel."""

MEMORY_BEYOND_BYTES = 1 << 30
"""Memory of the host that a guest may take beyond the guest's own, most of it for files of the host that it reads."""

FIRST_USER, USERS = 65472, 48
"""The users of boxes: the last of systemd's dynamic users, which it gives to services for as long as they run."""

FENCES = ("user", "mounts", "landlock")
"""The layers of which one at least keeps a program that leaves its guest from the files of whoever runs Longlook."""


@dataclass(frozen=True)
class Layers:
    """The layers of a guest's box: each layer with its detail, and each missing layer with the reason."""

    there: Mapping[str, str] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        lacking = "; ".join(f"{name} ({reason})" for name, reason in self.missing.items())
        return f"{', '.join(self.there)}; missing: {lacking or 'nothing'}"


@dataclass(frozen=True)
class Box:
    """A box for one guest: `shown` are paths of the host that it sees, `own_user` says that no other box has its user.

    `memory_folder` is for machines on which a box cannot have a file system of its own.
    """

    exchange: Path
    user: int
    own_user: bool
    memory_bytes: int
    shown: Sequence[str]
    memory_folder: str | None
    group: LimitGroup | None

    def command(self, report: int) -> list[str]:
        """Return the launcher and its arguments, to be followed by the kernel and its arguments; it reports to an open
        descriptor.
        """
        place = () if self.memory_folder is None else ("--memory-folder", self.memory_folder)
        return [
            box_program().path,
            *("--user", str(self.user), "--exchange", str(self.exchange.resolve())),
            *("--memory-bytes", str(self.memory_bytes), *place, "--tasks", str(TASKS), "--report-fd", str(report)),
            *(argument for path in self.shown for argument in ("--view", path)),
            *(argument for folder in self._folders() for argument in ("--cgroup", str(folder))),
            *(("--trust",) if programs_are_trusted() else ()),
            "--",
        ]

    def _folders(self) -> list[Path]:
        return [] if self.group is None else sorted(set(self.group.folders.values()))


@contextmanager
def claimed_user() -> Iterator[tuple[int, bool]]:
    """Yield a user for a box, and whether no other box of this machine has that user, as long as the block lasts.

    Boxes of several runs share a user only if all are taken.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as claim:
        for number in range(USERS):
            try:
                claim.bind(f"\0longlook-box-{number}")  # a name that ends with its holder and leaves no file
            except OSError:
                continue
            yield FIRST_USER + number, True
            return
        yield FIRST_USER + os.getpid() % USERS, False


def shown_in_box(needed: Iterable[str]) -> list[str]:
    """Return the paths of the host that a box shows: the system's and the needed ones, with both ends of links.

    Raise MachineError for a needed path that only its owner may read: the box's user is another one.
    """
    wanted = [end for path in needed for end in both_ends(path) if os.path.lexists(end) and end != "/"]
    if os.geteuid() == 0:
        raise_if_unreadable(wanted, "guests")
    ends = [end for path in SYSTEM for end in both_ends(path) if os.path.lexists(end)]
    return outermost([*ends, *wanted])


def layers_of(report: str) -> Layers:
    """Return the layers that a launcher reported; raise MachineError if it made no box or started no kernel."""
    lines = [json.loads(line) for line in report.splitlines()]
    said: dict[str, Any] = {name: value for line in lines for name, value in line.items()}
    if "not_started" in said:
        raise MachineError(
            f"the guest's kernel cannot be started in its box: {said['not_started']}",
            "every user must be able to read and execute it: chmod go+rx, and its folders",
        )
    if "layers" not in said:
        _refuse(said.get("refused", {}))
    return Layers(said["layers"], said["missing"])


def _refuse(refusals: Mapping[str, str]) -> NoReturn:
    reasons = "; ".join(refusals.values()) or "longlook-box ended without a word"
    raise MachineError(
        f"a guest cannot be confined here, and programs under test are not trusted: {reasons}",
        f"run as root, allow user namespaces, or use a kernel with Landlock (5.13); else {TRUST_HINT}",
    )
