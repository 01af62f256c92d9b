"""Trees of files that programs under test left: as deep, as wide and as closed as these liked."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Entry:
    """Something below a folder: its path from there, its state, and whether it is a folder that is not entered."""

    path: str
    state: os.stat_result
    too_deep: bool = False

    @property
    def is_file(self) -> bool:
        """Return whether it is a regular file, and no link to one."""
        return stat.S_ISREG(self.state.st_mode)


def entries(top: Path, deepest: int) -> Iterator[Entry]:
    """Yield everything below a folder in the order of paths, folders too; those `deepest` levels down are not entered.

    What vanishes meanwhile, or cannot be read, is left out.
    """
    waiting = [""]
    while waiting:
        path = waiting.pop()
        try:
            state = os.lstat(top / path) if path else os.stat(top)  # noqa: PTH116 (a descriptor's name is a link)
            depth = path.count("/") + 1 if path else 0
            is_folder = stat.S_ISDIR(state.st_mode)
            names = os.listdir(top / path) if is_folder and depth < deepest else []  # noqa: PTH208
        except OSError:
            continue
        if path:
            yield Entry(path, state, too_deep=is_folder and depth >= deepest)
        waiting += sorted((f"{path}/{name}" if path else name for name in names), reverse=True)
