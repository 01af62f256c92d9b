"""Values that may vary with time: the canonical text of what people write, and the link's parameter that it means.

    10Mbit                                   a value that stays
    uniform(50Mbit, 150Mbit, 1s)             redrawn each second
    walk(10Mbit, 1Mbit, 5Mbit, 15Mbit, 1s)   start, largest step, minimum, maximum, how often
    steps(0s 10Mbit, 5s 2Mbit, repeat 10s)   each value from its time on; without `repeat` the last one stays
    trace(FILE)                              docs/reference/study-network.md

Forms that can have only one value (`uniform(1s, 1s, …)`) are written as that value.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from longlook.core import TRACE, Json, UnitError, nearest, units
from longlook.network import trace_store

Number = int | Fraction

_CALL = re.compile(r"([A-Za-z_]+)\s*\((.*)\)", re.DOTALL)
_OPENED = re.compile(r"([A-Za-z_]+)\s*\(")
_STEP = re.compile(r"([0-9.]+\s*(?:ns|us|µs|μs|ms|s))\s+(.*)", re.DOTALL)
_SHAPES = {
    "uniform": "uniform(MINIMUM, MAXIMUM, EVERY)",
    "walk": "walk(START, STEP, MINIMUM, MAXIMUM, EVERY)",
    "steps": "steps(0s VALUE, TIME VALUE, …, repeat TIME)",
    "trace": "trace(FILE)",
}


_REMEMBERED = 1 << 12
"""Texts that are read once for a large plan: the trials of its cells and rounds share nearly all of them."""


@dataclass(frozen=True, eq=False)  # each is itself alone, which makes it quick to find
class Quantity:
    """A kind of value: how it is read and printed, its number for the link, and the role of a trace of it."""

    read: Callable[[object], Number]
    show: Callable[[Number], str]
    number: Callable[[Number], int | float]
    within: Callable[[object], Number]  # inside a call, where a rate may be 0 for a time
    trace: trace_store.Role | None = None

    @property
    def forms(self) -> tuple[str, ...]:
        """Return the names of the calls that are allowed."""
        return tuple(name for name in _SHAPES if name != "trace" or self.trace is not None)


def _rate(bps: Number) -> str:
    return units.print_rate(int(bps))


def _time(time_ns: Number) -> str:
    return units.print_time(int(time_ns))


def _size(size_bytes: Number) -> str:
    return units.print_size(int(size_bytes))


def _share(share: Number) -> str:
    return units.print_share(Fraction(share))


RATE = Quantity(units.parse_rate, _rate, int, units.parse_rate_or_none, "rate")
RATE_WITHOUT_TRACE = Quantity(units.parse_rate, _rate, int, units.parse_rate_or_none)
DELAY = Quantity(units.parse_time, _time, int, units.parse_time, "delay")
TIME = Quantity(units.parse_time, _time, int, units.parse_time)
JITTER = Quantity(units.parse_time, _time, int, units.parse_time, "jitter")
SIZE = Quantity(units.parse_size, _size, int, units.parse_size)
QUEUE = Quantity(units.parse_size, _size, int, units.parse_size, "queue")
SHARE = Quantity(units.parse_share, _share, float, units.parse_share)
LOSS = Quantity(units.parse_share, _share, float, units.parse_share, "loss")
DUPLICATE = Quantity(units.parse_share, _share, float, units.parse_share, "duplicate")


@dataclass(frozen=True)
class Value:
    """A value that has been read: its one text, and the link's parameter."""

    text: str
    parameter: Json


def call(value: object) -> tuple[str, str] | None:
    """Return name and arguments of `name(…)`, or None if the value has another form."""
    return _call(value) if isinstance(value, str) else None


@lru_cache(maxsize=_REMEMBERED)
def _call(text: str) -> tuple[str, str] | None:
    match = _CALL.fullmatch(text.strip())
    return None if match is None else (match[1], match[2].strip())


def read(quantity: Quantity, value: object, others: Sequence[str] = ()) -> Value:
    """Return a value of a quantity; UnitError names what is allowed.

    `others` are further calls that the setting knows.
    """
    called = call(value)
    if called is None:
        if isinstance(value, str) and (opened := _OPENED.match(value.strip())) and opened[1] in quantity.forms:
            raise UnitError(f"{opened[1]}(… is not closed: write {_SHAPES[opened[1]]}")
        try:
            return _read(quantity, value) if isinstance(value, str) else _constant(quantity, quantity.read(value))
        except UnitError as error:
            known = [*quantity.forms, *others]
            raise UnitError(f"{error}; or a form of values that vary: {', '.join(known)}") from error
    name, inside = called
    if name not in quantity.forms:
        known = [*quantity.forms, *others]
        raise UnitError(f"unknown form {name}(…); allowed: {', '.join(known)}{nearest(name, known)}")
    if name == "trace":
        assert quantity.trace is not None  # noqa: S101  # it is among the forms
        digest = trace_store.digest_of(inside, quantity.trace)
        return Value(f"trace({digest})", {TRACE: digest})
    return _made(quantity, name, inside)


@lru_cache(maxsize=_REMEMBERED)
def _read(quantity: Quantity, text: str) -> Value:
    return _constant(quantity, quantity.read(text))


@lru_cache(maxsize=64)
def _made(quantity: Quantity, name: str, inside: str) -> Value:
    """Return the value of a call; each trial of a plan asks for the same few, of up to thousands of steps."""
    return _FORMS[name](quantity, arguments(inside))


def arguments(inside: str) -> list[str]:
    """Return the parts that commas separate."""
    return [part.strip() for part in inside.split(",")]


def halved(parameter: Json, *, up: bool) -> Json:
    """Return one direction's half of a round-trip delay; `up` gets an odd nanosecond, so the sum is exact."""
    if isinstance(parameter, int):
        return parameter // 2 + (parameter % 2 if up else 0)
    if "steps" in parameter:
        return {**parameter, "steps": tuple((at_ns, halved(item, up=up)) for at_ns, item in parameter["steps"])}
    (name, form), *_ = parameter.items()
    return {name: {key: item if key == "every_ns" else halved(item, up=up) for key, item in form.items()}}


def _constant(quantity: Quantity, number: Number) -> Value:
    return Value(quantity.show(number), quantity.number(number))


def _uniform(quantity: Quantity, given: list[str]) -> Value:
    _expect("uniform", given, 3)
    low, high = (quantity.within(item) for item in given[:2])
    every_ns = _period(given[2])
    _in_order(quantity, "uniform", low, high)
    if low == high:
        return _constant(quantity, low)
    text = f"uniform({quantity.show(low)}, {quantity.show(high)}, {units.print_time(every_ns)})"
    form = {"minimum": quantity.number(low), "maximum": quantity.number(high), "every_ns": every_ns}
    return Value(text, {"uniform": form})


def _walk(quantity: Quantity, given: list[str]) -> Value:
    _expect("walk", given, 5)
    start, step, low, high = (quantity.within(item) for item in given[:4])
    every_ns = _period(given[4])
    _in_order(quantity, "walk", low, high)
    if not low <= start <= high:
        raise UnitError(
            f"walk(…) starts at {quantity.show(start)}: allowed: from its minimum, {quantity.show(low)}, "
            f"to its maximum, {quantity.show(high)}"
        )
    if step > high - low:
        raise UnitError(
            f"walk(…) has steps of up to {quantity.show(step)}: allowed: at most the way from its minimum to its "
            f"maximum, {quantity.show(high - low)}"
        )
    if step == 0:
        _not_nothing(quantity, start)
        return _constant(quantity, start)
    shown = ", ".join(quantity.show(item) for item in (start, step, low, high))
    names = ("start", "step", "minimum", "maximum")
    numbers = {name: quantity.number(item) for name, item in zip(names, (start, step, low, high), strict=True)}
    return Value(f"walk({shown}, {units.print_time(every_ns)})", {"walk": {**numbers, "every_ns": every_ns}})


def _steps(quantity: Quantity, given: list[str]) -> Value:
    repeat_ns = None
    if given[-1].startswith("repeat"):
        repeat_ns = units.parse_time(given.pop().removeprefix("repeat").strip())
    steps: list[tuple[int, Number]] = []
    last_ns = -1
    for item in given:
        match = _STEP.fullmatch(item)
        if match is None:
            raise UnitError(f"{item!r} is not a step: write a time and a value, for example {_SHAPES['steps']}")
        at_ns, number = units.parse_time(match[1]), quantity.within(match[2])
        if not steps and at_ns:
            raise UnitError(f"the schedule begins at {units.print_time(at_ns)}: its first step must be at 0s")
        if at_ns <= last_ns:
            raise UnitError(
                f"the schedule runs backwards: {units.print_time(at_ns)} comes after {units.print_time(last_ns)}; "
                "times must increase"
            )
        last_ns = at_ns
        if not steps or steps[-1][1] != number:  # a step to the same value is none
            steps.append((at_ns, number))
    if not steps:
        raise UnitError(f"a schedule without steps: write {_SHAPES['steps']}")
    if repeat_ns is not None and repeat_ns <= last_ns:
        raise UnitError(
            f"the schedule repeats after {units.print_time(repeat_ns)}: allowed: later than its last step, at "
            f"{units.print_time(last_ns)}"
        )
    _not_nothing(quantity, steps[-1][1] if repeat_ns is None else max(number for _, number in steps))
    if len(steps) == 1:
        return _constant(quantity, steps[0][1])
    shown = [f"{units.print_time(at_ns) if at_ns else '0s'} {quantity.show(number)}" for at_ns, number in steps]
    parameter: dict[str, Json] = {"steps": tuple((at_ns, quantity.number(number)) for at_ns, number in steps)}
    if repeat_ns is not None:
        shown.append(f"repeat {units.print_time(repeat_ns)}")
        parameter["repeat_ns"] = repeat_ns
    return Value(f"steps({', '.join(shown)})", parameter)


_FORMS: dict[str, Callable[[Quantity, list[str]], Value]] = {"uniform": _uniform, "walk": _walk, "steps": _steps}


def _expect(name: str, given: list[str], count: int) -> None:
    if len(given) != count or not all(given):
        raise UnitError(f"{name}(…) takes {count} values, here {len(list(filter(None, given)))}: {_SHAPES[name]}")


def _period(text: str) -> int:
    every_ns = units.parse_time(text)
    if every_ns == 0:
        raise UnitError("a value cannot be redrawn every 0s: write for example 1s")
    return every_ns


def _in_order(quantity: Quantity, name: str, low: Number, high: Number) -> None:
    if low > high:
        raise UnitError(
            f"{name}(…) has its minimum, {quantity.show(low)}, above its maximum, {quantity.show(high)}: "
            f"{_SHAPES[name]}"
        )
    _not_nothing(quantity, high)


def _not_nothing(quantity: Quantity, highest: Number) -> None:
    """Raise UnitError if a rate would be 0 for ever."""
    if quantity.within is units.parse_rate_or_none and highest == 0:
        raise UnitError("nothing would ever pass again: a rate may be 0bit for a time only")
