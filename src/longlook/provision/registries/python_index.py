"""The index of Python's packages, by pip, which lists versions, and by uv, which knows dates and digests."""

import json
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from longlook.core import adapter_from, adapters_dir
from longlook.provision.python import environment_of_tools, find_uv, unpack
from longlook.provision.python_tree import TOOLS, unpack_release
from longlook.provision.registries.registry import Published, Registry, last_line

_PROJECT = """\
[project]
name = "longlook-asks"
version = "0"
requires-python = ">={python}"
dependencies = ["{package}=={version}; python_version >= '4'"]
"""
"""A project that needs the package with a Python to come: so files for any Python are found, not for this one alone."""


@dataclass(frozen=True)
class PythonIndex(Registry):
    """A package of Python."""

    title: ClassVar[str] = "the index of Python's packages"

    def versions(self) -> Sequence[str]:
        """Return all versions that were not withdrawn."""
        with tempfile.TemporaryDirectory(prefix="longlook-python-") as temporary:
            tool = unpack(_pip(), Path(temporary))
            done = subprocess.run(
                (sys.executable, "-m", "pip", "index", "versions", "--json", "--disable-pip-version-check",
                 "--ignore-requires-python", self.package),
                cwd=temporary, env={**environment_of_tools(), "PYTHONPATH": str(tool)}, capture_output=True, text=True,
                check=False,
            )  # fmt: skip
        if done.returncode != 0:
            raise self.unreachable(last_line(done.stderr))
        found: list[str] = json.loads(done.stdout)["versions"]
        return found

    def find(self, version: str) -> Published | None:
        """Return a release."""
        facts = self._facts(version)
        if facts is None:
            return None
        files = (facts.get("sdist") or {}, *facts.get("wheels", ()))
        return Published(
            version, min((str(file["upload-time"]) for file in files if "upload-time" in file), default="")[:10]
        )

    def fetch(self, stack: str, version: str, into: Path) -> str:
        """Put the package's sources into a new folder; return name, version and digest."""
        facts = self._facts(version) or {}
        if "sdist" not in facts:
            raise self.unreachable(f"it has no sources of {self.package} {version}")
        digest = facts["sdist"]["hash"]
        with tempfile.TemporaryDirectory(prefix="longlook-python-") as temporary:
            locks = Path(temporary, "locks")
            locks.mkdir()
            (locks / f"{version}.txt").write_text(f"{self.package}=={version} --hash={digest}\n")
            with adapter_from(stack, Path(temporary)):
                unpack_release(stack, version, into)
        return f"{self.package} {version} {digest}"

    def _facts(self, version: str) -> Mapping[str, Any] | None:
        return _locked(self, version)


@cache
def _locked(index: PythonIndex, version: str) -> Mapping[str, Any] | None:
    """Return what a lock of uv says of a version: its files, with their digests and times; None if there is none."""
    project = _PROJECT.format(
        python=f"{sys.version_info.major}.{sys.version_info.minor}", package=index.package, version=version
    )
    with tempfile.TemporaryDirectory(prefix="longlook-python-") as temporary:
        Path(temporary, "pyproject.toml").write_text(project)
        done = subprocess.run(
            (find_uv(), "lock", "--quiet"), cwd=temporary, env=dict(os.environ), capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        if done.returncode != 0:
            if version in index.versions():
                raise index.unreachable(last_line(done.stderr))
            return None
        packages: list[dict[str, Any]] = tomllib.loads(Path(temporary, "uv.lock").read_text())["package"]
    return next(each for each in packages if each["name"] == index.package)


def _pip() -> str:
    """Return the pinned pip, as a line of a lock file."""
    text = (adapters_dir() / TOOLS).read_text().replace("\\\n", " ")
    return next(line for line in text.splitlines() if line.startswith("pip=="))
