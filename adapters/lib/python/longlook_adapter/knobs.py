"""Knobs from the command line, checked."""

from collections.abc import Callable, Mapping
from typing import Any

from longlook_adapter.errors import BadUsageError, UnsupportedError


def parse_knobs(knobs: Mapping[str, str], known: Mapping[str, Callable[[str], Any]], stack: str) -> dict[str, Any]:
    """Values by name; UnsupportedError for a name that is not among the known, BadUsageError for a bad value."""
    values = {}
    for name, text in knobs.items():
        if name not in known:
            has = f"knobs: {', '.join(sorted(known))}" if known else "no knobs"
            raise UnsupportedError(f"unknown knob {name!r}: here {stack} has {has}")
        try:
            values[name] = known[name](text)
        except ValueError as error:
            raise BadUsageError(f"knob {name}={text}: {error}") from error
    return values


def whole(lowest: int, highest: int) -> Callable[[str], int]:
    """A whole number between bounds, both allowed."""

    def parse(text: str) -> int:
        number = int(text)
        if not lowest <= number <= highest:
            raise ValueError(f"not between {lowest} and {highest}")
        return number

    return parse


def truth(text: str) -> bool:
    """`true` or `false`."""
    if text.lower() not in ("true", "false"):
        raise ValueError("neither true nor false")
    return text.lower() == "true"


def one_of(*allowed: str) -> Callable[[str], str]:
    """One of some words."""

    def parse(text: str) -> str:
        if text not in allowed:
            raise ValueError(f"none of {', '.join(allowed)}")
        return text

    return parse
