"""Makes folders of the host visible in a guest although the guest's own file systems would hide them."""

import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from longlook.core import MachineError
from longlook.lab.linux import system
from longlook.lab.linux.folders import OTHERS_ENTER, both_ends, is_below, is_closed, outermost

HIDDEN = ("/tmp", "/run", "/dev/shm")  # noqa: S108
"""The guest's own folders, empty when it starts; folders of the host can be mounted in them."""

_NEVER_SHOWN = ("/proc", "/sys", "/dev")


def hidden_folders(needed: Iterable[str]) -> tuple[str, ...]:
    """Return the folders directly below the hidden ones that contain the needed paths, each once.

    Whole ones, because each folder that is shown is a line of the mount table, which programs read as they start:
    where their files are and how many there are shall not lengthen it. Paths that do not exist are left out. A symbolic
    link counts with both its ends. Raise MachineError for a path that can never be shown.
    """
    found: set[str] = set()
    for name in needed:
        for path in both_ends(name):
            if not os.path.lexists(path):
                continue
            if tops := [top for top in HIDDEN if is_below(path, top)]:
                first = path.removeprefix(tops[0]).strip("/").partition("/")[0]
                folder = f"{tops[0]}/{first}"
                found.add(folder if first and os.path.isdir(folder) else tops[0])  # noqa: PTH112
            elif any(is_below(path, top) for top in _NEVER_SHOWN):
                raise MachineError(
                    f"{path} lies where a guest has devices and processes of its own",
                    "move it to an ordinary folder, or run in real time: --engine live",
                )
    return tuple(outermost(found))


def closed_folders(needed: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the folders on the way to the needed paths that only their owner may enter, with what leads on in each."""
    found: dict[str, set[str]] = {}
    for name in needed:
        for end in map(Path, both_ends(name)):
            for path in (end, *end.parents):
                if path != path.parent and is_closed(path.parent):
                    found.setdefault(str(path.parent), set()).add(path.name)
    return {folder: tuple(sorted(names)) for folder, names in sorted(found.items())}


def lead_through(closed: Mapping[str, Sequence[str]], root: Path) -> None:
    """Let every user pass closed folders of the host in a guest's root to what is named, and to nothing else in them.

    Other folders in them are closed, other files removed, in the root's layer in memory, which leaves the host's as
    they are. Mounts would do as well, but each is a line of the mount table.
    """
    for folder, names in closed.items():
        place = root / folder.lstrip("/")
        if not place.is_dir():
            continue
        for entry in _entries(place):
            if entry.name in names:
                continue
            if entry.is_dir(follow_symlinks=False):
                os.chmod(entry.path, stat.S_IRWXU)  # noqa: PTH101
            else:
                os.unlink(entry.path)  # noqa: PTH108
        place.chmod(place.stat().st_mode | OTHERS_ENTER)


def protect(folders: Sequence[str], root: Path) -> None:
    """Let nobody write to what a guest's root and the shown folders hold, whoever may write to it on the host.

    Programs have places of their own. The guest's own file systems in the root stay as they are.
    """
    for place in (root, *(root / folder.lstrip("/") for folder in folders)):
        system.set_read_only(str(place), recursive=False)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    """Return what a folder holds; nothing of one that the guest's kernel itself may not list, nor read anything in."""
    try:
        return list(os.scandir(folder))
    except PermissionError:
        return []


def show(folders: Sequence[str], root: Path, stage: Path) -> None:
    """Mount folders of the host in a guest's root, each under a layer in memory, as the rest of the host's root is.

    `stage` is a folder in memory for the layers.
    """
    for number, folder in enumerate(folders):
        lower, upper, work = (stage / f"{part}-{number}" for part in ("shown", "upper", "work"))
        for place in (lower, upper, work):
            place.mkdir()
        target = root / folder.lstrip("/")
        target.mkdir(parents=True, exist_ok=True)
        system.mount("shown", str(lower), "hostfs", system.MS_RDONLY, folder)
        system.mount("shown", str(target), "overlay", 0, f"lowerdir={lower},upperdir={upper},workdir={work}")
