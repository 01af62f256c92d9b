"""TOML files that people write: read, and held within limits before anything looks at their meaning.

Whatever passes has few levels and whole numbers of 64 bits, so that later stages need no guards of their own.
"""

import math
import tomllib
from collections.abc import Iterator, Mapping
from datetime import date, time
from pathlib import Path
from typing import Any

from longlook.core import files
from longlook.core.errors import InputError
from longlook.core.escape import steers, visible

MOST_BYTES = 1 << 20
MOST_NESTED = 16
MOST_ENTRIES = 10_000
LONGEST_KEY = 200
LONGEST_TEXT = 100_000
"""Characters; traces of a link that are longer are files of their own."""

_LARGEST = 2**63 - 1
_LONGEST_SHOWN = 60

Place = tuple[str | int, ...]


def read_toml(path: Path) -> dict[str, Any]:
    """Return the content of a TOML file; InputError if it cannot be read, is not TOML or is beyond the limits."""
    try:
        with files.open_named(path) as file:
            data = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(f"{path}: cannot be read: {reason}", "name a file that can be read") from error
    return parse_toml(data, path.name)


def parse_toml(data: bytes, name: str) -> dict[str, Any]:
    """Return the content of a TOML file that messages call `name`; InputError if it is none, or beyond the limits."""
    if len(data) > MOST_BYTES:
        raise InputError(f"{name}: too long; allowed: at most {MOST_BYTES} bytes", "split it into several files")
    try:
        document = tomllib.loads(data.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{name}: not TOML: {error}", "https://toml.io shows the notation") from error
    except RecursionError as error:
        raise InputError(f"{name}: {_TOO_DEEP}", _HINT) from error
    except ValueError as error:  # a whole number of thousands of digits
        raise InputError(f"{name}: {_TOO_LARGE}", _HINT) from error
    check_document(document, name)
    return document


def check_document(document: Mapping[str, Any], name: str) -> None:
    """Raise InputError for the first value beyond the limits; `name` is the file as messages call it."""
    written: dict[Place, Place] = {}
    for place, value in _values(document):
        problem = _problem(value) or _problem_of_keys(place)
        if problem is None and not isinstance(value, Mapping | list):
            first = written.setdefault(_spelt_out(place), place)
            if first != place:
                problem = f"given twice, here and as {_dotted(first)}: keep one"
        if problem is not None:
            raise InputError(f"{name}: {_dotted(place)}: {problem}", _HINT)


_HINT = "docs/reference/studies.md lists every key with its unit and default, and the limits of a file"
_TOO_DEEP = f"nested too deeply; allowed: at most {MOST_NESTED} tables and lists inside one another"
_TOO_LARGE = f"a whole number is too large; allowed: from {-_LARGEST - 1} to {_LARGEST}"


def _values(document: Mapping[str, Any]) -> Iterator[tuple[Place, Any]]:
    """Yield every value with its place, tables and lists before what is in them; nothing below the deepest allowed."""
    left: list[tuple[Place, Any]] = [((key,), value) for key, value in reversed(list(document.items()))]
    while left:
        place, value = left.pop()
        yield place, value
        if len(place) > MOST_NESTED:
            continue
        inside = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
        left += [((*place, key), item) for key, item in reversed(list(inside))]


def _problem(value: object) -> str | None:
    if isinstance(value, int) and not -_LARGEST - 1 <= value <= _LARGEST:
        return _TOO_LARGE
    if isinstance(value, float) and not math.isfinite(value):
        return f"{value} is no number here; allowed: finite numbers"
    if isinstance(value, date | time):
        return f"{value} is a date or time of day, and no key takes one; a text stands in quotation marks"
    if isinstance(value, str):
        return _problem_of_text(value)
    if isinstance(value, Mapping | list) and len(value) > MOST_ENTRIES:
        return f"{len(value)} entries; allowed: at most {MOST_ENTRIES}"
    return None


def _problem_of_text(text: str) -> str | None:
    if len(text) > LONGEST_TEXT:
        return f"a text of {len(text)} characters; allowed: at most {LONGEST_TEXT}"
    if steers(text):
        return f"{_shown(text)} has control characters; allowed in a text: tabs and newlines"
    return None


def _problem_of_keys(place: Place) -> str | None:
    if len(place) > MOST_NESTED:
        return _TOO_DEEP
    key = str(place[-1])
    if len(key) > LONGEST_KEY:
        return f"a key of {len(key)} characters; allowed: at most {LONGEST_KEY}"
    if steers(key) or "\n" in key or "\t" in key:
        return "a key has control characters, tabs or newlines; allowed: characters that one can see"
    return None


def _spelt_out(place: Place) -> Place:
    """Return a place without regard to notation: `network."down.rate"` is `network.down.rate`."""
    return tuple(part for key in place for part in (key.split(".") if isinstance(key, str) else (key,)))


def _dotted(place: Place) -> str:
    text = ""
    for part in place:
        text += f"[{part}]" if isinstance(part, int) else _written(part) if not text else f".{_written(part)}"
    return _shown(text)


def _written(key: str) -> str:
    return f'"{key}"' if "." in key else key


def _shown(text: str) -> str:
    cut = text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"
    return visible(cut.replace("\n", "\\n").replace("\t", "\\t"))
