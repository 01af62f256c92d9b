"""The folders in which programs under test leave traces, and what of it stays in the trial's folder.

In real time they are file systems in memory, which the kernel bounds: in bytes, also those of files that were removed
and are open, and in files with folders. In a guest, whose memory bounds them, they are counted. When the programs have
ended, regular files are taken out, as Longlook's own and without the modes that a program gave them; all else is left.
"""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from longlook.core.files import open_below
from longlook.lab import limits
from longlook.lab.kept import ROLES, make_own
from longlook.lab.linux import system
from longlook.lab.linux.program_view import RoomSize, is_full
from longlook.lab.linux.trees import Entry, entries, remove_tree


@dataclass
class Kept:
    """What was left so far: bytes of files, and files with folders."""

    byte_count: int = 0
    files: int = 0
    too_deep: bool = False

    def count(self, entry: Entry) -> None:
        """Count one more."""
        self.byte_count += entry.state.st_size if entry.is_file else 0
        self.files += 1
        self.too_deep = self.too_deep or entry.too_deep

    def since(self, before: "Kept") -> str | None:
        """Return the limit that a session client broke since then, as a sentence without its subject, or None."""
        grown = Kept(self.byte_count - before.byte_count, self.files - before.files)
        return _broken(
            grown, "temporary files", limits.SESSION_DEPTH if self.too_deep and not before.too_deep else None
        )

    def broken(self) -> str | None:
        """Return the limit that is broken, as a sentence without its subject; None where all are kept."""
        return _broken(self, "traces", limits.KEPT_DEPTH if self.too_deep else None)


def growth(scratch: Path) -> Kept:
    """Return what session clients have in their folders."""
    found = Kept()
    for entry in entries(scratch, limits.SESSION_DEPTH):
        found.count(entry)
    return found


class TracePlaces:
    """The folders of traces of one trial, which lie in its `folder`, one for each role."""

    def __init__(self, folder: Path, *, virtual: bool) -> None:
        self._folder, self._virtual = folder, virtual
        self._rooms: dict[str, Path] = {}

    def make(self, role: str, flow: str) -> Path:
        """Return a new folder for the traces of a role in a flow ("" where it is the only one)."""
        place = self._folder / "qlog" / role
        if not self._virtual and role not in self._rooms:
            place.mkdir(parents=True, exist_ok=True)
            size = RoomSize(limits.KEPT_BYTES, limits.KEPT_FILES + 1)
            flags = system.MS_NOSUID | system.MS_NODEV
            system.mount("tmpfs", str(place), "tmpfs", flags, size.options("0711"))
            self._rooms[role] = place
        (place / flow).mkdir(parents=True, exist_ok=True)
        (place / flow).chmod(0o700)
        return place / flow

    def broken(self) -> dict[str, str]:
        """Return by role which limit its programs have broken so far."""
        found = {}
        for role in ROLES:
            if role in self._rooms:
                reason = _full(self._rooms[role])
            else:
                reason, _ = _chosen(self._folder / "qlog" / role)
            if reason is not None:
                found[role] = reason
        return found

    def take_out(self) -> dict[str, str]:
        """Leave in the trial's folder what may stay, once all programs have ended; return broken limits by role.

        In the order of their names, files stay until a limit is broken.
        """
        found = {}
        for role in ROLES:
            place = self._folder / "qlog" / role
            if not place.is_dir():
                continue
            reason = self._copy_from_room(role, place) if role in self._rooms else _move_aside_and_back(place)
            if reason is not None:
                found[role] = reason
        return found

    def close(self) -> None:
        """Give the memory back, if that was not done."""
        for place in self._rooms.values():
            system.unmount(str(place))
        self._rooms.clear()

    def _copy_from_room(self, role: str, place: Path) -> str | None:
        full = _full(place)
        room = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            system.unmount(str(self._rooms.pop(role)))
            source = Path(f"/proc/self/fd/{room}")
            broken, chosen = _chosen(source)
            for name in chosen:
                (place / name).parent.mkdir(parents=True, exist_ok=True)
                with open_below(source, name) as whole, (place / name).open("wb") as copy:
                    shutil.copyfileobj(whole, copy)
        finally:
            os.close(room)
        return full or broken


def _move_aside_and_back(place: Path) -> str | None:
    aside = place.with_name(f".{place.name}")
    place.rename(aside)
    place.mkdir()
    broken, chosen = _chosen(aside)
    for name in chosen:
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        make_own(aside / name)
        (aside / name).rename(place / name)
    remove_tree(aside)
    return broken


def _chosen(top: Path) -> tuple[str | None, list[str]]:
    """Return the limit that is broken below a folder, if one is, and the files before it."""
    kept, chosen = Kept(), list[str]()
    for entry in entries(top, limits.KEPT_DEPTH):
        kept.count(entry)
        if (reason := kept.broken()) is not None:
            return reason, chosen
        if entry.is_file:
            chosen.append(entry.path)
    return None, chosen


def _full(place: Path) -> str | None:
    if not is_full(str(place)):
        return None
    has_room = os.statvfs(place).f_ffree > 0
    return _broken(Kept(limits.KEPT_BYTES if has_room else 0, 0 if has_room else limits.KEPT_FILES + 1), "traces", None)


def _broken(kept: Kept, what: str, deepest: int | None) -> str | None:
    if kept.byte_count >= limits.KEPT_BYTES:
        return f"wrote {limits.mebibytes(limits.KEPT_BYTES)} of {what} or more"
    if kept.files > limits.KEPT_FILES:
        return f"wrote more than {limits.KEPT_FILES} files and folders of {what}"
    return None if deepest is None else f"wrote {what} in folders more than {deepest} deep"
