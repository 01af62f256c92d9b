"""The registry of crates, by cargo.

No command of cargo lists all versions of a crate. So cargo reads the registry's index for a home folder of its own,
and what it keeps there has each version with its digest and the time of its publication.
"""

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from longlook.core import MachineError, adapter_from
from longlook.provision import cargo
from longlook.provision.crate_sources import RUST_HINT
from longlook.provision.registries.registry import Published, Registry, last_line, numbers_of

_ENTRY = re.compile(rb"\{[^\0]*\}")
_MANIFEST = '[package]\nname = "longlook-asks"\nversion = "0.0.0"\nedition = "2021"\n'
_LOCK = '[[package]]\nname = "{name}"\nversion = "{vers}"\nchecksum = "{cksum}"\n'


@dataclass(frozen=True)
class Crates(Registry):
    """A crate, and crates that are released together with it."""

    title: ClassVar[str] = "the registry of crates"

    def versions(self) -> Sequence[str]:
        """Return all versions that were not withdrawn."""
        return [entry["vers"] for entry in self._index(self.package) if not entry.get("yanked")]

    def find(self, version: str) -> Published | None:
        """Return a release, which may be withdrawn."""
        entry = _of_version(self._index(self.package), version)
        return None if entry is None else Published(version, _time(entry)[:10])

    def fetch(self, stack: str, version: str, into: Path) -> str:
        """Put the crates into a new folder, as their repository has them; return name, version and digest of each.

        A crate that belongs to it is the newest that had been published and fits then.
        """
        chosen = self._released_with(version)
        for entry in chosen:
            self._download(f"{entry['name']}@{entry['vers']}")
        with tempfile.TemporaryDirectory(prefix="longlook-crates-") as temporary:
            own = Path(temporary, "versions", version)
            own.mkdir(parents=True)
            (own / "Cargo.lock").write_text("".join(_LOCK.format_map(entry) for entry in chosen))
            with adapter_from(stack, Path(temporary)):
                cargo.unpack(stack, version, self.packages, into)
        return ", ".join(f"{entry['name']} {entry['vers']} sha256:{entry['cksum']}" for entry in chosen)

    def _released_with(self, version: str) -> list[Mapping[str, Any]]:
        main = _of_version(self._index(self.package), version)
        if main is None:
            raise MachineError(f"{self.title} has no {self.package} {version}", "name a version that it has")
        chosen = [main]
        for package in self.packages[1:]:
            required = [
                each["req"]
                for entry in chosen
                for each in entry["deps"]
                if (each.get("package") or each["name"]) == package and each.get("kind") != "dev"
            ]
            fitting = [
                entry
                for entry in (self._index(package) if required else ())
                if all(fits(entry["vers"], each) for each in required)
                and _time(entry) <= _time(main)
                and not entry.get("yanked")
            ]
            if fitting:
                chosen.append(max(fitting, key=lambda entry: numbers_of(entry["vers"])))
        return chosen

    def _index(self, package: str) -> list[Mapping[str, Any]]:
        """Return what the registry's index says of each version of a crate."""
        with tempfile.TemporaryDirectory(prefix="longlook-crates-") as temporary:
            home, asks = Path(temporary, "home"), Path(temporary, "asks")
            (asks / "src").mkdir(parents=True)
            home.mkdir()
            for settings in (cargo.cargo_home() / "config.toml", cargo.cargo_home() / "config"):
                if settings.is_file():
                    shutil.copyfile(settings, home / settings.name)
            (asks / "Cargo.toml").write_text(_MANIFEST)
            (asks / "src" / "lib.rs").touch()
            self._ask(("add", "--dry-run", package), asks, {"CARGO_HOME": str(home)})
            kept = sorted((home / "registry" / "index").glob(f"*/.cache/**/{package}"))
            if not kept:
                raise self.unreachable("cargo keeps its index in a form that is not known")
            return list(_entries(kept[0].read_bytes()))

    def _download(self, crate: str) -> None:
        """Let cargo fetch the archive of a crate, and compare it with the digest of the index."""
        with tempfile.TemporaryDirectory(prefix="longlook-crates-") as nothing:
            self._ask(("info", "--quiet", "--registry", "crates-io", crate), Path(nothing), {})

    def _ask(self, arguments: Sequence[str], cwd: Path, env: Mapping[str, str]) -> None:
        try:
            done = subprocess.run(
                ("cargo", *arguments), cwd=cwd, env={**os.environ, **env}, capture_output=True, text=True, check=False
            )
        except FileNotFoundError as error:
            raise MachineError("cargo is not installed", RUST_HINT) from error
        if done.returncode != 0:
            raise self.unreachable(last_line(done.stderr))


def fits(version: str, required: str) -> bool:
    """Return whether a version meets a requirement such as `^0.11.12`; other forms than that are met by none."""
    least = numbers_of(required.removeprefix("^"))
    own = numbers_of(version)
    if not least or re.search(r"[^\d.^]", f"{version}{required}", re.ASCII):
        return False
    fixed = next((at for at, number in enumerate(least) if number), len(least) - 1) + 1
    return own >= least and own[:fixed] == least[:fixed]


def _entries(kept: bytes) -> Iterator[Mapping[str, Any]]:
    for text in kept.split(b"\0"):
        if _ENTRY.fullmatch(text):
            entry = json.loads(text)
            if {"name", "vers", "cksum", "deps"} <= entry.keys():
                yield entry


def _of_version(entries: Sequence[Mapping[str, Any]], version: str) -> Mapping[str, Any] | None:
    return next((entry for entry in entries if entry["vers"] == version), None)


def _time(entry: Mapping[str, Any]) -> str:
    return str(entry.get("pubtime") or "")
