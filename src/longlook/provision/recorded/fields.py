"""Values of a HAR's members, whichever type a tool wrote them as. Pure."""

from collections.abc import Mapping
from typing import Any


def as_mapping(value: object) -> Mapping[str, Any]:
    """Return an object; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def as_text(value: object) -> str | None:
    """Return a text that is not empty; None for anything else."""
    return value if isinstance(value, str) and value else None


def as_number(value: object) -> float | None:
    """Return a number, also one that a tool wrote as text; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if abs(found) < _LARGEST_NUMBER else None


_LARGEST_NUMBER = 1e15


def as_count(value: object) -> int | None:
    """Return a whole number; as `number`."""
    found = as_number(value)
    return None if found is None else int(found)
