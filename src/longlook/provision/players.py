"""Fetches players that real sites use, from packages of npm whose digests are pinned. Standard library only."""

import base64
import hashlib
import os
import shutil
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from longlook.core import MachineError, adapters_dir, cache_dir, content_hash, file_digest
from longlook.provision import build_steps
from longlook.provision.build_cache import filled

_HINT = "sudo apt-get install npm; packages come from the registry that npm is configured for"


@dataclass(frozen=True)
class Player:
    """A package of npm, and the one file of it that plays."""

    package: str
    version: str
    integrity: str  # of the package: base64 of its SHA-512
    script: str
    licence: str  # the file of it
    licence_name: str

    @property
    def label(self) -> str:
        """Package and version."""
        return f"{self.package} {self.version}"


PLAYERS: Mapping[str, Player] = {
    "shaka": Player(
        "shaka-player",
        "5.2.12",
        "vEsuVDI3+oLh+yqpjXexQZlg2XMUBI0VrqatDuKWacPaxAud6Uph5uCowUPLhUgNG5XKWCpoM4l1r8qYzWH+zg==",
        "dist/shaka-player.dash-es2021.js",
        "LICENSE",
        "Apache-2.0",
    ),
    "dash.js": Player(
        "dashjs",
        "5.2.1",
        "axcJmLeJCTJMLUfQRErUJB1KOiU5iHF+DMLBc3FKeox1HPYtGUQlC6Xm5Mm6vhBUR3CHHLIPOqw0JDIqMtP+Dw==",
        "dist/modern/umd/dash.all.min.js",
        "LICENSE.md",
        "BSD-3-Clause",
    ),
}
"""Values of the knob `player` of browsers. Both scripts stay outside of the repository."""

RULES: Mapping[str, tuple[str, ...]] = {"shaka": (), "dash.js": ("throughput", "bola")}
"""Player → the rules of a workload that may choose its rungs."""


def page_folder() -> Path:
    """Return the folder with the page in which players play, of the drivers of browsers."""
    return adapters_dir() / "lib" / "player"


def players() -> Path:
    """Return the folder with each player's NAME.js and the SHA-256 of it, NAME.sha256: from the cache, or fetched.

    Raise MachineError if npm is missing, or its registry has not the pinned packages.
    """
    return filled(folder(), _is_intact, _fetch)


def folder() -> Path:
    """Return where the players are, or would be."""
    pins = [(name, each.version, each.integrity, each.script) for name, each in PLAYERS.items()]
    return cache_dir() / "players" / content_hash(pins)


def are_fetched() -> bool:
    """Return whether `players` has nothing to fetch."""
    return _is_intact(folder())


def _is_intact(place: Path) -> bool:
    try:
        return all(file_digest(place / f"{name}.js") == (place / f"{name}.sha256").read_text() for name in PLAYERS)
    except OSError:
        return False


def _fetch(into: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise MachineError("npm is missing, which fetches the players of videos", _HINT)
    work = into / "work"
    for name, player in PLAYERS.items():
        work.mkdir()
        build_steps.run(
            (npm, "pack", "--loglevel=error", f"{player.package}@{player.version}"), cwd=work, env=os.environ
        )
        (package,) = work.glob("*.tgz")
        _check(player, package)
        with tarfile.open(package) as archive:
            for member, to in ((player.script, f"{name}.js"), (player.licence, f"{name}.LICENSE")):
                try:
                    found = archive.extractfile(f"package/{member}")
                except KeyError:
                    found = None
                if found is None:
                    raise MachineError(f"{player.label} has no file {member}", "report it: the pin is wrong")
                (into / to).write_bytes(found.read())
        (into / f"{name}.sha256").write_text(file_digest(into / f"{name}.js"))
        shutil.rmtree(work)


def _check(player: Player, package: Path) -> None:
    digest = base64.b64encode(hashlib.sha512(package.read_bytes()).digest()).decode()
    if digest != player.integrity:
        raise MachineError(
            f"the registry's {player.label} has the SHA-512 {digest}, and {player.integrity} is pinned",
            "do not trust that registry; name another to npm",
        )
