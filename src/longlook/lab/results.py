"""Takes the files that a client left in place of lines, without trust in any of it.

Only files that were asked for are opened, no link is followed, and nothing of a file with a wrong size is read.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path

from longlook.core import ExpectedAnswer, files
from longlook.lab.observations import LeftFile

_MISSING = "the client left no such file"


def take_results(folder: Path, expected: Mapping[str, ExpectedAnswer]) -> dict[str, LeftFile]:
    """Return what a client left in a folder for each URL path, by the path's own name there.

    The client must have ended; `folder` itself is out of its reach.
    """
    return {path: _taken(folder, path.removeprefix("/"), answer) for path, answer in expected.items()}


def _taken(folder: Path, name: str, answer: ExpectedAnswer) -> LeftFile:
    try:
        with files.open_below(folder, name) as file:
            size = file.seek(0, 2)
            if size != answer.bytes:
                return LeftFile(size)
            file.seek(0)
            return LeftFile(size, f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}")
    except FileNotFoundError:
        return LeftFile(problem=_MISSING)
    except OSError as error:
        return LeftFile(problem=f"the client left no file that can be read: {error.strerror or error}")
