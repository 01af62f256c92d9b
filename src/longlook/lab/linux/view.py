"""Makes folders of the host visible in a guest where the guest's own file systems would hide them."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from longlook.core.errors import MachineError
from longlook.lab.linux import system

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
        for path in {os.path.abspath(name), os.path.realpath(name)}:  # noqa: PTH100 (the links of its parents stay)
            if not os.path.lexists(path):
                continue
            if tops := [top for top in HIDDEN if _is_below(path, top)]:
                first = path.removeprefix(tops[0]).strip("/").partition("/")[0]
                folder = f"{tops[0]}/{first}"
                found.add(folder if first and os.path.isdir(folder) else tops[0])  # noqa: PTH112
            elif any(_is_below(path, top) for top in _NEVER_SHOWN):
                raise MachineError(
                    f"{path} lies where a guest has devices and processes of its own",
                    "move it to an ordinary folder, or run in real time: --engine live",
                )
    return tuple(sorted(path for path in found if not any(_is_below(path, other) for other in found - {path})))


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


def _is_below(path: str, top: str) -> bool:
    return path == top or path.startswith(f"{top}/")
