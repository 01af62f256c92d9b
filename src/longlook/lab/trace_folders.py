"""The folders in which programs under test leave traces, and the files of these that stay in the trial's folder.

They are file systems in memory, which the kernel bounds in bytes and in files with folders; open files count even if
they were removed. When the programs have ended, regular files stay, as Longlook's own and without the modes that a
program gave them; all else is left. In real time they are copied out. In a guest the copies would need as much memory
again; there the file systems stay until the trial's folder is on the host.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from longlook.core import open_below, remove_tree
from longlook.lab import limits
from longlook.lab.linux import system
from longlook.lab.linux.program_view import RoomSize, is_full
from longlook.lab.linux.trees import TreeEntry, entries
from longlook.lab.trial_files import ROLES, make_own

_FLAGS = system.MS_NOSUID | system.MS_NODEV


@dataclass
class Kept:
    """The traces that were left so far: bytes of files, and the number of files and folders."""

    byte_count: int = 0
    files: int = 0
    too_deep: bool = False

    def count(self, entry: TreeEntry) -> None:
        """Count one more."""
        self.byte_count += entry.state.st_size if entry.is_file else 0
        self.files += 1
        self.too_deep = self.too_deep or entry.too_deep

    def since(self, before: "Kept", most_bytes: int) -> str | None:
        """Return the limit that a session client broke since then, as a sentence without its subject, or None."""
        grown = Kept(self.byte_count - before.byte_count, self.files - before.files)
        deepest = limits.SESSION_DEPTH if self.too_deep and not before.too_deep else None
        return _broken(grown, "temporary files", deepest, most_bytes)

    def broken(self, most_bytes: int) -> str | None:
        """Return the limit that is broken, as a sentence without its subject; None if all are kept."""
        return _broken(self, "traces", limits.KEPT_DEPTH if self.too_deep else None, most_bytes)


@contextmanager
def bounded_traces(folder: Path) -> Iterator[None]:
    """Make the folders of traces of a trial in a guest file systems of their own, for a block.

    A new file system takes time and random numbers, so this is done before the trial begins.
    """
    with ExitStack() as undo:
        for role in ROLES:
            place = _place(folder, role)
            _mount_room(place, limits.KEPT_IN_GUEST_BYTES)
            undo.callback(system.unmount, str(place))
        yield


def growth(scratch: Path) -> Kept:
    """Return what session clients have in their folders."""
    found = Kept()
    for entry in entries(scratch, limits.SESSION_DEPTH):
        found.count(entry)
    return found


class TracePlaces:
    """The folders of traces of one trial, which lie in its `folder`, one for each role.

    In a guest (`virtual`) `bounded_traces` made them.
    """

    def __init__(self, folder: Path, *, virtual: bool) -> None:
        self._folder, self._virtual = folder, virtual
        self._most_bytes = limits.KEPT_IN_GUEST_BYTES if virtual else limits.KEPT_BYTES
        self._rooms: dict[str, Path] = {}

    def make(self, role: str, flow: str) -> Path:
        """Return a new folder for the traces of a role in a flow ("" if it is the only one)."""
        place = _place(self._folder, role)
        if not self._virtual and role not in self._rooms:
            _mount_room(place, self._most_bytes)
            self._rooms[role] = place
        (place / flow).mkdir(parents=True, exist_ok=True)
        (place / flow).chmod(0o700)
        return place / flow

    def broken(self) -> dict[str, str]:
        """Return by role which limit its programs have broken so far."""
        found = {}
        for role in ROLES:
            place = _place(self._folder, role)
            if place.is_mount() and (reason := _full(place, self._most_bytes)) is not None:
                found[role] = reason
        return found

    def take_out(self) -> dict[str, str]:
        """Leave in the trial's folder what may stay, once all programs have ended; return broken limits by role.

        In the order of their names, files stay until a limit is broken.
        """
        found = {}
        for role in ROLES:
            place = _place(self._folder, role)
            if not place.is_dir():
                continue
            reason = self._copy_from_room(role, place) if role in self._rooms else self._clear_room(place)
            if reason is not None:
                found[role] = reason
        return found

    def close(self) -> None:
        """Give the memory back, if that was not done."""
        for place in self._rooms.values():
            system.unmount(str(place))
        self._rooms.clear()

    def _copy_from_room(self, role: str, place: Path) -> str | None:
        full = _full(place, self._most_bytes)
        room = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            system.unmount(str(self._rooms.pop(role)))
            source = Path(f"/proc/self/fd/{room}")
            broken, chosen = _chosen(source, self._most_bytes)
            for name in chosen:
                (place / name).parent.mkdir(parents=True, exist_ok=True)
                with open_below(source, name) as whole, (place / name).open("wb") as copy:
                    shutil.copyfileobj(whole, copy)
        finally:
            os.close(room)
        return full or broken

    def _clear_room(self, place: Path) -> str | None:
        """Leave what may stay in a room that stays itself: all is moved aside there, and that moved back."""
        full = None
        if place.is_mount():
            full = _full(place, self._most_bytes)
            more = RoomSize(2 * self._most_bytes, 3 * limits.KEPT_FILES)  # Longlook's own folders need room, too
            system.mount("tmpfs", str(place), None, system.MS_REMOUNT | _FLAGS, more.options("0755"))
        names = os.listdir(place)  # noqa: PTH208
        aside = next(path for path in (place / f".aside-{number}" for number in count()) if path.name not in names)
        aside.mkdir()
        for name in names:
            (place / name).rename(aside / name)
        broken, chosen = _chosen(aside, self._most_bytes)
        for name in chosen:
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            make_own(aside / name)
            (aside / name).rename(place / name)
        remove_tree(aside)
        os.chown(place, os.geteuid(), os.getegid())
        place.chmod(0o755)
        return full or broken


def _place(folder: Path, role: str) -> Path:
    return folder / "qlog" / role


def _mount_room(place: Path, most_bytes: int) -> None:
    place.mkdir(parents=True, exist_ok=True)
    size = RoomSize(most_bytes, limits.KEPT_FILES + 1)
    system.mount("tmpfs", str(place), "tmpfs", _FLAGS, size.options("0711"))


def _chosen(top: Path, most_bytes: int) -> tuple[str | None, list[str]]:
    """Return the limit that is broken below a folder, if one is, and the files before it."""
    kept, chosen = Kept(), list[str]()
    for entry in entries(top, limits.KEPT_DEPTH):
        kept.count(entry)
        if (reason := kept.broken(most_bytes)) is not None:
            return reason, chosen
        if entry.is_file:
            chosen.append(entry.path)
    return None, chosen


def _full(place: Path, most_bytes: int) -> str | None:
    if not is_full(str(place)):
        return None
    has_room = os.statvfs(place).f_ffree > 0
    kept = Kept(most_bytes if has_room else 0, 0 if has_room else limits.KEPT_FILES + 1)
    return _broken(kept, "traces", None, most_bytes)


def _broken(kept: Kept, what: str, deepest: int | None, most_bytes: int) -> str | None:
    if kept.byte_count >= most_bytes:
        return f"wrote {limits.mebibytes(most_bytes)} of {what} or more"
    if kept.files > limits.KEPT_FILES:
        return f"wrote more than {limits.KEPT_FILES} files and folders of {what}"
    return None if deepest is None else f"wrote {what} in folders more than {deepest} deep"
