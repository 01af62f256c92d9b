"""`expect` of a study file: texts become Expectations, and each is checked against its quantity's unit.

    [at TIME | from TIME | until TIME | between TIME and TIME] [once | never] CONDITION

A condition is a comparison (`>= 40 packets`), an interval (`within 45 to 55 %`), a plain number, or states of a sender
(`slow_start or recovery`). A bound may be a share of the quantity's own value: `>= 90 % of its value at 1s`.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from longlook.core import (
    Bounds,
    Expectation,
    Metric,
    Problems,
    SettingError,
    Study,
    allowed,
    nearest,
    shown,
    units,
)
from longlook.study.catalogue import Catalogue
from longlook.study.settings import is_flow_setting
from longlook.timeline import OBSERVABLES, Dimension, Form, Observable, State

EXPECT = "expect"
"""The table of expectations, of a study, an arm or a level."""
CLIENT, SERVER = "client", "server"
MOST_EXPECTED = 1_000
_PREFIX = f"{EXPECT}."
_LONGEST = 200
_NS_PER_S = 10**9
_GRAMMAR = (
    "write [at TIME | from TIME | until TIME | between TIME and TIME] [once] and then < VALUE, <= VALUE, > VALUE, "
    ">= VALUE, = VALUE or within VALUE to VALUE"
)
_OF_STATES = "write [at TIME | from TIME | until TIME | between TIME and TIME] [once | never] STATE [or STATE …]"
_TIME = r"([+-]?[0-9.]+\s?(?:ns|us|µs|μs|ms|s)?)"
_WHEN = re.compile(rf"(?:(at|from|until)\s+{_TIME}|between\s+{_TIME}\s+and\s+{_TIME})(?:\s+|$)")
_COMPARISON = re.compile(r"(<=|>=|==|<|>|=|≤|≥)\s*(.+)", re.DOTALL)
_WITHIN = re.compile(r"within\s+(.+?)\s+to\s+(.+)", re.DOTALL)
_OF_ITSELF = re.compile(rf"(.+?)\s+of\s+its\s+value\s+at\s+{_TIME}", re.DOTALL)
_NUMBER = re.compile(r"([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))\s*(.*)", re.DOTALL)
_SCALES: Mapping[str, tuple[Dimension, float]] = {
    "s": (Dimension.TIME, 1.0),
    "ms": (Dimension.TIME, 1e-3),
    "Mbit/s": (Dimension.RATE, 1e6),
    "KB": (Dimension.SIZE, 1e3),
    "B": (Dimension.SIZE, 1.0),
    "%": (Dimension.SHARE, 1.0),
}
"""Unit of a metric → the kind of its values, and the unit as a multiple of the kind's own (s, bit/s, bytes, %)."""


def scale_of(metric: Metric) -> tuple[Dimension, float]:
    """Return what kind of value a metric has, and by what its values are multiplied to be in the unit of bounds."""
    return _SCALES.get(metric.unit, (Dimension.NUMBER, 1.0))


def find_observable(quantity: str) -> tuple[Observable, str] | None:
    """Return the observable of a name such as `server_window` and the end whose it is; None if it is none.

    A quantity of a sender is the server's unless its name begins with `client_`.
    """
    if (found := OBSERVABLES.get(quantity)) is not None:
        return found, SERVER
    end, _, rest = quantity.partition("_")
    found = OBSERVABLES.get(rest)
    return (found, end) if found is not None and found.of_end and end in (CLIENT, SERVER) else None


def split_expected(flat: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the settings among flat keys, and what is expected, by quantity."""
    expected = {key.removeprefix(_PREFIX): value for key, value in flat.items() if key.startswith(_PREFIX)}
    return {key: value for key, value in flat.items() if not key.startswith(_PREFIX)}, expected


def expectations(
    flat: Mapping[str, Any],
    where: str,
    catalogue: Catalogue,
    problems: Problems,
    *,
    arm: str = "",
    levels: Mapping[str, str] | None = None,
) -> Iterator[Expectation]:
    """Yield the expectations of a table, whose keys are quantities; add what is wrong to `problems`, with its place."""
    for key, value in flat.items():
        for text in value if isinstance(value, list) else [value]:
            try:
                yield parse(key, text, catalogue, arm=arm, levels=levels or {})
            except SettingError as error:
                problems.add_value(f"{where}.{key}", text, error.message)


def parse(
    key: str, value: object, catalogue: Catalogue, *, arm: str = "", levels: Mapping[str, str] | None = None
) -> Expectation:
    """Return the expectation of a key of `[expect]` and its text or number; SettingError if it is none."""
    quantity, _, group = key.partition(".")
    found = find_observable(quantity)
    metric = catalogue.metrics.get(quantity)
    if found is None and metric is None:
        raise SettingError(key, _unknown(quantity, catalogue))
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise SettingError(key, f"must be a text or a number: {_GRAMMAR}")
    text = str(value).strip()
    if len(text) > _LONGEST:
        raise SettingError(key, f"allowed: up to {_LONGEST} characters")
    parser = _Parser(key, text, quantity, found[0] if found else None, metric)
    if group and not (found and found[0].by_group):
        raise SettingError(key, f"{quantity} is of the whole trial: leave .{group} out")
    begin_ns, end_ns, rest = parser.when()
    expected = Expectation(quantity, text, begin_ns, end_ns, group=group, arm=arm, levels=levels or {})
    return parser.condition(expected, rest)


def _unknown(quantity: str, catalogue: Catalogue) -> str:
    listed = ", ".join(f"[{CLIENT}_]{name}" if each.of_end else name for name, each in OBSERVABLES.items())
    ends = [f"{CLIENT}_{name}" for name, each in OBSERVABLES.items() if each.of_end]
    near = nearest(quantity, [*OBSERVABLES, *ends, *catalogue.metrics])
    return f"unknown quantity; allowed: {listed}, and every metric (docs/reference/metrics.md){near}"


class _Parser:
    """Reads the text of one expectation; every error is a SettingError of its key."""

    def __init__(
        self, key: str, text: str, quantity: str, observable: Observable | None, metric: Metric | None
    ) -> None:
        self._key, self._text, self._quantity = key, text, quantity
        self._metric = None if observable is not None else metric
        if observable is not None:
            self._form, self._dimension = observable.form, observable.dimension
        elif metric is not None:
            self._form, self._dimension = Form.WHOLE, scale_of(metric)[0]
            if metric.compare is not None:
                raise SettingError(key, "compares arms, and an expectation is about one trial")

    def _wrong(self, message: str) -> SettingError:
        return SettingError(self._key, message)

    def when(self) -> tuple[int | None, int | None, str]:
        """Return the begin and end of the time that is meant, and the rest of the text."""
        match = _WHEN.match(self._text)
        if match is None:
            return None, None, self._text
        rest = self._text[match.end() :]
        word, one, first, last = match.groups()
        if self._form is Form.WHOLE:
            raise self._wrong(f"{self._quantity} is of the whole load: leave the time out")
        if word is None:
            begin_ns, end_ns = self._time(first), self._time(last)
            if begin_ns >= end_ns:
                raise self._wrong(f"between {first} and {last}: the second time must be later")
            return begin_ns, end_ns, rest
        moment_ns = self._time(one)
        if word == "at" and self._form is not Form.LEVEL:
            what = "has a value when something happens" if self._form is Form.MOMENTS else "is of a span of time"
            raise self._wrong(f"{self._quantity} {what}, not at one moment: write from, until or between")
        if word == "until" and moment_ns == 0:
            raise self._wrong("until 0 s: nothing has happened by then")
        return (None if word == "until" else moment_ns), (None if word == "from" else moment_ns), rest

    def _time(self, text: str) -> int:
        try:
            return units.parse_time(text)
        except units.UnitError as error:
            raise self._wrong(f"{text}: {error}") from error

    def condition(self, expected: Expectation, text: str) -> Expectation:
        """Return the expectation with the condition that the rest of its text states."""
        word, _, rest = text.partition(" ")
        quantified = word in ("once", "never")
        if quantified and self._form not in (Form.LEVEL, Form.MOMENTS):
            raise self._wrong(f"{self._quantity} has one value: leave {word!r} out")
        if word == "once" and expected.at_moment:
            raise self._wrong("one moment is once: leave 'once' out")
        if quantified:
            text = rest.strip()
        if self._dimension is Dimension.STATE:
            return self._with_states(expected, text, word)
        if word == "never":
            raise self._wrong("is for states; of a number write the opposite comparison")
        return replace(expected, once=word == "once", bounds=self._bounds(text))

    def _with_states(self, expected: Expectation, text: str, word: str) -> Expectation:
        names = tuple(name.strip() for name in re.split(r"\bor\b", text))
        known = [str(state) for state in State if state is not State.UNKNOWN]
        for name in names:
            if name not in known:
                raise self._wrong(f"{shown(name)} is no state: {_OF_STATES}; {allowed(name, known)}")
        return replace(expected, once=word == "once", states=names, never=word == "never")

    def _bounds(self, text: str) -> Bounds:
        if (within := _WITHIN.fullmatch(text)) is not None:
            first, last = within.groups()
            last, of_ns = self._of_itself(last)
            unit_of_last = _NUMBER.fullmatch(last)
            if unit_of_last and (plain := _NUMBER.fullmatch(first.strip())) and not plain[2]:
                first = f"{first} {unit_of_last[2]}"
            (low, unit), (high, other) = self._value(first, of_ns), self._value(last, of_ns)
            if unit != other:
                raise self._wrong(f"the bounds are in {unit} and in {other}: write both in one of them")
            if low > high:
                raise self._wrong(f"within {first.strip()} to {last.strip()}: the first bound lies above the second")
            return Bounds(unit, low, high, of_ns=of_ns)
        comparison = _COMPARISON.fullmatch(text)
        if comparison is None and _NUMBER.fullmatch(text) is None:
            raise self._wrong(_GRAMMAR if text else f"there is no condition: {_GRAMMAR}")
        sign, given = comparison.groups() if comparison is not None else ("=", text)
        given, of_ns = self._of_itself(given)
        bound, unit = self._value(given, of_ns)
        if sign in ("=", "=="):
            return Bounds(unit, bound, bound, of_ns=of_ns)
        counts = sign not in ("<", ">")
        if sign in ("<", "<=", "≤"):
            return Bounds(unit, high=bound, high_counts=counts, of_ns=of_ns)
        return Bounds(unit, low=bound, low_counts=counts, of_ns=of_ns)

    def _of_itself(self, text: str) -> tuple[str, int | None]:
        """Return the text of a bound, and the time of the value that it is a share of; None if it stands alone."""
        match = _OF_ITSELF.fullmatch(text.strip())
        if match is None:
            return text, None
        if self._form is not Form.LEVEL:
            raise self._wrong(f"{self._quantity} has no value at one moment: write a bound of its own unit")
        return match[1], self._time(match[2])

    def _value(self, text: str, of_ns: int | None) -> tuple[float, str]:
        """Return a bound in the unit of its quantity, and that unit."""
        text = text.strip()
        try:
            if of_ns is not None or self._dimension is Dimension.SHARE:
                return _share(text), "%"
            if self._dimension is Dimension.TIME:
                return units.parse_time(text) / _NS_PER_S, "s"
            if self._dimension is Dimension.RATE:
                return float(units.parse_rate_or_none(text)), "bit/s"
            if self._dimension is Dimension.SIZE:
                return float(units.parse_size(text)), "B"
            if self._dimension is Dimension.WINDOW:
                return _window(text)
        except units.UnitError as error:
            raise self._wrong(f"{text}: {error}") from error
        return self._number(text)

    def _number(self, text: str) -> tuple[float, str]:
        own = "" if self._metric is None else self._metric.unit
        match = _NUMBER.fullmatch(text)
        if match is None or match[2].strip() not in ("", own):
            unit = f", or one in {own}" if own else " without a unit"
            raise self._wrong(f"{text}: {self._quantity} is a number{unit}")
        return float(match[1]), own


def _share(text: str) -> float:
    match = _NUMBER.fullmatch(text)
    if match is None or match[2].strip() != "%":
        raise units.UnitError("not a share: write a percentage, for example 45 %")
    return float(Fraction(match[1]))


def _window(text: str) -> tuple[float, str]:
    match = _NUMBER.fullmatch(text)
    if match is not None and match[2].strip() in ("packets", "packet"):
        return float(match[1]), "packets"
    try:
        return float(units.parse_size(text)), "B"
    except units.UnitError as error:
        raise units.UnitError(f"{error}; or a number of packets, for example 40 packets") from error


def metrics_expected(study: Study) -> list[str]:
    """Return the metrics that the study's expectations are about, each once."""
    names = (each.quantity for each in study.expectations if find_observable(each.quantity) is None)
    return list(dict.fromkeys(names))


def check_expectations(study: Study, problems: Problems) -> None:
    """Check that times of expectations lie within a trial, that groups of flows exist, and that a trace is captured for
    quantities of a sender.
    """
    limit_ns = round(study.timeout_s * _NS_PER_S)
    traced = study.capture.qlog or study.capture.tcp or study.capture.netlog
    groups = _groups(study)
    if len(study.expectations) > MOST_EXPECTED:
        problems.add(EXPECT, f"{len(study.expectations)} expectations; allowed: at most {MOST_EXPECTED}")
    for each in study.expectations:
        where = f"{EXPECT}.{each.name}"
        for moment_ns in (each.begin_ns, each.end_ns, each.bounds.of_ns if each.bounds else None):
            if moment_ns is not None and moment_ns >= limit_ns:
                problems.add_value(where, each.text, f"no trial lasts that long: timeout = {study.timeout_s:g} s")
        if each.group and each.group not in groups:
            message = f"no group of flows {each.group!r}; {allowed(each.group, groups)}"
            problems.add_value(where, each.text, message)
        found = find_observable(each.quantity)
        if found is not None and found[0].of_end and not traced:
            message = "needs a trace of the sender: [capture] qlog = true for QUIC, tcp = true for the kernel's TCP"
            problems.add_value(where, each.text, message)


def _groups(study: Study) -> list[str]:
    """Return the groups of flows that the study's settings name."""
    levels = (level.sets for factor in study.factors for level in factor.levels)
    settings = [key for table in (study.settings, *(arm.settings for arm in study.arms), *levels) for key in table]
    return list(dict.fromkeys(key.split(".")[1] for key in settings if is_flow_setting(key)))
