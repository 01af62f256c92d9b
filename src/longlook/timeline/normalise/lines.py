"""JSON lines of a stack's program (adapters/CONTRACT.md): read what is readable, account for the rest."""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from longlook.core import files


@dataclass
class Account:
    """The account of the records of one source; kept in the timeline's metadata."""

    present: bool = True
    read: int = 0  # records that became rows
    ignored: Counter[str] = field(default_factory=Counter)  # event → count: valid, but of no kind
    skipped: Counter[str] = field(default_factory=Counter)  # why a record could not be used → count

    def as_metadata(self) -> dict[str, Any]:
        """Return the account as plain data in a stable order."""
        return {
            "present": self.present,
            "read": self.read,
            "ignored": dict(sorted(self.ignored.items())),
            "skipped": dict(sorted(self.skipped.items())),
        }


Line = Mapping[str, Any]


class BadLineError(Exception):
    """A line of a known event lacks what its event needs; the text names it."""


def read_lines(path: Path, known: Mapping[str, Callable[[Line], None]]) -> Account:
    """Pass every line of a known event to its function; count unknown events, garbage and refused lines."""
    account = Account()
    try:
        content = files.read_bytes(path)
    except FileNotFoundError:
        return Account(present=False)
    for raw in content.split(b"\n"):  # as the laboratory reads them: a carriage return inside a line is a space
        if not raw.strip():
            continue
        line = _parse(raw)
        if line is None:
            account.skipped["not a JSON object with an event"] += 1
        elif line["event"] not in known:
            account.ignored[line["event"]] += 1
        else:
            try:
                known[line["event"]](line)
                account.read += 1
            except BadLineError as error:
                account.skipped[f"{line['event']}: {error}"] += 1
    return account


def _parse(raw: bytes) -> Line | None:
    try:
        line = json.loads(raw)
    except (ValueError, RecursionError):  # ValueError covers bad JSON and bad UTF-8
        return None
    return line if isinstance(line, dict) and isinstance(line.get("event"), str) else None


MAX_UNIX_NS = 2**62
"""Above this (year 2116) a stamp is garbage; differences of two stamps below it always fit 64 bits."""


def time_ns(line: Line, key: str) -> int:
    """Return a required stamp in ns since 1970. Raise BadLineError without one."""
    value = optional_time_ns(line, key)
    if value is None:
        raise BadLineError(f"no {key}")
    return value


def optional_time_ns(line: Line, key: str) -> int | None:
    """Return a stamp in ns since 1970, or None if the program gave none."""
    value = line.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < MAX_UNIX_NS:
        raise BadLineError(f"{key} is not a time in ns")
    return value


def text(line: Line, key: str) -> str | None:
    """Return a text, or None if it is absent or not a text."""
    value = line.get(key)
    return value if isinstance(value, str) else None


def count(line: Line, key: str) -> int | None:
    """Return a whole number of at least 0, or None."""
    value = line.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < MAX_UNIX_NS:
        raise BadLineError(f"{key} is not a count")
    return value
