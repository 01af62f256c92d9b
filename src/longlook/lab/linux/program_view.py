"""The host's files as programs under test see them: all of them read-only, nobody's private or temporary files, and
folders of their own that they can write to.

Each program gets a mount namespace of its own, which ends with it. Folders that only their owner may enter (the home of
root, for one) are covered, as are temporary folders, the sockets of services and the user's home. The files that a
program needs of them (Longlook's cache, Python, the files to serve) are mounted in their place. A program can write to
rooms: file systems in memory, each bounded in bytes and in files, which are new for each program and gone with it.
"""

import os
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from longlook.lab.linux import own_root, system
from longlook.lab.linux.folders import both_ends, is_below, is_closed, outermost

_TEMPORARY = ("/tmp", "/var/tmp")  # noqa: S108
SHARED = "/dev/shm"  # noqa: S108
"""The place of POSIX shared memory."""

_COVERED = (*_TEMPORARY, "/run")
_FULL_PAGES = 16  # as many are left at most of a room that is full


@dataclass(frozen=True)
class RoomSize:
    """How much a room holds: bytes, and files with folders."""

    byte_count: int
    files: int

    def options(self, mode: str) -> str:
        """Return the options of a tmpfs of this size."""
        return f"size={self.byte_count},nr_inodes={self.files},mode={mode}"


@dataclass(frozen=True)
class Room:
    """A file system that a program may write to. `descriptor` is of its top folder, and keeps it; `place` is the folder
    on which it is mounted.
    """

    place: str
    descriptor: int
    size: RoomSize

    def is_full(self) -> bool:
        """Return whether it has no room for another file, or for what another write brings."""
        return is_full(self.descriptor)

    @property
    def results(self) -> Path:
        """The folder of the results of a program with a root of its own, whose layer is here."""
        return own_root.results_below(Path(f"/proc/self/fd/{self.descriptor}"))

    def kept(self) -> "Room":
        """Return it with a descriptor of its own, which keeps it when the program's end closes this one."""
        return replace(self, descriptor=os.dup(self.descriptor))

    def close(self) -> None:
        """Let go of it."""
        os.close(self.descriptor)


def is_full(folder: int | str) -> bool:
    """Return whether the file system of a folder, or of its descriptor, has no room for another file or write."""
    space = os.statvfs(folder)
    return space.f_bfree < _FULL_PAGES or space.f_ffree == 0


@dataclass(frozen=True)
class ProgramView:
    """`needed` are the paths that programs need; `home` is the folder in which they start, and may write.

    `hidden` are folders to be covered in addition.
    """

    needed: tuple[str, ...]
    home: Path
    home_size: RoomSize
    room_size: RoomSize  # of each other room
    hidden: tuple[str, ...] = ()

    def enter(
        self, writable: Sequence[Path], user: int | None, before_read_only: Callable[[], None]
    ) -> tuple[Room, ...]:
        """Move this thread into a mount namespace with the view, and return its rooms.

        Existing `writable` files and folders can be written, too. `user` is the home's owner; `before_read_only` is
        called when all but that is done. Raise OSError if the kernel refuses it.
        """
        home, places = str(self.home), [str(place) for place in writable]
        inner = [place for place in places if is_below(place, home)]
        shown = _resolved((*self.needed, *(place for place in places if place not in inner)))
        covers = _covers((*shown, home), (*_COVERED, *self.hidden))
        below = {cover: [path for path in shown if is_below(path, cover) and path != cover] for cover in covers}
        system.unshare(system.CLONE_NEWNS)
        sources = {path: os.open(path, os.O_PATH | os.O_CLOEXEC) for path in [*inner, *chain(*below.values())]}
        try:
            for cover, paths in below.items():
                options = self.room_size.options("1777" if cover in _TEMPORARY else "0755")
                _mount_room(cover, options)
                _show(paths, sources)
            Path(home).mkdir(parents=True, exist_ok=True)
            owner = "" if user is None else f",uid={user},gid={user}"
            _mount_room(home, self.home_size.options("0700") + owner)
            _show(inner, sources)
        finally:
            for descriptor in sources.values():
                os.close(descriptor)
        tops = [home, *(top for top in _TEMPORARY if top in covers)]
        if os.path.isdir(SHARED):  # noqa: PTH112
            _mount_room(SHARED, self.room_size.options("1777"))
            tops.append(SHARED)
        for place in places:
            system.mount(place, place, None, system.MS_BIND)
        before_read_only()
        system.set_read_only("/", recursive=True)
        for place in (*places, *tops):
            system.set_writable(place)
        os.chdir(home)
        sizes = {home: self.home_size}
        return tuple(Room(top, os.open(top, os.O_PATH | os.O_CLOEXEC), sizes.get(top, self.room_size)) for top in tops)


def _resolved(paths: Sequence[str]) -> list[str]:
    """Return the paths that exist with both ends of links, none below another one, in order."""
    return outermost(end for path in paths for end in both_ends(path) if os.path.lexists(end))


def _covers(shown: Sequence[str], always: Sequence[str]) -> list[str]:
    """Return the folders to be covered, outer ones only, in order."""
    closed = {str(folder) for path in shown for folder in list(Path(path).parents)[:-1] if is_closed(folder)}
    wanted = closed | {os.path.realpath(path) for path in always if os.path.isdir(path)}  # noqa: PTH112
    wanted -= {path for path in wanted if any(is_below(path, place) for place in shown)}
    return outermost(wanted)


def _mount_room(place: str, options: str) -> None:
    system.mount("tmpfs", place, "tmpfs", system.MS_NOSUID | system.MS_NODEV, options)


def _show(paths: Sequence[str], sources: Mapping[str, int]) -> None:
    """Mount what is to be seen in empty folders, at its own paths."""
    for path in paths:
        state = os.fstat(sources[path])
        source = f"/proc/self/fd/{sources[path]}"
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        if stat.S_ISLNK(state.st_mode):
            continue
        if stat.S_ISDIR(state.st_mode):
            Path(path).mkdir(exist_ok=True)
        else:
            Path(path).touch()
        system.mount(source, path, None, system.MS_BIND | system.MS_REC)
