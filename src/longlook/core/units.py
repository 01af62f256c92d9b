"""Rates, times, sizes and shares as people write them. Exact: no value passes through binary floating point.

Each `parse_*` takes the text of a study file or argument and raises UnitError, whose message is what to write
instead. Each `print_*` gives the form that people use, and `parse_*(print_*(x)) == x`.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

_QUANTITY = re.compile(r"([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))\s*([^0-9].*)?", re.DOTALL)
_MAX_DECIMALS = 3  # more are printed only where the smallest unit needs them
_LONGEST = 400  # characters
_MOST_DIGITS = 40  # of a numerator or denominator
_REMEMBERED = 1 << 12  # texts that are read once, of the millions in a large plan
_LARGEST = 2**63 - 1  # of a base unit, as the link emulator and JSON readers count


class UnitError(ValueError):
    """A text that is not a quantity of the wanted kind."""


@dataclass(frozen=True, eq=False)  # each is itself alone, which makes it quick to find
class _Kind:
    """A kind of quantity: how it is called, its units as base multiples, an example, other accepted spellings."""

    noun: str
    base: str
    units: dict[str, int]
    example: str
    aliases: Mapping[str, str]


_RATE = _Kind(
    "rate",
    "bits per second",
    {"bit": 1, "kbit": 10**3, "Mbit": 10**6, "Gbit": 10**9},
    "10Mbit",
    {f"{prefix}{ending}": f"{prefix}bit" for prefix in ("", "k", "M", "G") for ending in ("bit/s", "bps", "b/s")},
)
_TIME = _Kind("time", "nanoseconds", {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}, "36ms", {"µs": "us", "μs": "us"})
_DURATION = _Kind(
    "length of time", "seconds", {"s": 1, "min": 60, "h": 3600, "d": 86400, "w": 604800}, "30d", {"m": "min"}
)
_SIZE = _Kind(
    "size",
    "bytes",
    {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30},
    "30KB",
    {"kB": "KB"},
)
_DECIMAL_SIZES = {unit: scale for unit, scale in _SIZE.units.items() if "i" not in unit}
_BINARY_SIZES = {unit: scale for unit, scale in _SIZE.units.items() if "i" in unit or unit == "B"}
_UNSCALED = ("bdp", "packets")
_QUEUE = _Kind(
    "queue", "bytes", {**_SIZE.units, "bdp": 1, "packets": 1}, "1bdp", {**_SIZE.aliases, "packet": "packets"}
)


def parse_rate(value: object) -> int:
    """Return bits per second, above zero, from 250kbit, 10Mbit, 1.5Gbit, also 10mbit, 10 Mbit/s, 10Mbps."""
    rate_bps = _whole(_RATE, value, *_split(_RATE, value))
    if rate_bps == 0:
        raise UnitError("a rate must be above zero")
    return rate_bps


def parse_rate_or_none(value: object) -> int:
    """Return a rate in bits per second, or 0 for 0bit: nothing passes."""
    return _whole(_RATE, value, *_split(_RATE, value))


def parse_time(value: object) -> int:
    """Return nanoseconds from 36ms, 1.5s, 250us, 100ns."""
    return _whole(_TIME, value, *_split(_TIME, value))


def parse_size(value: object) -> int:
    """Return bytes from 1500B, 30KB (30 000), 1MB (10^6), 64KiB (65 536)."""
    return _whole(_SIZE, value, *_split(_SIZE, value))


@dataclass(frozen=True)
class Queue:
    """A queue's length: a number of bytes or of packets, or a multiple of the path's bandwidth-delay product."""

    size_bytes: int | None = None
    bdp: Fraction | None = None
    packets: int | None = None


def parse_queue(value: object) -> Queue:
    """Return a queue from a size, a number of packets, or a multiple of the bandwidth-delay product.

    Examples are 30KB, 100packets, 1bdp and 0.5bdp.
    """
    number, unit = _split(_QUEUE, value)
    if unit == "bdp":
        return Queue(bdp=number)
    if unit != "packets":
        return Queue(size_bytes=_whole(_QUEUE, value, number, unit))
    if number.denominator != 1:
        raise UnitError(f"{value} is not a whole number of packets")
    return Queue(packets=number.numerator)


def parse_duration(value: str) -> int:
    """Return seconds from a length of time that people wait: 90min, 12h, 30d, 2w."""
    return _whole(_DURATION, value, *_split(_DURATION, value))


def parse_share(value: object) -> Fraction:
    """Return a share from 0 to 1, from 1%, 0.1%, or a number below one such as 0.01."""
    share = _share(value)
    if not 0 <= share <= 1:
        raise UnitError("a share lies between 0% and 100%")
    return share


def print_rate(rate_bps: int) -> str:
    """Return a rate as 10Mbit."""
    return _print(rate_bps, _RATE.units)


def print_time(time_ns: int) -> str:
    """Return a time as 36ms."""
    return _print(time_ns, _TIME.units)


def print_size(size_bytes: int) -> str:
    """Return a size as 30KB, or as 64KiB if that is shorter."""
    return min(_print(size_bytes, _DECIMAL_SIZES), _print(size_bytes, _BINARY_SIZES), key=len)


def print_bytes(size_bytes: int) -> str:
    """Return about how much space something takes, for people: 1.2 GB. Unlike `print_size` it is not exact."""
    unit, scale = next(
        (unit, scale)
        for unit, scale in (("GB", 10**9), ("MB", 10**6), ("KB", 10**3), ("B", 1))
        if size_bytes >= scale or scale == 1
    )
    return f"{size_bytes / scale:.{1 if scale > 1 else 0}f} {unit}"


def print_queue(queue: Queue) -> str:
    """Return a queue as 30KB, 100packets or 1bdp."""
    if queue.size_bytes is not None:
        return print_size(queue.size_bytes)
    if queue.packets is not None:
        return f"{queue.packets}packets"
    if queue.bdp is None:
        raise ValueError("a queue has a size, a number of packets or a multiple of the bandwidth-delay product")
    return f"{_decimal(queue.bdp)}bdp"


def print_share(share: Fraction) -> str:
    """Return a share as 1%."""
    return f"{_decimal(share * 100)}%"


def _share(value: object) -> Fraction:
    text = format(Decimal(str(value)), "f") if isinstance(value, float) else str(value).strip()
    match = _QUANTITY.fullmatch(text) if len(text) <= _LONGEST else None
    if isinstance(value, bool) or match is None or (match[2] or "%") != "%":
        raise UnitError("not a share: write a percentage, for example 1%")
    number = _number(match[1])
    if match[2]:
        return number / 100
    if number >= 1:
        raise UnitError(f"a share without a sign is ambiguous from 1 up: write {text}%")
    return number


def _split(kind: _Kind, value: object) -> tuple[Fraction, str]:
    """Return number and unit, the unit in its canonical spelling."""
    return _split_text(kind, value) if isinstance(value, str) else _split_any(kind, value)


@lru_cache(maxsize=_REMEMBERED)
def _split_text(kind: _Kind, text: str) -> tuple[Fraction, str]:
    return _split_any(kind, text)


def _split_any(kind: _Kind, value: object) -> tuple[Fraction, str]:
    known = ", ".join(kind.units)
    allowed = f"write a number and one of {known}, for example {kind.example}"
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise UnitError(f"a {kind.noun} needs a unit: {allowed}")
    match = _QUANTITY.fullmatch(value.strip()) if isinstance(value, str) and len(value) <= _LONGEST else None
    if match is None:
        raise UnitError(f"not a {kind.noun}: {allowed}")
    if match[2] is None:
        raise UnitError(f"a {kind.noun} needs a unit: {allowed}")
    unit = _unit(kind, match[2].strip())
    if unit is None and kind is _RATE and "B" in match[2]:
        raise UnitError(f"B means bytes, and a rate is in bits per second: {allowed}")
    if unit is None:
        near = _nearest_unit(kind, match[2].strip())
        guess = f"; did you mean '{match[1]}{near}'?" if near else ""
        raise UnitError(f"unknown unit '{match[2].strip()}' of a {kind.noun}: {allowed}{guess}")
    number = _number(match[1])
    if number < 0:
        raise UnitError(f"a {kind.noun} cannot be negative")
    if number * kind.units[unit] > _LARGEST:
        raise UnitError(f"a {kind.noun} is at most {_LARGEST} {unit if unit in _UNSCALED else kind.base}")
    return number, unit


def _number(text: str) -> Fraction:
    """Return the number of a text of digits; UnitError if it has too many."""
    if len(text) < _MOST_DIGITS and text.isdecimal():
        return Fraction(int(text))  # without the pattern that a fraction's text is looked at by
    whole, _, decimals = text.partition(".")
    number = Fraction(int(whole + decimals), 10 ** len(decimals)) if len(text) <= _LONGEST else None
    if number is None or max(abs(number.numerator), number.denominator) >= 10**_MOST_DIGITS:
        raise UnitError(f"a number of too many digits; allowed: fewer than {_MOST_DIGITS}")
    return number


def _unit(kind: _Kind, written: str) -> str | None:
    if written in kind.units:
        return written
    if written in kind.aliases:
        return kind.aliases[written]
    if kind is _RATE and "B" not in written:  # a capital B means bytes; elsewhere case is free, as with tc
        spellings = {**{unit: unit for unit in kind.units}, **kind.aliases}
        return {name.lower(): unit for name, unit in spellings.items()}.get(written.lower())
    return None


def _nearest_unit(kind: _Kind, written: str) -> str | None:
    for unit in kind.units:
        if unit.lower() == written.lower():
            return unit
    from difflib import get_close_matches  # guests import this module, and look for no names

    lowered = {unit.lower(): unit for unit in kind.units}
    near = get_close_matches(written.lower(), list(lowered), n=1, cutoff=0.4)
    return lowered[near[0]] if near else None


def _whole(kind: _Kind, value: object, number: Fraction, unit: str) -> int:
    base = number * kind.units[unit]
    if base.denominator != 1:
        raise UnitError(f"{value} is not a whole number of {kind.base}")
    return base.numerator


def _print(base: int, units: dict[str, int]) -> str:
    """Return the value in the largest unit that it fills and that needs few decimals; units from small to large."""
    for unit, scale in reversed(units.items()):
        if base >= scale and (scale == 1 or base * 10**_MAX_DECIMALS % scale == 0):
            return f"{_ratio(base, scale) if base % scale else base // scale}{unit}"
    return f"{base}{next(iter(units))}"


def _decimal(value: Fraction) -> str:
    """Return exact decimal text; the value comes from a decimal text, so its expansion ends."""
    return _ratio(value.numerator, value.denominator)


def _ratio(numerator: int, denominator: int) -> str:
    """Return the exact decimal text of a ratio whose expansion ends, with as few digits as it needs."""
    common = math.gcd(numerator, denominator)
    numerator, rest = numerator // common, denominator // common
    denominator, twos, fives = rest, 0, 0
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    digits = max(twos, fives)
    whole = str(numerator * 10**digits // denominator).rjust(digits + 1, "0")
    return f"{whole[:-digits]}.{whole[-digits:]}" if digits else whole
