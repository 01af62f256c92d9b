"""Packages of Debian that the repository pins: version and digest, fetched for as long as any mirror has them.

A mirror keeps what its current indexes name. The pinned version is asked for first, in the signed index and, if that
has moved on, at its place in the archive, and its digest vouches for it. The newest version of the suite is taken only
if the mirror no longer has the pinned one: the caller says so, records it (`Taken.record`) and marks the things that it
is used for.

A file of pins has one line for each package: name, version, architecture, bytes, SHA-256, place in the archive.
`python -m scripts.pin_packages` writes it.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longlook.core import MachineError

if TYPE_CHECKING:
    from longlook.provision.apt import Package, PrivateApt

MIRROR = "name a current mirror of Debian in this machine's package sources"
RECORD = "packages.json"
"""The file of a built folder that records which packages it was made of."""


@dataclass(frozen=True)
class Taken:
    """A package that was fetched, and the pinned package, which differs only if the mirror no longer has it."""

    package: "Package"
    pinned: "Package"
    file: Path

    @property
    def deviation(self) -> str | None:
        """Return what is not as pinned, as a clause; None if everything is."""
        return deviation(self.record)

    @property
    def record(self) -> dict[str, Any]:
        """Return the facts that are kept: `name`, `version`, `sha256`, and `instead_of` with the pin's facts."""
        facts = identity(self.package)
        return facts if self.package.sha256 == self.pinned.sha256 else {**facts, "instead_of": identity(self.pinned)}


def identity(package: "Package") -> dict[str, str]:
    """Return name, version, architecture and digest of a package."""
    return {name: getattr(package, name) for name in ("name", "version", "architecture", "sha256")}


def deviation(record: Mapping[str, Any]) -> str | None:
    """Return what a record of a package says that is not as pinned; None if everything is."""
    pinned = record.get("instead_of")
    if pinned is None:
        return None
    return f"{record['name']} {record['version']} instead of the pinned {pinned['name']} {pinned['version']}"


def read_pins(file: Path) -> list["Package"]:
    """Return the packages that a file of pins names; raise MachineError if it cannot be read."""
    from longlook.provision.apt import Package  # not at the top: a guest reads the declarations of stacks

    try:
        lines = [line.split() for line in file.read_text().splitlines() if line and not line.startswith("#")]
        return [
            Package(name, version, architecture, int(size), sha256, path=path)
            for name, version, architecture, size, sha256, path in lines
        ]
    except (OSError, ValueError) as error:
        raise MachineError(f"the pinned packages cannot be read from {file}: {error}", "restore that file") from error


def pin_lines(packages: Iterable["Package"]) -> str:
    """Return the text of a file of pins."""
    head = "# Written by `python -m scripts.pin_packages`: package, version, architecture, bytes, SHA-256, place.\n"
    return head + "".join(
        f"{each.name} {each.version} {each.architecture} {each.size} {each.sha256} {each.path}\n" for each in packages
    )


def fetch(
    apt: "PrivateApt",
    pin: "Package",
    into: Path,
    say: Callable[[str], None],
    newer: Callable[["PrivateApt"], "Package | None"] | None = None,
) -> Taken:
    """Fetch a pinned package into a folder, or its replacement if the mirror no longer has it.

    `newer` finds the replacement, by default the suite's newest of the same name. Raise MachineError without a
    replacement, if the signed index gives the pinned version another digest, and if a download fails.
    """
    listed = apt.show(pin.name, pin.version)
    if listed is not None and listed.sha256 != pin.sha256:
        raise MachineError(
            f"the mirror's {pin.name} {pin.version} has the SHA-256 {listed.sha256}, and {pin.sha256} is pinned",
            "do not trust that mirror; use another in this machine's package sources",
        )
    if listed is not None:
        return Taken(pin, pin, apt.download(pin, into, say))
    file = apt.download_unlisted(pin, into, say)
    if file is not None:
        return Taken(pin, pin, file)
    found = newer(apt) if newer else apt.show(pin.name)
    if found is None:
        raise MachineError(f"the mirror has neither {pin.name} {pin.version} nor what could take its place", MIRROR)
    say(f"WARNING: the mirror has {pin.name} {pin.version} no more; taking {found.name} {found.version} instead")
    return Taken(found, pin, apt.download(found, into, say))


def write_record(taken: Sequence[Taken], folder: Path) -> None:
    """Record in a built folder which packages it was made of."""
    (folder / RECORD).write_text(json.dumps([each.record for each in taken], indent=1) + "\n")


def read_record(folder: Path) -> list[dict[str, Any]]:
    """Return the records of the packages that a built folder was made of; empty if it has none."""
    try:
        found: list[dict[str, Any]] = json.loads((folder / RECORD).read_text())
    except FileNotFoundError:
        return []
    return found
