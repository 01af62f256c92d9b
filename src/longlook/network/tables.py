"""Recorded measurements of a path as a table become a trace: any CSV with a column of rates, such as Lumos5G's.

What is written is TheaterQ's simple format, which `trace(FILE)` reads (`longlook.network.traces`). Bytes in, text out.
"""

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

from longlook.core.registry import nearest
from longlook.network.traces import LARGEST_BYTES, TraceError

RATES: Mapping[str, float] = {"bit": 1.0, "kbit": 1e3, "Mbit": 1e6, "Gbit": 1e9, "kB": 8e3, "MB": 8e6}
"""Unit of a rate → bit/s."""

TIMES: Mapping[str, float] = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
"""Unit of a time → ns."""

SHARES: Mapping[str, float] = {"share": 1.0, "%": 0.01}
"""Unit of a loss → share of packets."""

_SLOWEST_BPS, _FASTEST_BPS = 1000, 10**12
_MOST_LOSS = 2**32 - 1
_LONGEST_DELAY_NS = 3600 * 10**9
_MISSING = frozenset({"", "-", "na", "nan", "null", "none"})


@dataclass(frozen=True)
class Column:
    """A column of a table and the unit of its numbers."""

    name: str
    unit: str


@dataclass(frozen=True)
class Reading:
    """What to read of a table. `where` has columns with the value that a row must have to count.

    `rate`, `rtt`, `delay` and `loss` are columns; `delay` is of one direction, `rtt` of both, and at most one of them
    is given. `time` is a column of stamps; without it every row lasts for `every_ns`.
    """

    rate: Column
    rtt: Column | None = None
    delay: Column | None = None
    loss: Column | None = None
    time: Column | None = None
    every_ns: int = 10**9
    where: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Imported:
    """A trace as text. `rows` were read, `filled` of them had no rate (or delay, or loss), so that the row before lasts
    on; `stopped` had a rate below 1 kbit/s, which is what they get. `lasts_ns` is the trace's length.
    """

    text: str
    rows: int
    filled: int
    stopped: int
    lasts_ns: int


def column(text: str, units: Mapping[str, float], usual: str) -> Column:
    """Return the column that `NAME` or `NAME:UNIT` names; TraceError for a unit that is not among `units`."""
    name, colon, unit = text.rpartition(":")
    if not colon:
        return Column(text, usual)
    if unit not in units:
        raise TraceError(f"{text}: {unit!r} is no unit of it; allowed: {', '.join(units)}")
    return Column(name, unit)


def read_table(data: bytes, reading: Reading, name: str) -> Imported:
    """Return the trace in a table. `name` is the file as messages call it; TraceError where it has none."""
    rows = _rows(data, reading, name)
    lasting = _durations(rows, reading, name)
    lines: list[tuple[int, int, int, int]] = []
    filled = stopped = 0
    for (where, row), keep_ns in zip(rows, lasting, strict=True):
        values = _values(row, reading, where)
        if values is None:
            filled += 1
            if lines:
                keep, *rest = lines[-1]
                lines[-1] = (keep + keep_ns, *rest)  # type: ignore[assignment]
            continue
        delay_ns, rate_bps, loss = values
        stopped += rate_bps < _SLOWEST_BPS
        lines.append((keep_ns, delay_ns, max(_SLOWEST_BPS, rate_bps), loss))
    if not lines:
        raise TraceError(f"{name}: no row has a rate in column {reading.rate.name}")
    text = [f"# KEEP,LATENCY,RATE,LOSS,LIMIT (TheaterQ) of {name}: longlook link import"]
    text += [f"{keep // 1000},{delay},{rate},{loss},0" for keep, delay, rate, loss in lines]
    return Imported("\n".join(text) + "\n", len(rows), filled, stopped, sum(keep for keep, *_ in lines))


def _rows(data: bytes, reading: Reading, name: str) -> list[tuple[str, Mapping[str, str]]]:
    """Return the rows that count, each with its place in the file."""
    if len(data) > LARGEST_BYTES:
        raise TraceError(f"{name}: {len(data)} bytes; allowed: at most {LARGEST_BYTES}")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TraceError(f"{name}: not text (byte {error.start}); allowed: a CSV file with a line of names") from error
    try:
        dialect = csv.Sniffer().sniff(text.partition("\n")[0], ",;\t")
    except csv.Error:
        dialect = csv.excel
    table = csv.DictReader(io.StringIO(text, newline=""), dialect=dialect)
    names = list(table.fieldnames or ())
    wanted = [each.name for each in _columns(reading)] + list(reading.where)
    for one in wanted:
        if one not in names:
            raise TraceError(f"{name}: no column {one!r}{nearest(one, names)}; columns: {', '.join(names) or 'none'}")
    found: list[tuple[str, Mapping[str, str]]] = []
    try:
        for row in table:
            cells = {key: (value or "").strip() for key, value in row.items() if isinstance(key, str)}
            if all(cells[key] == value for key, value in reading.where.items()):
                found.append((f"{name}:{table.line_num}", cells))
    except csv.Error as error:
        raise TraceError(f"{name}:{table.line_num}: {error}") from error
    if not found:
        chosen = " and ".join(f"{key}={value}" for key, value in reading.where.items())
        raise TraceError(f"{name}: no row" + (f" has {chosen}" if chosen else ""))
    return found


def _columns(reading: Reading) -> Sequence[Column]:
    every = (reading.rate, reading.rtt, reading.delay, reading.loss, reading.time)
    return [each for each in every if each is not None]


def _durations(rows: Sequence[tuple[str, Mapping[str, str]]], reading: Reading, name: str) -> list[int]:
    """Return how long each row lasts, in ns: until the next one's stamp; the last one as long as the others' median."""
    if reading.time is None:
        return [reading.every_ns] * len(rows)
    stamps = []
    for where, row in rows:
        stamp = _number(row[reading.time.name], where, reading.time)
        if stamp is None:
            raise TraceError(f"{where}: no time in column {reading.time.name}")
        stamps.append((where, round(stamp * TIMES[reading.time.unit])))
    if len(stamps) == 1:
        raise TraceError(f"{name}: one row with a time does not say how long it lasts; give --every instead of --time")
    lasting = []
    for (before, at_ns), (after, next_ns) in pairwise(stamps):
        if next_ns - at_ns < 1000:
            raise TraceError(
                f"{after}: its time is not 1 µs or more after that of {before}; "
                "choose the rows of one recording with --where"
            )
        lasting.append(next_ns - at_ns)
    return [*lasting, round(median(lasting))]


def _values(row: Mapping[str, str], reading: Reading, where: str) -> tuple[int, int, int] | None:
    """Return a row's delay in ns, rate in bit/s and loss as TheaterQ writes it; None where one of them is missing."""
    rate = _number(row[reading.rate.name], where, reading.rate)
    if rate is None:
        return None
    rate_bps = rate * RATES[reading.rate.unit]
    if not 0 <= rate_bps <= _FASTEST_BPS:
        raise TraceError(f"{where}: {reading.rate.name} is {rate:g} {reading.rate.unit}; allowed: 0 to 1 Tbit/s")
    delay_ns = loss = 0.0
    for timed, ways in ((reading.rtt, 2), (reading.delay, 1)):
        if timed is not None:
            taken = _number(row[timed.name], where, timed)
            if taken is None:
                return None
            delay_ns = taken * TIMES[timed.unit] / ways
            if not 0 <= delay_ns <= _LONGEST_DELAY_NS:
                raise TraceError(f"{where}: {timed.name} is {taken:g} {timed.unit}; allowed: 0 to an hour each way")
    if reading.loss is not None:
        lost = _number(row[reading.loss.name], where, reading.loss)
        if lost is None:
            return None
        loss = lost * SHARES[reading.loss.unit]
        if not 0 <= loss <= 1:
            raise TraceError(f"{where}: {reading.loss.name} is {lost:g} {reading.loss.unit}; allowed: 0 to 100 %")
    return round(delay_ns), round(rate_bps), round(loss * _MOST_LOSS)


def _number(text: str, where: str, of: Column) -> float | None:
    """Return the number of a cell; None where it is empty or says that it is missing."""
    if text.lower() in _MISSING:
        return None
    try:
        number = float(text)
    except ValueError as error:
        raise TraceError(f"{where}: {of.name} is {text[:40]!r}, which is no number") from error
    if not math.isfinite(number):
        raise TraceError(f"{where}: {of.name} is {text[:40]!r}, which is no number")
    return number
