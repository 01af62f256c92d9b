"""Findings in the cache, so that tables can be made of what was seen: one file for each program and engine."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from longlook.conformance import Report
from longlook.core import codec, paths
from longlook.core.run_folder import write_json


def root() -> Path:
    """The folder of all saved reports."""
    return paths.cache_dir() / "conformance"


def save(report: Report) -> Path:
    """Keep a report under its program's digest; the newest of a program stays."""
    key = report.digest or "not-installed"
    folder = root() / report.stack / report.version
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{key[:16]}-{report.engine}.json"
    write_json(path, codec.encode(report))
    return path


def saved() -> list[Report]:
    """The newest report of every version, by stack and version; what is no report of ours is left out."""
    newest: dict[tuple[str, str], Report] = {}
    for report in _all():
        key = (report.stack, report.version)
        if key not in newest or newest[key].made_unix_s <= report.made_unix_s:
            newest[key] = report
    return [newest[key] for key in sorted(newest)]


def write_reports(reports: Sequence[Report], path: Path) -> None:
    """All of a session in one file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, codec.encode(tuple(reports)))


def _all() -> Iterator[Report]:
    for file in sorted(root().glob("*/*/*.json")):
        try:
            yield codec.decode(Report, json.loads(file.read_text()))
        except (OSError, ValueError, KeyError, TypeError):
            continue
