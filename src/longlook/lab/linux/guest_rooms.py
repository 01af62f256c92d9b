"""Rooms of programs in a guest: places of their own for temporary files, and System V and POSIX objects of their own.

All places of a program are folders of one file system, which the kernel bounds, since they lie in the guest's memory.

A guest's laboratory has one thread, which makes the program's mount and IPC namespaces and comes back. It does so ahead
of the trial, because new file systems take random numbers from the kernel, and time; to start the program it only
enters them for a moment. If a place is a file system already, the program's own replaces it.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from longlook.core import OwnRoot
from longlook.lab.linux import own_root, system
from longlook.lab.linux.folders import is_below, outermost
from longlook.lab.linux.program_view import Room, RoomSize

_TEMPORARY = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108
_NAMESPACES = {"mnt": system.CLONE_NEWNS, "ipc": system.CLONE_NEWIPC}


@dataclass(frozen=True)
class _Place:
    """The surroundings of a process: descriptors of its namespaces, its root and its working directory."""

    namespaces: tuple[tuple[int, int], ...]  # with the kind of each
    root: int
    here: int

    def go(self) -> None:
        """Be there."""
        for descriptor, kind in self.namespaces:
            system.set_namespace(descriptor, kind)
        os.chdir(self.root)
        os.chroot(".")
        os.chdir(self.here)

    def close(self) -> None:
        """Let go of it."""
        for descriptor in (*(descriptor for descriptor, _ in self.namespaces), self.root, self.here):
            os.close(descriptor)


def _where() -> _Place:
    flags = os.O_RDONLY | os.O_CLOEXEC
    namespaces = [(os.open(f"/proc/self/ns/{name}", flags), kind) for name, kind in _NAMESPACES.items()]
    root, here = (os.open(place, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC) for place in ("/", "."))
    return _Place(tuple(namespaces), root, here)


class Rooms:
    """The rooms of one program, until it is started or cannot be; its files are in `room`."""

    def __init__(self, laboratory: _Place, program: _Place, room: Room) -> None:
        self._laboratory, self._program = laboratory, program
        self._used = False
        self.room = room

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Start the program in a block; the rooms then end with it, and with `room`, or at once if the block raises."""
        self._used = True
        try:
            self._program.go()
            yield
        except BaseException:
            self.room.close()
            raise
        finally:
            self._laboratory.go()
            self._program.close()

    def close(self) -> None:
        """Give them up, unless a program was started in them, or they were given up before."""
        if not self._used:
            self._used = True
            self.room.close()
            self._program.close()


@dataclass(frozen=True)
class GuestRooms:
    """How rooms are made: `home` at its path, and the usual ones for temporary files.

    `stage` is an existing folder that programs cannot enter.
    """

    home: Path
    stage: Path
    _laboratory: list[_Place] = field(default_factory=list)  # one for all rooms, each of which needs it to come back

    def make(self, writable: Sequence[Path], user: int | None, size: RoomSize, root: OwnRoot | None = None) -> Rooms:
        """Make the rooms of a program, all of them together of a size; with a `root` of its own, that as well.

        Existing `writable` folders below its home can be written in there, too.
        """
        if not self._laboratory:
            self._laboratory.append(_where())
        (laboratory,) = self._laboratory
        system.unshare(sum(_NAMESPACES.values()))
        try:
            top = self._furnish(writable, user, size, root)
            return Rooms(laboratory, _where(), Room(str(self.stage), top, size))
        finally:
            laboratory.go()

    def _furnish(self, writable: Sequence[Path], user: int | None, size: RoomSize, root: OwnRoot | None) -> int:
        """Make the rooms and return a descriptor of their file system."""
        for place in outermost(place for place in map(str, writable) if is_below(place, str(self.home))):
            system.mount(place, place, None, system.MS_BIND)  # it then keeps its place in the new home
        system.mount("room", str(self.stage), "tmpfs", system.MS_NOSUID | system.MS_NODEV, size.options("0755"))
        top = os.open(self.stage, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        folders = [str(self.home), *(place for place in _TEMPORARY if os.path.isdir(place))]  # noqa: PTH112
        for number, place in enumerate(folders):
            folder = self.stage / str(number)
            folder.mkdir()
            if number == 0 and user is not None:
                os.chown(folder, user, user)
            folder.chmod(0o700 if number == 0 else 0o1777)
            _replace(place, folder)
        if root is None:
            system.unmount(str(self.stage))
        else:
            own_root.enter(root, self.stage)
        return top


def _replace(place: str, folder: Path) -> None:
    """Show a folder at a place, and move into it what is mounted below the place."""
    mounted = _mounts()
    for path in outermost(path for path in mounted if is_below(path, place) and path != place):
        target = folder / path.removeprefix(place).lstrip("/")
        target.mkdir(parents=True, exist_ok=True)
        system.mount(path, str(target), None, system.MS_MOVE)
    if place in mounted:
        system.unmount(place)
    system.mount(str(folder), place, None, system.MS_BIND | system.MS_REC)


def _mounts() -> list[str]:
    lines = Path("/proc/self/mounts").read_text().splitlines()
    return [line.split()[1].encode().decode("unicode_escape") for line in lines]
