"""The proxy of Go's modules, by the go command, which compares archives with the database of checksums."""

import json
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from longlook.core import MachineError
from longlook.provision.go import GO_HINT, download, environment, unpack_go
from longlook.provision.registries.registry import Published, Registry, last_line


@dataclass(frozen=True)
class GoModules(Registry):
    """A module, with the names that it had before."""

    title: ClassVar[str] = "the proxy of Go's modules"

    def versions(self) -> Sequence[str]:
        """Return all versions that the proxy lists under any name of the module."""
        found: list[str] = []
        for number, module in enumerate(self.packages):
            facts, said = _listed("-versions", f"{module}@latest")
            if facts is None and number == 0:
                raise self.unreachable(said)
            found += (facts or {}).get("Versions", ())
        return [version.removeprefix("v") for version in found]

    def find(self, version: str) -> Published | None:
        """Return a release; the proxy may have one that it does not list."""
        found = self._facts(version)
        if found is None:
            self.versions()  # which says so if nothing can be asked
            return None
        return Published(version, str(found.get("Time", ""))[:10])

    def fetch(self, stack: str, version: str, into: Path) -> str:
        """Put the files of the module into a new folder; return its name, its version and its checksum."""
        facts = self._facts(version)
        if facts is None:
            raise self.unreachable(f"it has no {version} of {stack}")
        module = f"{facts['Path']}@v{version}"
        with tempfile.TemporaryDirectory(prefix="longlook-go-") as nothing:
            checksum = download(module, Path(nothing), environment(None))["Sum"]
            unpack_go(Path(nothing), module, None, into)
        return f"{module} {checksum}"

    def _facts(self, version: str) -> dict[str, Any] | None:
        """Return what the proxy says of a version under the first name that has it."""
        for module in self.packages:
            facts, _ = _listed(f"{module}@v{version}")
            if facts is not None and facts["Version"] == f"v{version}":
                return facts
        return None


def _listed(*arguments: str) -> tuple[dict[str, Any] | None, str]:
    """Return what `go list` prints about a module, None if it fails, and what it says then."""
    env = {**environment(None), "GOFLAGS": "-mod=mod", "GOWORK": "off"}
    with tempfile.TemporaryDirectory(prefix="longlook-go-") as nothing:
        try:
            done = subprocess.run(
                ("go", "list", "-m", "-json", *arguments), cwd=nothing, env=env, capture_output=True, text=True,
                check=False,
            )  # fmt: skip
        except FileNotFoundError as error:
            raise MachineError("Go is not installed", GO_HINT) from error
    return (json.loads(done.stdout), "") if done.returncode == 0 else (None, last_line(done.stderr))
