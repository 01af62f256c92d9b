"""Debian's archive, by apt, with a state of its own: the newest release, which it calls unstable."""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from longlook.core import MachineError
from longlook.provision.debian import open_archive
from longlook.provision.registries.registry import Published, Registry

_NEWEST = "sid"


@dataclass(frozen=True)
class DebianArchive(Registry):
    """A package of Debian. Indexes have one version of it, and no date."""

    title: ClassVar[str] = "Debian's archive"
    has_sources: ClassVar[bool] = False
    lists_all: ClassVar[bool] = False

    def versions(self) -> Sequence[str]:
        """Return the upstream version of the package in Debian's newest release."""
        with tempfile.TemporaryDirectory(prefix="longlook-debian-") as temporary:
            try:
                found = open_archive(_NEWEST, Path(temporary), self.package).show(self.package)
            except MachineError as error:
                raise self.unreachable(error.message.splitlines()[-1]) from error
        return [] if found is None else [upstream_version(found.version)]

    def find(self, version: str) -> Published | None:
        """Return the release if it is the newest."""
        return Published(version, "") if version in self.versions() else None

    def fetch(self, stack: str, version: str, into: Path) -> str:
        """Raise MachineError: packages are pinned, each with all that it needs."""
        raise MachineError(f"{stack} {version} is not built from sources of {self.title}", "name one of its versions")


def upstream_version(version: str) -> str:
    """Return a version without Debian's epoch and revision."""
    return version.partition(":")[2].rpartition("-")[0] if ":" in version else version.rpartition("-")[0] or version
