"""The files that a server gives, as they are, mapped into memory so that ngtcp2 can point to what it has not sent."""

import mmap
import os
from pathlib import Path
from urllib.parse import unquote, urlsplit

from ngtcp2_adapter.libraries import libc

_FAILED = 2**64 - 1
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


class File:
    """A file's bytes at an address in memory (None where it has none), until it is closed."""

    def __init__(self, path: Path) -> None:
        self.content_type = _TYPES.get(path.suffix.lower(), "application/octet-stream")
        descriptor = os.open(path, os.O_RDONLY)
        try:
            self.size = os.fstat(descriptor).st_size
            self.address: int | None = None
            if self.size > 0:
                self.address = libc.mmap(None, self.size, mmap.PROT_READ, mmap.MAP_SHARED, descriptor, 0)
        finally:
            os.close(descriptor)
        if self.address == _FAILED:
            raise OSError(f"{path} cannot be mapped")

    def close(self) -> None:
        """Give the memory back; nothing may point to it any more."""
        if self.address is not None:
            libc.munmap(self.address, self.size)
            self.address = None


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
            return File(found)
        except (OSError, ValueError):  # ValueError: a null byte
            return None
