"""A program of Debian that an adapter runs, from packages unpacked beside it."""

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from longlook_adapter.errors import AdapterError

_LIBRARIES = ("usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu")
_LOADER = "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"
"""Of the C library. Packages of a release newer than the machine's have their own, which loads the program."""


class Packaged:
    """A program below the folder `root` beside the adapter's own."""

    def __init__(self, adapter: Path, relative: str) -> None:
        self.root = adapter.resolve().parent / "root"
        self.path = str(self.root / relative)
        self._libraries = ":".join(str(self.root / folder) for folder in _LIBRARIES)
        self._own_loader = (self.root / _LOADER).is_file()

    @property
    def argv(self) -> tuple[str, ...]:
        """Return the beginning of its call."""
        if not self._own_loader:
            return (self.path,)
        return (str(self.root / _LOADER), "--library-path", self._libraries, self.path)

    @property
    def env(self) -> Mapping[str, str]:
        """Return the environment in which it finds its own libraries, not the machine's."""
        return {} if self._own_loader else {"LD_LIBRARY_PATH": self._libraries}

    def version(self) -> str:
        """Return the version that it reports; AdapterError where it does not run."""
        try:
            done = subprocess.run((*self.argv, "-v"), env=self.env, capture_output=True, text=True, check=False)
        except OSError as error:
            raise AdapterError(f"{self.path} does not run: {error}") from error
        found = re.search(r"(?:/|version )(\d+\.\d+\.\d+)", done.stdout + done.stderr)
        if found is None:
            raise AdapterError(f"{self.path} does not report its version: {done.stderr.strip()}")
        return found[1]

    def expect(self, version: str) -> None:
        """Raise AdapterError unless it is this version."""
        if (found := self.version()) != version:
            raise AdapterError(f"Debian has {found} now, not {version}")
