"""The components of a run's programs: kept in the run folder when the run begins, and written as CycloneDX.

The run folder keeps them, because the lock files of a checkout may have changed by the time somebody asks.
"""

import uuid
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from longlook.core import Component, InputError, Made, RunFolder, codec, files, write_json

COMPONENTS = "components.json"
"""The file of a run folder with everything that its programs are made of."""

SPEC_VERSION = "1.7"
_KERNEL = "kernel"
_PURL_TYPES = {
    "cargo": "cargo",
    "golang": "golang",
    "pypi": "pypi",
    "npm": "npm",
    "deb": "deb/debian",
    "generic": "generic",
}
_HASHES = {"sha256": "SHA-256", "sha512": "SHA-512"}
"""Digests of one file → their names in CycloneDX."""


def keep_components(folder: RunFolder, made: Iterable[Made]) -> None:
    """Add to the run's record what programs are made of; a program of another digest, in a resumed run, is another."""
    known = {(each.name, each.sha256): each for each in read_components(folder)}
    known |= {(each.name, each.sha256): each for each in made}
    write_json(folder.path / COMPONENTS, codec.encode(list(known.values())))


def bill_of_materials(folder: RunFolder) -> dict[str, Any]:
    """Return the software bill of materials of a run in CycloneDX; InputError if the run has no record of it.

    The same record gives the same text.
    """
    _ = folder.study, folder.plan  # which raise where they are not as they were: the bill would be of another run
    made = read_components(folder)
    if not made:
        raise InputError(
            f"{folder.path} does not say what its programs are made of: it was begun by an earlier Longlook",
            "run the study again; its trials come from the cache",
        )
    manifest = folder.manifest
    parts = {_purl(part): part for each in made for part in each.components or ()}
    unknown = [_reference(each) for each in made if each.components is None]
    run = {"type": "data", "bom-ref": "run", "name": str(manifest["study"]), "version": str(manifest["plan_hash"])}
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": SPEC_VERSION,
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(manifest["started_unix_s"], UTC).isoformat().replace("+00:00", "Z"),
            "tools": {"components": [_tool(each) for each in made if each.sha256 is None]},
            "component": run,
        },
        "components": [*map(_program, made), *(_library(purl, parts[purl]) for purl in sorted(parts))],
        "dependencies": [
            {"ref": "run", "dependsOn": sorted(map(_reference, made))},
            *({"ref": _reference(each), "dependsOn": sorted(set(_purls(each)))} for each in made),
        ],
        **({"compositions": [{"aggregate": "unknown", "dependencies": unknown}]} if unknown else {}),
    }
    serial = uuid.uuid5(uuid.NAMESPACE_OID, codec.content_hash(bill, 64))
    return {**bill, "serialNumber": f"urn:uuid:{serial}"}


def read_components(folder: RunFolder) -> list[Made]:
    """Return what the programs of a run are made of; nothing if the run has no record of it. InputError if the record
    is damaged.
    """
    file = folder.path / COMPONENTS
    try:
        return [codec.decode(Made, each) for each in files.read_json(file)]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{file} is damaged: {error}", "restore it from a copy, or run the study again") from error


def _reference(made: Made) -> str:
    return f"{made.name} {(made.sha256 or '')[:16]}".strip()


def _tool(made: Made) -> dict[str, str]:
    return {"type": "application", "name": made.name, "version": made.version}


def _program(made: Made) -> dict[str, Any]:
    properties = [("built-by", made.built_by), *(("not-as-pinned", other) for other in made.deviations)]
    return {
        "type": "operating-system" if made.name == _KERNEL else "application",
        "bom-ref": _reference(made),
        "name": made.name,
        "version": made.version,
        **({"hashes": [{"alg": "SHA-256", "content": made.sha256}]} if made.sha256 else {}),
        **_licences(made.licence),
        **_properties(properties),
    }


def _library(purl: str, part: Component) -> dict[str, Any]:
    """Return a component; digests that are not of one file (of Go's modules, of a choice of files) are properties."""
    kind, _, digest = part.digests[0].partition(":") if len(part.digests) == 1 else ("", "", "")
    exact = kind in _HASHES
    others = () if exact else part.digests
    return {
        "type": "library",
        "bom-ref": purl,
        "name": part.name,
        "version": part.version,
        **({"hashes": [{"alg": _HASHES[kind], "content": digest}]} if exact else {}),
        **_licences(part.licence),
        "purl": purl,
        **_properties([("vouched-by", part.vouched_by), *(("digest", other) for other in others)]),
    }


def _licences(licence: str) -> Mapping[str, Any]:
    return {"licenses": [{"license": {"id": licence}}]} if licence else {}


def _properties(named: Iterable[tuple[str, str]]) -> Mapping[str, Any]:
    found = [{"name": f"longlook:{name}", "value": value} for name, value in named if value]
    return {"properties": found} if found else {}


def _purls(made: Made) -> Iterator[str]:
    return map(_purl, made.components or ())


def _purl(part: Component) -> str:
    """Return the package URL of a component, which names it in every tool."""
    name = part.name.lower() if part.ecosystem == "golang" else part.name
    return f"pkg:{_PURL_TYPES[part.ecosystem]}/{quote(name)}@{quote(part.version, safe='')}"
