"""The files that the server gives, mapped into memory so that ngtcp2 can point to what it has not sent."""

import mmap
import os
from pathlib import Path

from longlook_adapter.files import content_type

from ngtcp2_adapter.libraries import libc

_FAILED = 2**64 - 1


class File:
    """A file's bytes at an address in memory (None where it has none), until it is closed."""

    def __init__(self, path: Path) -> None:
        self.content_type = content_type(path)
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
        """Unmap the file; nothing may point to its memory any more."""
        if self.address is not None:
            libc.munmap(self.address, self.size)
            self.address = None
