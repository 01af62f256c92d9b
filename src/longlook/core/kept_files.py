"""Files named by the digest of their content: kept in the cache, and copied into the run folders that need them.

They are JSON unless another suffix is given.

`what` and `hint` are for the error: what could not be kept, and what to do.
"""

import hashlib
import os
from pathlib import Path

from longlook.core import files
from longlook.core.errors import InputError

_DIGEST = "sha256:"
_JSON = ".json"


def digest_of(data: bytes) -> str:
    """Return the digest of a content, `sha256:` and 64 hexadecimal digits."""
    return f"{_DIGEST}{hashlib.sha256(data).hexdigest()}"


def file_of(root: Path, digest: str, suffix: str = _JSON) -> Path:
    """Return where a folder has the content of a digest, whether it is there or not."""
    return root / f"{digest.removeprefix(_DIGEST)}{suffix}"


def keep(root: Path, data: bytes, what: str, hint: str, suffix: str = _JSON) -> str:
    """Write a content into a folder that lacks it and return its digest; InputError if it cannot be written."""
    digest = digest_of(data)
    target = file_of(root, digest, suffix)
    if not target.exists():
        write(target, data, what, hint)
    return digest


def adopt(copies: Path, root: Path, what: str, hint: str, suffix: str = _JSON) -> None:
    """Write the files of a run's folder into a folder that lacks them; InputError if one cannot be written, or is
    no regular file with the content of its name.
    """
    for path in sorted(copies.glob(f"[!.]*{suffix}")):
        target = root / path.name
        if not target.exists():
            write(target, _named(path), what, hint)


def _named(path: Path) -> bytes:
    """Return the content of a file that is named by its digest; InputError for any other file."""
    data = files.read_bytes(path)
    if file_of(path.parent, digest_of(data), path.suffix) != path:
        raise InputError(f"{path} is damaged: its content does not match its name", "restore it from a copy")
    return data


def write(path: Path, data: bytes, what: str, hint: str) -> None:
    """Write a file as a whole or not at all, also beside others who write the same; InputError if it cannot be."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f".{path.name}.{os.getpid()}")
        partial.write_bytes(data)
        partial.replace(path)
    except OSError as error:
        raise InputError(f"{what} cannot be kept: {error}", hint) from error
