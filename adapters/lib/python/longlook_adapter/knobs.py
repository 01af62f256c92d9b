"""Knobs from a server's command line or a client's job, checked."""

from collections.abc import Callable, Mapping
from typing import Any

from longlook_adapter.errors import BadUsageError, UnsupportedError


def parse_knobs(knobs: Mapping[str, Any], known: Mapping[str, Callable[[str], Any]], stack: str) -> dict[str, Any]:
    """Return values by name; UnsupportedError for a name that is not among the known, BadUsageError for a bad value."""
    values = {}
    for name, value in knobs.items():
        if name not in known:
            has = f"knobs: {', '.join(sorted(known))}" if known else "no knobs"
            raise UnsupportedError(f"unknown knob {name!r}: here {stack} has {has}")
        try:
            values[name] = known[name](str(value))
        except ValueError as error:
            raise BadUsageError(f"knob {name}={value}: {error}") from error
    return values


def whole(lowest: int, highest: int) -> Callable[[str], int]:
    """Return a parser of whole numbers between bounds, both allowed."""

    def parse(text: str) -> int:
        number = int(text)
        if not lowest <= number <= highest:
            raise ValueError(f"not between {lowest} and {highest}")
        return number

    return parse


def real(lowest: float, highest: float) -> Callable[[str], float]:
    """Return a parser of numbers between bounds, both allowed."""

    def parse(text: str) -> float:
        number = float(text)
        if not lowest <= number <= highest:
            raise ValueError(f"not between {lowest:g} and {highest:g}")
        return number

    return parse


def truth(text: str) -> bool:
    """Parse `true` or `false`."""
    if text.lower() not in ("true", "false"):
        raise ValueError("neither true nor false")
    return text.lower() == "true"


def one_of(*allowed: str) -> Callable[[str], str]:
    """Return a parser that takes some words only."""

    def parse(text: str) -> str:
        if text not in allowed:
            raise ValueError(f"none of {', '.join(allowed)}")
        return text

    return parse
