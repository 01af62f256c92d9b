"""SHA-256 digests of files and of the code that a result depends on. Standard library only."""

import hashlib
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from longlook.core.codec import content_hash

_PACKAGE = "longlook"
_ROOT = Path(__file__).parents[1]
_IMPORT = re.compile(
    rf"^[ \t]*(?:from|import)[ \t]+({_PACKAGE}(?:\.\w+)*)(?:[ \t]+import[ \t]+(\([^)]*\)|[^\n#]*))?", re.M
)
_NAME = re.compile(r"(\w+)(?:[ \t]+as[ \t]+\w+)?")


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file, hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@cache
def code_digest(*modules: str) -> str:
    """Return the digest of all code that modules of Longlook depend on, 64 hexadecimal digits.

    A module depends on every file of its folder, and so on for every module that one of these files imports, wherever
    in the file. Whole folders are more than is needed: that costs a result that could have been kept, where a missing
    file would keep a result that is wrong.
    """
    return _digest_of(code_files(*modules))


def code_files(*modules: str) -> set[Path]:
    """Return the files that `code_digest` covers."""
    return _files_behind(map(_folder_of, modules))


@cache
def source_digest(file: Path) -> str:
    """Return the digest of one source file, such as a plug-in, and of all code of Longlook that it depends on."""
    return content_hash([file_digest(file), _digest_of(_files_behind(_imported_folders(file)))], 64)


def _digest_of(files: Iterable[Path]) -> str:
    return content_hash(sorted((path.relative_to(_ROOT).as_posix(), file_digest(path)) for path in files), 64)


def _files_behind(folders: Iterable[Path]) -> set[Path]:
    """Return the files of folders, of all that they import, and the `__init__.py` of every package above."""
    found: set[Path] = set()
    seen: set[Path] = set()
    waiting = list(folders)
    while waiting:
        folder = waiting.pop()
        if folder in seen:
            continue
        seen.add(folder)
        files = [path for path in folder.iterdir() if path.suffix in (".py", ".json")]
        above = [parent / "__init__.py" for parent in folder.parents if parent.is_relative_to(_ROOT)]
        found.update(files, above)
        for file in (*files, *above):
            waiting.extend(_imported_folders(file))
    return found


def _imported_folders(file: Path) -> Iterator[Path]:
    for module, names in _IMPORT.findall(file.read_text(encoding="utf-8")) if file.suffix == ".py" else ():
        if module == _PACKAGE and not names:
            continue
        if module != _PACKAGE:
            yield _folder_of(module)
        for name in _NAME.findall(names.strip("()")):  # a package may be imported from its parent
            folder = _ROOT.joinpath(*module.split(".")[1:], name)
            if folder.is_dir():
                yield folder


def _folder_of(module: str) -> Path:
    path = _ROOT.joinpath(*module.split(".")[1:])
    return path if path.is_dir() else path.parent
