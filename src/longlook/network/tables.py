"""Recorded measurements of a path as a table become a trace: any CSV with a column of rates, such as Lumos5G's.

The output has TheaterQ's simple format, which `trace(FILE)` reads (`longlook.network.traces`). Bytes in, text out.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import pairwise
from statistics import median

from longlook.network.table_files import MeasurementTable, Row, open_table
from longlook.network.traces import LONGEST_DELAY_NS, SLOWEST_BPS, U32_MAX, UNLIMITED_BPS, TraceError, parse_trace

FASTEST_BPS = 10e9
"""The rate above which no path of a drive test, a home or a phone is."""
SLOWEST_MEDIAN_BPS = 10e3
PLAUSIBLE_DELAY_NS = 10e9
LARGEST_LOSS = 0.5
SHORTEST_ROW_US, LONGEST_ROW_US = 1_000, 3_600_000_000
GAP = 5
"""A row that lasts longer than this many times the median stands for rows that are missing."""
RATES: Mapping[str, float] = {"bit": 1.0, "kbit": 1e3, "Mbit": 1e6, "Gbit": 1e9, "kB": 8e3, "MB": 8e6}
"""Unit of a rate → bit/s."""

TIMES: Mapping[str, float] = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
"""Unit of a time → ns."""

SHARES: Mapping[str, float] = {"share": 1.0, "%": 0.01}
"""Unit of a loss → share of packets."""

_USUAL_ROW_NS = 10**9
_MISSING = frozenset({"", "-", "na", "n/a", "nan", "null", "none"})


_DOTTED = re.compile(r"(\d{4})\.(\d{1,2})\.(\d{1,2})[_ T](\d{1,2})\.(\d{1,2})\.(\d{1,2})(\.\d+)?")
"""2019.12.16_11.50.00, as G-NetTrack and its data sets have it."""
_ZONED = re.compile(r"(.*\d)\s*([A-Z]{2,5})")
"""2023-04-04 10:07:07 CDT."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Line:
    """One line of the trace: how long it lasts, its delay of one way, its rate and its share of lost packets."""

    lasts_us: int
    delay_ns: int
    rate_bps: int
    loss: float


@dataclass(frozen=True)
class Contradiction:
    """A row's contradiction, or a value that is likely not meant, under the name of its check."""

    check: str
    problem: str


def contradictions(lines: Sequence[Line]) -> Iterator[Contradiction]:
    """Yield what no measured path has, and what rows are missing; `lines` are one or more."""
    rate_bps = median(line.rate_bps for line in lines)
    if rate_bps > FASTEST_BPS:
        problem = f"half of the rates are above {rate_bps / 1e9:g} Gbit/s: is the unit of --rate right?"
        yield Contradiction("rate_too_high", problem)
    elif rate_bps < SLOWEST_MEDIAN_BPS:
        problem = f"half of the rates are below {rate_bps / 1e3:g} kbit/s: is the unit of --rate right?"
        yield Contradiction("rate_too_low", problem)
    delay_ns = median(line.delay_ns for line in lines)
    if delay_ns > PLAUSIBLE_DELAY_NS:
        problem = f"half of the delays are above {delay_ns / 1e9:g} s each way: is the unit of --rtt or --delay right?"
        yield Contradiction("delay_too_long", problem)
    loss = sum(line.loss for line in lines) / len(lines)
    if loss > LARGEST_LOSS:
        yield Contradiction("loss_too_high", f"{loss:.0%} of packets are lost: is the unit of --loss right?")
    row_us = median(line.lasts_us for line in lines)
    if not SHORTEST_ROW_US <= row_us <= LONGEST_ROW_US:
        yield Contradiction("row_length", f"half of the rows last {row_us / 1e6:g} s: is the unit of their time right?")
    gaps = [line.lasts_us for line in lines[:-1] if line.lasts_us > GAP * row_us]
    if gaps:
        problem = (
            f"{len(gaps)} rows last {GAP} times as long as most or longer, up to {max(gaps) / 1e6:g} s: "
            "rows are missing, and the one before lasts on"
        )
        yield Contradiction("gaps", problem)


@dataclass(frozen=True)
class Column:
    """A column of a table and the unit of its numbers."""

    name: str
    unit: str


@dataclass(frozen=True)
class Reading:
    """The parts of a table to read. `where` has columns with the value that a row must have to count.

    `rate`, `rtt`, `delay` and `loss` are columns; `delay` is of one direction, `rtt` of both, and at most one of them
    is given. `time` is a column of stamps, `lasts` one of how long each row lasts; without them a row lasts as long as
    the file itself says, else for `every_ns`. `separator` is a name of `table_files.SEPARATORS`, None if any may be.
    Without `header`, columns are numbered from 1.
    """

    rate: Column
    rtt: Column | None = None
    delay: Column | None = None
    loss: Column | None = None
    time: Column | None = None
    lasts: Column | None = None
    every_ns: int | None = None
    where: Mapping[str, str] = field(default_factory=dict)
    separator: str | None = None
    header: bool = True


@dataclass(frozen=True)
class Imported:
    """A trace as text, and how it was made of `rows` rows.

    `skipped` rows came before all of rate, delay and loss were known, as far as they are read, and were left out.
    `filled` ones came later and lacked one of them, whose value before lasts on. `stopped` had a rate below 1 kbit/s,
    which is what they get. `lasts_us` is the trace's length. `implausible` is what no path has.
    """

    text: str
    rows: int
    skipped: int
    filled: int
    stopped: int
    lasts_us: int
    implausible: tuple[Contradiction, ...] = ()


def column(text: str, units: Mapping[str, float], usual: str) -> Column:
    """Return the column that `NAME` or `NAME:UNIT` names; TraceError for a unit that is not among `units`."""
    name, colon, unit = text.rpartition(":")
    if not colon:
        return Column(text, usual)
    if unit not in units:
        raise TraceError(f"{text}: {unit!r} is no unit of it; allowed: {', '.join(units)}")
    return Column(name, unit)


def read_table(data: bytes, reading: Reading, name: str) -> Imported:
    """Return the trace in a table. `name` is the file as messages call it; TraceError if it has none."""
    wanted = [each.name for each in _columns(reading)] + list(reading.where)
    table = open_table(data, name, wanted, reading.separator, header=reading.header)
    rows = _rows(table, reading, name)
    stamps_us = _stamps(rows, _timed(reading, table), name)
    entries: list[tuple[int, int, int, int]] = []  # from when, delay, rate, loss
    skipped = filled = stopped = 0
    known: tuple[int | None, ...] = (None, None, None)
    for (where, row), at_us in zip(rows, stamps_us, strict=False):
        values = _values(row, reading, where)
        before, known = known, tuple(old if new is None else new for old, new in zip(known, values, strict=True))
        delay_ns, rate_bps, loss = known
        if delay_ns is None or rate_bps is None or loss is None:
            skipped += 1
            continue
        filled += None in values
        if None in values and known == before:
            continue  # the row before lasts on
        stopped += rate_bps < SLOWEST_BPS
        entries.append((at_us, delay_ns, max(SLOWEST_BPS, rate_bps), loss))
    if not entries:
        raise TraceError(f"{name}: no row has a rate in column {reading.rate.name}")
    ends_us = [*(at_us for at_us, *_ in entries[1:]), stamps_us[-1]]
    lines = [
        f"{end_us - at_us},{delay},{rate},{loss},0"
        for (at_us, delay, rate, loss), end_us in zip(entries, ends_us, strict=True)
    ]
    text = "\n".join(["# KEEP,LATENCY,RATE,LOSS,LIMIT (TheaterQ), by longlook link import", *lines, ""])
    parse_trace(text.encode(), "rate", name)  # what a study reads must be what is written
    made = [
        Line(end_us - at_us, delay, rate, loss / U32_MAX)
        for (at_us, delay, rate, loss), end_us in zip(entries, ends_us, strict=True)
    ]
    lasts_us = ends_us[-1] - entries[0][0]
    return Imported(text, len(rows), skipped, filled, stopped, lasts_us, tuple(contradictions(made)))


def _rows(table: MeasurementTable, reading: Reading, name: str) -> list[Row]:
    """Return the rows that count, each with its place in the file."""
    found = [row for row in table.rows if all(row[1].get(key, "") == value for key, value in reading.where.items())]
    if not found:
        chosen = " and ".join(f"{key}={value}" for key, value in reading.where.items())
        raise TraceError(f"{name}: no row" + (f" has {chosen}" if chosen else ""))
    return found


def _columns(reading: Reading) -> Sequence[Column]:
    every = (reading.rate, reading.rtt, reading.delay, reading.loss, reading.time, reading.lasts)
    return [each for each in every if each is not None]


def _timed(reading: Reading, table: MeasurementTable) -> Reading:
    """Return the reading with the lengths of rows that the file itself has, unless it says where rows begin or end."""
    if table.lasts is None or (reading.time, reading.lasts, reading.every_ns) != (None, None, None):
        return reading
    return replace(reading, lasts=Column(*table.lasts))


def _stamps(rows: Sequence[Row], reading: Reading, name: str) -> list[int]:
    """Return when each row begins to hold and, behind them, when the last one ends, in µs.

    A row holds until the next one's stamp; the last one as long as the others' median.
    """
    if reading.lasts is not None:
        return _ends(rows, reading.lasts)
    if reading.time is None:
        every_ns = reading.every_ns or _USUAL_ROW_NS
        return [round(number * every_ns / 1000) for number in range(len(rows) + 1)]
    stamps = []
    zones: set[str] = set()
    for where, row in rows:
        cell = row.get(reading.time.name, "")
        if (date := date_us(cell)) is not None:
            zones.add(date[1])
            if len(zones) > 1:
                raise TraceError(
                    f"{where}: {cell} is of another time zone than the rows before; choose rows by --where"
                )
            stamps.append((where, date[0]))
            continue
        stamp = _number(cell, where, reading.time, "neither a number nor a date, as 2026-01-31T12:00:00")
        if stamp is None:
            raise TraceError(f"{where}: no time in column {reading.time.name}")
        stamps.append((where, round(stamp * TIMES[reading.time.unit] / 1000)))
    if len(stamps) == 1:
        raise TraceError(f"{name}: one row with a time does not say how long it lasts; give --every instead of --time")
    for (before, at_us), (after, next_us) in pairwise(stamps):
        if next_us <= at_us:
            raise TraceError(
                f"{after}: its time is not 1 µs or more after that of {before}; "
                "choose the rows of one recording with --where"
            )
    times = [at_us for _, at_us in stamps]
    return [*times, times[-1] + max(1, round(median(later - earlier for earlier, later in pairwise(times))))]


def _ends(rows: Sequence[Row], lasts: Column) -> list[int]:
    """Return when each row begins to hold, and when the last one ends, by how long each lasts, in µs."""
    sums_ns = [0.0]
    for where, row in rows:
        length = _number(row.get(lasts.name, ""), where, lasts)
        if length is None or length * TIMES[lasts.unit] < TIMES["us"]:
            raise TraceError(f"{where}: {lasts.name} is {row.get(lasts.name, '')!r}; a row lasts for 1 us or longer")
        sums_ns.append(sums_ns[-1] + length * TIMES[lasts.unit])
    return [round(sum_ns / 1000) for sum_ns in sums_ns]


def _values(row: Mapping[str, str], reading: Reading, where: str) -> tuple[int | None, int | None, int | None]:
    """Return a row's delay in ns, rate in bit/s and loss as TheaterQ writes it; None for each that is missing.

    Whatever is not read is 0.
    """
    rate = _number(row.get(reading.rate.name, ""), where, reading.rate)
    rate_bps = None if rate is None else rate * RATES[reading.rate.unit]
    if rate_bps is not None and not 0 <= rate_bps <= UNLIMITED_BPS:
        raise TraceError(f"{where}: {reading.rate.name} is {rate:g} {reading.rate.unit}; allowed: 0 to 1 Tbit/s")
    delay_ns: float | None = 0.0
    for timed, ways in ((reading.rtt, 2), (reading.delay, 1)):
        if timed is not None:
            taken = _number(row.get(timed.name, ""), where, timed)
            delay_ns = None if taken is None else taken * TIMES[timed.unit] / ways
            if delay_ns is not None and not 0 <= delay_ns <= LONGEST_DELAY_NS:
                raise TraceError(f"{where}: {timed.name} is {taken:g} {timed.unit}; allowed: 0 to an hour each way")
    loss: float | None = 0.0
    if reading.loss is not None:
        lost = _number(row.get(reading.loss.name, ""), where, reading.loss)
        loss = None if lost is None else lost * SHARES[reading.loss.unit]
        if loss is not None and not 0 <= loss <= 1:
            raise TraceError(f"{where}: {reading.loss.name} is {lost:g} {reading.loss.unit}; allowed: 0 to 100 %")
    lost_u32 = None if loss is None else round(loss * U32_MAX)
    return None if delay_ns is None else round(delay_ns), None if rate_bps is None else round(rate_bps), lost_u32


def _number(text: str, where: str, of: Column, otherwise: str = "no number") -> float | None:
    """Return the number of a cell; None if it is empty or says that it is missing."""
    if text.lower() in _MISSING:
        return None
    try:
        number = float(text)
    except ValueError as error:
        raise TraceError(f"{where}: {of.name} is {text[:40]!r}, which is {otherwise}") from error
    if not math.isfinite(number):
        raise TraceError(f"{where}: {of.name} is {text[:40]!r}, which is {otherwise}")
    return number


def date_us(text: str) -> tuple[int, str] | None:
    """Return a date as µs since 1970, and the name of its time zone, whose distance from UTC is not known; else None.

    A date without a zone, or with a named one, counts as if it were UTC: differences within a zone are right.
    """
    zone = ""
    if (named := _ZONED.fullmatch(text)) is not None:
        text, zone = named.groups()
        zone = "" if zone in ("UTC", "GMT") else zone
    if (dotted := _DOTTED.fullmatch(text)) is not None:
        year, month, day, hour, minute, second, fraction = dotted.groups()
        text = f"{year}-{month:0>2}-{day:0>2}T{hour:0>2}:{minute:0>2}:{second:0>2}{fraction or ''}"
    try:
        date = datetime.fromisoformat(text)
    except ValueError:
        return None
    since = (date if date.tzinfo else date.replace(tzinfo=UTC)) - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds, zone
