"""The files that a program with a root of its own sees in real time: this root, and nothing of the host.

The first process of its compartment stays in a mount namespace with the host's files. The program's own is a copy of
it, in which the root takes the place of the host's files, which are then nowhere in it. All of it is read-only except
the root's layer, the program's results and traces, and its shared memory, which lie in one bounded file system.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from longlook.core import MachineError, OwnRoot
from longlook.lab.linux import own_root, system
from longlook.lab.linux.program_view import SHARED, Room, RoomSize

_PLACE = "its root"
_OF_USERS = ",userxattr"  # without it only root of the whole machine can mark in a layer what a program removed


@dataclass(frozen=True)
class RootView:
    """`stage` is an existing folder of the host's that programs cannot enter; `size` is of all that one may write."""

    root: OwnRoot
    stage: Path
    size: RoomSize

    def enter(
        self, writable: Sequence[Path], user: int | None, before_read_only: Callable[[], None]
    ) -> tuple[Room, ...]:
        """Move this thread into a mount namespace with the root alone, and return its room.

        Files and folders that the root shows can be written if they are `writable`. Raise OSError or MachineError if
        the kernel refuses it. The rest is as for `ProgramView`.
        """
        options = "" if system.in_initial_user_namespace() else _OF_USERS  # /proc says it no longer in a compartment
        system.unshare(system.CLONE_NEWNS)
        before_read_only()
        system.unshare(system.CLONE_NEWNS)
        system.mount("room", str(self.stage), "tmpfs", system.MS_NOSUID | system.MS_NODEV, self.size.options("0755"))
        room = Room(_PLACE, os.open(self.stage, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC), self.size)
        try:
            self._change_root({str(path) for path in writable}, options)
        except BaseException:
            room.close()
            raise
        return (room,)

    def _change_root(self, writable: set[str], options: str) -> None:
        shares = os.path.isdir(SHARED)  # noqa: PTH112
        if shares:
            memory = self.stage / "memory"
            memory.mkdir()
            memory.chmod(0o1777)
            system.mount(str(memory), SHARED, None, system.MS_BIND)
        try:
            new = own_root.make(self.root, self.stage, options)
        except OSError as error:
            raise MachineError(
                f"this machine's kernel gives a program no root of its own: {error}",
                "use --engine virtual, or run as root, outside of a container (docs/guide/images.md)",
            ) from error
        system.set_read_only(str(new), recursive=True)
        shown = [place for place, source in self.root.shown.items() if source in writable]
        for place in ("", *shown, *([self.root.results] if self.root.results else []), *([SHARED] if shares else [])):
            system.set_writable(str(new / place.lstrip("/")))
        system.change_root(str(new))
        os.chdir(f"/{self.root.begins_in}")
