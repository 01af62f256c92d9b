"""Files that are written anew each time, in a folder in which people edit them and put others, which are not lost."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from longlook.core import InputError, files

INDEX = ".longlook.json"
"""The files that were written here, and their SHA-256."""


def replace_files(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write files below a folder, and remove the files of last time that are not among them; other files stay.

    Raise InputError, before anything is changed, if a file of last time was edited since, or if a file that was not
    written by this function has the name of one that is.
    """
    before = _index(folder)
    for name in sorted({*before, *contents}):
        path = folder / name
        if not path.exists() and not path.is_symlink():
            continue
        if name not in before or _sha256(files.read_bytes(path)) != before[name]:
            what = "was edited" if name in before else "was not written by longlook"
            raise InputError(f"{path} {what}, and would be replaced", "copy it elsewhere and remove it here")
    for name in before.keys() - contents.keys():
        (folder / name).unlink(missing_ok=True)
    for name, data in contents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    index = {name: _sha256(data) for name, data in sorted(contents.items())}
    (folder / INDEX).write_text(json.dumps(index, indent=1) + "\n", encoding="utf-8")


def _index(folder: Path) -> dict[str, str]:
    try:
        found = json.loads(files.read_bytes(folder / INDEX))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise InputError(f"{folder / INDEX} is damaged", f"move {folder} away") from error
    if not isinstance(found, dict) or not all(_is_own(name, digest) for name, digest in found.items()):
        raise InputError(f"{folder / INDEX} is damaged", f"move {folder} away")
    return found


def _is_own(name: str, digest: object) -> bool:
    """Return whether an entry can be ours: it names a file below the folder."""
    return isinstance(digest, str) and not Path(name).is_absolute() and ".." not in Path(name).parts


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
