"""The files that a server gives, as they are."""

from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote, urlsplit

_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".jpg": "image/jpeg",
    ".m4s": "video/iso.segment",
    ".mp4": "video/mp4",
    ".mpd": "application/dash+xml",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".webm": "video/webm",
    ".webp": "image/webp",
}
"""Fixed here, because the mimetypes module would ask the machine's own tables."""


@dataclass(frozen=True)
class File:
    """An open file and what its answer says of it."""

    body: BinaryIO
    size: int  # bytes
    content_type: str


class Files:
    """What lies below a folder; nothing outside of it can be reached, also not over links."""

    def __init__(self, folder: str) -> None:
        self._root = Path(folder).resolve(strict=True)

    def open(self, path: str) -> File | None:
        """The file at a path of a URL, None where there is none."""
        name = unquote(urlsplit(path).path).lstrip("/")
        try:
            found = (self._root / name).resolve(strict=True)
            if not found.is_relative_to(self._root) or not found.is_file():
                return None
            body = found.open("rb")
        except (OSError, ValueError):  # ValueError: a null byte
            return None
        return File(body, found.stat().st_size, _TYPES.get(found.suffix.lower(), "application/octet-stream"))
