"""The layout of a bundle: what is in which file, and the facts about the bundle itself.

Unpacked, a bundle is a run folder, with some files more. So whatever reads run folders reads it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from longlook.core import SCHEMA_VERSION, InputError, codec, files

FORMAT = 1
"""The version of the layout. A bundle of a newer one is refused."""

SUFFIX = ".longlook.zip"
SUMS = "SHA256SUMS"
"""The digest of every other file, as `sha256sum -c` reads it."""
ABOUT, CRATE, README = "bundle.json", "ro-crate-metadata.json", "README.md"
PROGRAMS = "programs"
"""The folder of programs, one folder for each digest."""

_HINT = "get the bundle again, or ask whoever made it"


@dataclass(frozen=True)
class CarriedProgram:
    """A program in a bundle: its name as the manifest has it, its digest, and its file."""

    name: str
    sha256: str
    file: str


@dataclass(frozen=True)
class About:
    """The facts about a bundle (`bundle.json`). `results` is the digest of the exact trials, if there are any."""

    format: int
    longlook: str
    schema_version: int
    study: str
    plan_hash: str
    trials: int
    exact: int
    results: str | None
    artefacts: bool
    programs: tuple[CarriedProgram, ...] = ()
    without_paths: tuple[str, ...] = ()  # files from which paths of the machine were cut
    not_carried: Mapping[str, str] = field(default_factory=dict)  # program → why it is not in the bundle


def about_of(folder: Path) -> About | None:
    """Return the facts about the bundle that a run folder was unpacked from; None if it is no bundle's."""
    try:
        return read_about(files.read_json(folder / ABOUT))
    except FileNotFoundError:
        return None


def read_about(data: Any) -> About:
    """Return the facts about a bundle from JSON; InputError if they are of a newer Longlook, or damaged."""
    if not isinstance(data, dict) or not isinstance(data.get("format"), int):
        raise InputError(f"{ABOUT} of the bundle is damaged", _HINT)
    made_by = str(data.get("longlook", "a newer version"))[:40]
    if data["format"] > FORMAT or (isinstance(schema := data.get("schema_version"), int) and schema > SCHEMA_VERSION):
        raise InputError(
            f"the bundle was made by Longlook {made_by}, in a format that this version does not know",
            f"install that version: pip install 'longlook=={made_by}'",
        )
    try:
        return codec.decode(About, data)
    except (ValueError, TypeError) as error:
        raise InputError(f"{ABOUT} of the bundle is damaged: {error}", _HINT) from error
