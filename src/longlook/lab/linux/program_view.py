"""What programs under test see of the host's files: all of it read-only, nobody's private or temporary files, and
folders of their own that they can write to.

Each program gets a mount namespace of its own, which ends with it. Folders that only their owner may enter (the home of
root, for one) are covered, as are temporary folders, the sockets of services and the user's home; what a program needs
of them (Longlook's cache, Python, the files to serve) is mounted in its place.
"""

import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from longlook.lab.linux import system
from longlook.lab.linux.folders import both_ends, is_below, is_closed, outermost

_TEMPORARY = ("/tmp", "/var/tmp")  # noqa: S108
_COVERED = (*_TEMPORARY, "/run")
_ROOM = "size=256m"  # of a temporary folder


@dataclass(frozen=True)
class ProgramView:
    """`needed` are the paths that programs need; `home` is the folder in which they start, and may write.

    `hidden` are folders to be covered in addition.
    """

    needed: tuple[str, ...]
    home: Path
    hidden: tuple[str, ...] = ()

    def enter(self, writable: Sequence[Path]) -> None:
        """Move this thread into a mount namespace with the view; existing `writable` files and folders can be written.

        Raise OSError where the kernel refuses it.
        """
        places = [str(place) for place in (self.home, *writable)]
        shown = _resolved((*self.needed, *places))
        covers = _covers(shown, (*_COVERED, *self.hidden))
        system.unshare(system.CLONE_NEWNS)
        below = {cover: [path for path in shown if is_below(path, cover) and path != cover] for cover in covers}
        sources = {path: os.open(path, os.O_PATH | os.O_CLOEXEC) for paths in below.values() for path in paths}
        try:
            for cover, paths in below.items():
                _cover(cover, paths, sources)
        finally:
            for descriptor in sources.values():
                os.close(descriptor)
        for place in places:
            system.mount(place, place, None, system.MS_BIND)
        system.set_read_only("/", recursive=True)
        for place in (*places, *(top for top in _TEMPORARY if top in covers), "/dev/shm"):  # noqa: S108
            if os.path.exists(place):  # noqa: PTH110
                system.set_writable(place)
        os.chdir(self.home)


def _resolved(paths: Sequence[str]) -> list[str]:
    """Return the paths that exist with both ends of links, none below another one, in order."""
    return outermost(end for path in paths for end in both_ends(path) if os.path.lexists(end))


def _covers(shown: Sequence[str], always: Sequence[str]) -> list[str]:
    """Return the folders to be covered, outer ones only, in order."""
    closed = {str(folder) for path in shown for folder in list(Path(path).parents)[:-1] if is_closed(folder)}
    wanted = closed | {os.path.realpath(path) for path in always if os.path.isdir(path)}  # noqa: PTH112
    wanted -= {path for path in wanted if any(is_below(path, place) for place in shown)}
    return outermost(wanted)


def _cover(cover: str, shown: Sequence[str], sources: Mapping[str, int]) -> None:
    """Mount an empty folder over `cover`, and in it what is to be seen of it."""
    mode = "1777" if cover in _TEMPORARY else "0755"
    system.mount("tmpfs", cover, "tmpfs", system.MS_NOSUID | system.MS_NODEV, f"{_ROOM},mode={mode}")
    for path in shown:
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
