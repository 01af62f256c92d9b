"""Relations of paths, and which folders other users may enter. Pure, except that `is_closed` and symbolic links are
read.
"""

import os
import stat
from collections.abc import Iterable
from pathlib import Path

from longlook.core import MachineError

OTHERS_ENTER = 0o001
"""The permission of a folder that lets every user enter it."""

_OTHERS_READ = 0o004


def both_ends(path: str) -> set[str]:
    """Return an absolute path, and its target if there are symbolic links in it."""
    return {os.path.abspath(path), os.path.realpath(path)}  # noqa: PTH100 (the links of its parents stay)


def is_below(path: str, top: str) -> bool:
    """Return whether an absolute path is `top` or lies in it."""
    return path == top or path.startswith(f"{top.rstrip('/')}/")


def outermost(paths: Iterable[str]) -> list[str]:
    """Return the paths that lie in no other one, in order."""
    distinct = set(paths)
    return sorted(path for path in distinct if not any(is_below(path, other) for other in distinct - {path}))


def is_closed(folder: Path) -> bool:
    """Return whether a folder lets only its owner enter; False if Longlook itself cannot see it."""
    try:
        mode = folder.stat().st_mode
    except OSError:
        return False
    return stat.S_ISDIR(mode) and not mode & OTHERS_ENTER


def raise_if_unreadable(paths: Iterable[str], who: str) -> None:
    """Raise MachineError for a path that other users may not read, though `who` runs as one of them."""
    for path in map(Path, paths):
        if path.exists() and not path.stat().st_mode & _OTHERS_READ:
            raise MachineError(
                f"{path} cannot be read by the unprivileged user that {who} run as",
                f"chmod -R go+rX {path.parent}, and: umask 022",
            )
