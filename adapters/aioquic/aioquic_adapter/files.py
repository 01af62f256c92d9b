"""The files that the server gives, as streams that are read as fast as they are sent."""

from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from longlook_adapter.files import content_type


@dataclass(frozen=True)
class File:
    """An open file, its size in bytes and its media type."""

    body: BinaryIO
    size: int
    content_type: str

    @classmethod
    def open(cls, path: Path) -> "File":
        """Open a file; OSError where it cannot be read."""
        return cls(path.open("rb"), path.stat().st_size, content_type(path))
