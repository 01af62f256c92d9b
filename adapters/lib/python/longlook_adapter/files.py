"""The files that a server gives: found by the path of a URL, nothing outside of their folder, and with fixed types."""

from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar
from urllib.parse import unquote, urlsplit

_FileT = TypeVar("_FileT")

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


def content_type(path: Path) -> str:
    """Return the media type of a file by its name's ending."""
    return _TYPES.get(path.suffix.lower(), "application/octet-stream")


def response_headers(size: int, kind: str) -> list[tuple[bytes, bytes]]:
    """Return the header fields of a file's answer, for HTTP/2 and HTTP/3: `size` bytes of media type `kind`."""
    return [
        (b":status", b"200"),
        (b"content-type", kind.encode()),
        (b"content-length", str(size).encode()),
        (b"cache-control", b"no-store"),
    ]


class Files(Generic[_FileT]):
    """The files below a folder; nothing outside of it can be reached, also not over links."""

    def __init__(self, folder: str, open_file: Callable[[Path], _FileT]) -> None:
        self._root, self._open = Path(folder).resolve(strict=True), open_file

    def open(self, path: str) -> _FileT | None:
        """Open the file at the path of a URL; None where there is none or it cannot be read."""
        name = unquote(urlsplit(path).path).lstrip("/")
        try:
            found = (self._root / name).resolve(strict=True)
            if not found.is_relative_to(self._root) or not found.is_file():
                return None
            return self._open(found)
        except (OSError, ValueError):  # ValueError: a null byte
            return None
