"""Reads lock files: of cargo, of Python's packages, of Go's modules."""

import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from longlook.core import Component, adapters_dir

_CRATES = "registry+"  # what the source of a crate from a registry begins with
_REQUIREMENT = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==(\S+)")
_HASH = re.compile(r"--hash=(sha256:[0-9a-f]{64})")


def in_repository(file: Path) -> str:
    """Return the words for a file of the repository that vouches for digests."""
    root = adapters_dir().parent
    return f"{file.relative_to(root) if file.is_relative_to(root) else file} in the repository"


def crates(lock: Path, roots: Iterable[str] = ()) -> tuple[Component, ...]:
    """Return the crates of a Cargo.lock: all, or the dependencies of packages of the workspace alone.

    Crates that only tests or other systems use are among them: a lock file does not tell.
    """
    packages = tomllib.loads(lock.read_text())["package"]
    chosen = _behind(packages, roots) if roots else packages
    return tuple(
        Component("cargo", each["name"], each["version"], (f"sha256:{each['checksum']}",), in_repository(lock))
        for each in chosen
        if each.get("source", "").startswith(_CRATES)
    )


def _behind(packages: list[dict[str, Any]], roots: Iterable[str]) -> list[dict[str, Any]]:
    found: dict[tuple[str, str], dict[str, Any]] = {}
    waiting = list(roots)
    while waiting:
        name, _, version = waiting.pop().partition(" ")  # the version stands there where a name has several
        for package in packages:
            key = package["name"], package["version"]
            if package["name"] == name and version.split(" ")[0] in ("", package["version"]) and key not in found:
                found[key] = package
                waiting += package.get("dependencies", ())
    return [found[key] for key in sorted(found)]


def requirements(lock: Path) -> dict[tuple[str, str], Component]:
    """Return the packages of a requirements file with hashes, by normalised name and version.

    A package may have several versions there, each for other systems or versions of Python.
    """
    found: dict[tuple[str, str], Component] = {}
    for stanza in re.split(r"\n(?=\S)", lock.read_text()):
        named = _REQUIREMENT.match(stanza)
        if named:
            hashes = tuple(_HASH.findall(stanza))
            found[normal(named[1]), named[2]] = Component(
                "pypi", normal(named[1]), named[2], hashes, in_repository(lock)
            )
    return found


def locked(name: str, version: str, packages: Mapping[tuple[str, str], Component]) -> Component:
    """Return an installed Python package as a lock file has it, or as one that nobody vouches for."""
    name = normal(name)
    return packages.get((name, version)) or Component("pypi", name, version, (), "nobody: the lock file lacks it")


def normal(name: str) -> str:
    """Return the name of a Python package as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def modules(printed: str, sums: Mapping[tuple[str, str], str], vouched_by: str) -> tuple[Component, ...]:
    """Return the modules that `go version -m` prints about a program.

    `sums` has the checksums of a go.sum, for modules that were patched and so are printed without one.
    """
    found = []
    for line in printed.splitlines():
        kind, *facts = line.strip().split("\t")
        if kind == "dep":
            name, version = facts[:2]
            checksum = next((fact for fact in facts[2:] if fact), "") or sums.get((name, version), "")
            found.append(Component("golang", name, version, (checksum,) if checksum else (), vouched_by))
    return tuple(found)


def checksums(go_sum: Path) -> dict[tuple[str, str], str]:
    """Return the checksums of the modules that a go.sum names, by name and version."""
    if not go_sum.is_file():  # without dependencies there are no sums
        return {}
    lines = (line.split() for line in go_sum.read_text().splitlines() if line.strip())
    return {(name, version): checksum for name, version, checksum in lines}
