"""The RO-Crate of a bundle (`ro-crate-metadata.json`): what the files are, for archives and committees. Pure.

It follows RO-Crate 1.1 and the profile Process Run Crate 0.5. The run is its one action.
The study is the action's object. Longlook is its instrument. The tables and the report are its results.
"""

import mimetypes
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from longlook.core import RunFolder, Study
from longlook.instruments.bundle.layout import About

CONTEXT = "https://w3id.org/ro/crate/1.1/context"
SPECIFICATION = "https://w3id.org/ro/crate/1.1"
PROFILE = "https://w3id.org/ro/wfrun/process/0.5"
_SPDX = "https://spdx.org/licenses/"
_KINDS = {
    ".parquet": "application/vnd.apache.parquet",
    ".jsonl": "application/jsonl",
    ".bin": "application/octet-stream",
    ".qlog": "application/qlog+json",
    ".sqlog": "application/qlog+json-seq",
    ".csv": "text/csv",
    ".md": "text/markdown",
    ".har": "application/json",
}
_SHOWN_RESULTS = ("report/index.html", "samples.parquet", "estimates.parquet", "claims.json")
_ABOUT = {
    "study.json": "The study as it was planned: arms, factors, network, workload, contrasts, claims",
    "plan.json": "Every trial, with all of its settings",
    "manifest.json": "What was run, where, with which programs, by digest",
    "components.json": "What the programs are made of, by digest",
    "strata.json": "The patterns of losses, with their probabilities",
    "samples.parquet": "A row for each attempt and metric",
    "estimates.parquet": "A row for each contrast and cell: effect, interval, verdict",
    "claims.json": "Published values beside what was found",
    "seals.jsonl": "The digest of each record of a trial, and of each table",
    "report/index.html": "The report",
    "README.md": "What this bundle is, and how to check it",
    "bundle.json": "The format of this bundle, and what it leaves out",
}


@dataclass(frozen=True)
class Person:
    """An author: a name, and an address such as an ORCID, if there is one."""

    name: str
    address: str = ""


def parse_person(text: str) -> Person:
    """Return the author of a text `Name` or `Name <https://orcid.org/…>`."""
    found = re.fullmatch(r"\s*([^<>]+?)\s*(?:<\s*([^<>\s]+)\s*>)?\s*", text)
    return Person(found[1], found[2] or "") if found else Person(text.strip())


def crate(
    folder: RunFolder, about: About, sizes: Mapping[str, tuple[int, str]], authors: Sequence[Person], licence: str
) -> dict[str, Any]:
    """Return the metadata of a bundle; `sizes` has the bytes and the SHA-256 of each of its files."""
    study, manifest = folder.study, folder.manifest
    ended = _moment(manifest.get("finished_unix_s", manifest["started_unix_s"]))
    people = [_person(number, person) for number, person in enumerate(authors, 1)]
    programs = list(_programs(manifest["programs"]))
    results = [{"@id": name} for name in _SHOWN_RESULTS if name in sizes]
    action = {
        "@id": "#run",
        "@type": "CreateAction",
        "name": f"Run of the study {study.id}",
        "startTime": _moment(manifest["started_unix_s"]),
        "endTime": ended,
        "instrument": {"@id": "#longlook"},
        "object": [{"@id": "study.json"}, *({"@id": each["@id"]} for each in programs)],
        "result": results,
        **({"agent": [{"@id": each["@id"]} for each in people]} if people else {}),
    }
    root = {
        "@id": "./",
        "@type": "Dataset",
        "name": study.title,
        "description": _description(study, about),
        "datePublished": ended,
        "conformsTo": {"@id": PROFILE},
        "mainEntity": {"@id": "study.json"},
        "hasPart": [{"@id": name} for name in sizes],
        "mentions": {"@id": "#run"},
        **({"author": [{"@id": each["@id"]} for each in people]} if people else {}),
        **({"license": {"@id": _licence_id(licence)}} if licence else {}),
    }
    longlook = {
        "@id": "#longlook",
        "@type": "SoftwareApplication",
        "name": "Longlook",
        "version": about.longlook,
        "softwareVersion": about.longlook,
    }
    licences = [{"@id": _licence_id(licence), "@type": "CreativeWork", "name": licence}] if licence else []
    metadata = {
        "@id": "ro-crate-metadata.json",
        "@type": "CreativeWork",
        "conformsTo": [{"@id": SPECIFICATION}],
        "about": {"@id": "./"},
    }
    profile = {"@id": PROFILE, "@type": "CreativeWork", "name": "Process Run Crate", "version": "0.5"}
    others = [root, profile, action, longlook, *programs, *people, *licences]
    context = [CONTEXT, {"sha256": "https://schema.org/sha256"}]
    return {"@context": context, "@graph": [metadata, *others, *(_file(name, *sizes[name]) for name in sizes)]}


def _description(study: Study, about: About) -> str:
    exact = f"; {about.exact} of them are exact: the same programs give the same bytes" if about.exact else ""
    return f"{study.question} A run of {about.trials} trials by Longlook{exact}. longlook verify checks this bundle."


def _moment(unix_s: float) -> str:
    return datetime.fromtimestamp(unix_s, UTC).isoformat().replace("+00:00", "Z")


def _person(number: int, person: Person) -> dict[str, str]:
    is_link = person.address.startswith(("https://", "http://"))
    email = {"email": person.address} if person.address and not is_link else {}
    return {"@id": person.address if is_link else f"#author-{number}", "@type": "Person", "name": person.name, **email}


def _programs(digests: Mapping[str, str]) -> Iterator[dict[str, str]]:
    for label, digest in digests.items():
        name, _, version = label.partition("@")
        described = {"version": version, "softwareVersion": version} if version else {}
        yield {"@id": f"#program-{label}", "@type": "SoftwareApplication", "name": name, **described, "sha256": digest}


def _licence_id(licence: str) -> str:
    return licence if licence.startswith(("https://", "http://")) else f"{_SPDX}{licence}"


def _file(name: str, size_bytes: int, digest: str) -> dict[str, Any]:
    suffix = f".{name.rpartition('.')[2]}"
    kind = _KINDS.get(suffix) or mimetypes.types_map.get(suffix, "application/octet-stream")
    types = ["File", "SoftwareSourceCode"] if name == "study.json" else "File"
    return {
        "@id": name,
        "@type": types,
        "name": name,
        **({"description": _ABOUT[name]} if name in _ABOUT else {}),
        "encodingFormat": kind,
        "contentSize": str(size_bytes),
        "sha256": digest,
    }
