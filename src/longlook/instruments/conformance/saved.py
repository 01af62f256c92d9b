"""Saves reports in the cache, from which the documents' tables are made: one file for each program and engine."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from longlook.core import codec, files, paths, write_json
from longlook.instruments.conformance.checks import Report


def root() -> Path:
    """Return the folder of all saved reports."""
    return paths.cache_dir() / "conformance"


def save(report: Report) -> Path:
    """Save a report under its program's digest, over an older one of the same program, and return its file."""
    key = report.digest or "not-installed"
    folder = root() / report.stack / report.version
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{key[:16]}-{report.engine}.json"
    write_json(path, codec.encode(report))
    return path


def saved() -> list[Report]:
    """Return the newest report of every version, by stack and version; files that are not reports are left out."""
    newest: dict[tuple[str, str], Report] = {}
    for report in _all():
        key = (report.stack, report.version)
        if key not in newest or newest[key].made_unix_s <= report.made_unix_s:
            newest[key] = report
    return [newest[key] for key in sorted(newest)]


def write_reports(reports: Sequence[Report], path: Path) -> None:
    """Write all reports of a session into one file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, codec.encode(tuple(reports)))


def _all() -> Iterator[Report]:
    for file in sorted(root().glob("*/*/*.json")):
        try:
            yield codec.decode(Report, files.read_json(file))
        except (OSError, ValueError, KeyError, TypeError):
            continue
