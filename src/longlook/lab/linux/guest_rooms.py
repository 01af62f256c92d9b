"""Rooms of programs in a guest: places of their own for temporary files, and System V and POSIX objects of their own.

A guest's laboratory has one thread, which makes the program's mount and IPC namespaces and comes back. It does so ahead
of the trial, because new file systems take random numbers from the kernel, and time; to start the program it only
enters them for a moment. Where a place is a file system already, the program's own takes its place.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from longlook.lab.linux import system
from longlook.lab.linux.folders import is_below
from longlook.lab.linux.program_view import RoomSize

_TEMPORARY = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108
_NAMESPACES = {"mnt": system.CLONE_NEWNS, "ipc": system.CLONE_NEWIPC}


@dataclass(frozen=True)
class _Place:
    """Where a process is: descriptors of its namespaces, its root and its working directory."""

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
    """The rooms of one program, until it is started."""

    def __init__(self, laboratory: _Place, program: _Place) -> None:
        self._laboratory, self._program = laboratory, program

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Start the program in a block; the rooms then end with it."""
        self._program.go()
        try:
            yield
        finally:
            self._laboratory.go()
            self.close()

    def close(self) -> None:
        """Give them up."""
        self._program.close()
        self._laboratory.close()


@dataclass(frozen=True)
class GuestRooms:
    """How rooms are made: `home` at its path, and the usual ones for temporary files.

    `stage` is an existing folder that programs cannot enter.
    """

    home: Path
    home_size: RoomSize
    room_size: RoomSize
    stage: Path

    def make(self, writable: Sequence[Path], user: int | None) -> Rooms:
        """Make the rooms of a program; existing `writable` folders below its home can be written in there, too."""
        laboratory = _where()
        system.unshare(sum(_NAMESPACES.values()))
        try:
            self._furnish(writable, user)
            return Rooms(laboratory, _where())
        finally:
            laboratory.go()

    def _furnish(self, writable: Sequence[Path], user: int | None) -> None:
        owner = "" if user is None else f",uid={user},gid={user}"
        inner = [place for place in map(str, writable) if is_below(place, str(self.home))]
        sources = {place: os.open(place, os.O_PATH | os.O_CLOEXEC) for place in inner}
        try:
            self._replace(str(self.home), self.home_size.options("0700") + owner)
            for place, descriptor in sources.items():
                Path(place).mkdir(parents=True, exist_ok=True)
                system.mount(f"/proc/self/fd/{descriptor}", place, None, system.MS_BIND)
        finally:
            for descriptor in sources.values():
                os.close(descriptor)
        for place in _TEMPORARY:
            if os.path.isdir(place):  # noqa: PTH112
                self._replace(place, self.room_size.options("1777"))

    def _replace(self, place: str, options: str) -> None:
        """Mount an empty file system at a place, and move into it what is mounted below the place."""
        mounted = _mounts()
        below = [path for path in mounted if is_below(path, place) and path != place]
        system.mount("room", str(self.stage), "tmpfs", system.MS_NOSUID | system.MS_NODEV, options)
        for path in below:
            target = self.stage / path.removeprefix(place).lstrip("/")
            target.mkdir(parents=True, exist_ok=True)
            system.mount(path, str(target), None, system.MS_MOVE)
        if place in mounted:
            system.unmount(place)
        system.mount(str(self.stage), place, None, system.MS_MOVE)


def _mounts() -> list[str]:
    lines = Path("/proc/self/mounts").read_text().splitlines()
    return [line.split()[1].encode().decode("unicode_escape") for line in lines]
