"""Trees of files that programs under test left: as deep, as wide and as closed as these liked."""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True)
class TreeEntry:
    """Something below a folder: its path from there, its state, and whether it is a folder that is not entered."""

    path: str
    state: os.stat_result
    too_deep: bool = False

    @property
    def is_file(self) -> bool:
        """Return whether it is a regular file, and no link to one."""
        return stat.S_ISREG(self.state.st_mode)


def entries(top: Path, deepest: int) -> Iterator[TreeEntry]:
    """Yield everything below a folder in the order of paths, folders too; those `deepest` levels down are not entered.

    Whoever can write there may change it meanwhile: no link is followed, also if one takes a folder's place. Entries
    that vanish, or cannot be read, are left out.
    """
    with suppress(OSError):
        yield from _below(os.open(top, _FOLDER & ~os.O_NOFOLLOW), "", deepest)  # a descriptor's name is a link


def _below(folder: int, prefix: str, deepest: int) -> Iterator[TreeEntry]:
    """Yield what is in an open folder, which is then closed."""
    try:
        for name in sorted(os.listdir(folder)):
            with suppress(OSError):
                state = os.lstat(name, dir_fd=folder)
                is_folder = stat.S_ISDIR(state.st_mode)
                yield TreeEntry(prefix + name, state, too_deep=is_folder and deepest <= 1)
                if is_folder and deepest > 1:
                    yield from _below(os.open(name, _FOLDER, dir_fd=folder), f"{prefix}{name}/", deepest - 1)
    finally:
        os.close(folder)
