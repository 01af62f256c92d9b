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
from typing import Any

from longlook.core.registry import nearest
from longlook.network.traces import (
    LARGEST_BYTES,
    LONGEST_DELAY_NS,
    SLOWEST_BPS,
    U32_MAX,
    UNLIMITED_BPS,
    TraceError,
    parse_trace,
)

RATES: Mapping[str, float] = {"bit": 1.0, "kbit": 1e3, "Mbit": 1e6, "Gbit": 1e9, "kB": 8e3, "MB": 8e6}
"""Unit of a rate → bit/s."""

TIMES: Mapping[str, float] = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
"""Unit of a time → ns."""

SHARES: Mapping[str, float] = {"share": 1.0, "%": 0.01}
"""Unit of a loss → share of packets."""

_MISSING = frozenset({"", "-", "na", "n/a", "nan", "null", "none"})
_SEPARATORS = ",;\t"


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
    """A trace as text, and how it was made of `rows` rows.

    `skipped` rows came before the first with a rate (and delay, and loss) and were left out. `filled` ones came later
    and lacked one, so that the row before lasts on. `stopped` had a rate below 1 kbit/s, which is what they get.
    `lasts_us` is the trace's length.
    """

    text: str
    rows: int
    skipped: int
    filled: int
    stopped: int
    lasts_us: int


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
    stamps_us = _stamps(rows, reading, name)
    entries: list[tuple[int, int, int, int]] = []  # from when, delay, rate, loss
    skipped = filled = stopped = 0
    for (where, row), at_us in zip(rows, stamps_us, strict=False):
        values = _values(row, reading, where)
        if values is None:
            filled += bool(entries)
            skipped += not entries
            continue
        delay_ns, rate_bps, loss = values
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
    return Imported(text, len(rows), skipped, filled, stopped, ends_us[-1] - entries[0][0])


def _rows(data: bytes, reading: Reading, name: str) -> list[tuple[str, Mapping[str, str]]]:
    """Return the rows that count, each with its place in the file."""
    if len(data) > LARGEST_BYTES:
        raise TraceError(f"{name}: {len(data)} bytes; allowed: at most {LARGEST_BYTES}")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TraceError(f"{name}: not text (byte {error.start}); allowed: a CSV file with a line of names") from error
    wanted = [each.name for each in _columns(reading)] + list(reading.where)
    try:
        names, table = _open(text, wanted)
        for one in wanted:
            if names.count(one) != 1:
                why = "no column" if one not in names else "several columns"
                raise TraceError(f"{name}: {why} {one!r}{nearest(one, names)}; columns: {', '.join(names) or 'none'}")
        found: list[tuple[str, Mapping[str, str]]] = []
        for cells in table:
            if len(cells) > len(names):
                raise TraceError(
                    f"{name}:{table.line_num}: {len(cells)} cells; allowed: {len(names)}, as in the first line"
                )
            row = dict(zip(names, (cell.strip() for cell in cells), strict=False))
            if cells and all(row.get(key, "") == value for key, value in reading.where.items()):
                found.append((f"{name}:{table.line_num}", row))
    except csv.Error as error:
        raise TraceError(f"{name}: {error}") from error
    if not found:
        chosen = " and ".join(f"{key}={value}" for key, value in reading.where.items())
        raise TraceError(f"{name}: no row" + (f" has {chosen}" if chosen else ""))
    return found


def _open(text: str, wanted: Sequence[str]) -> tuple[list[str], Any]:
    """Return the names of a table's first line and a reader of the others, by the separator that fits `wanted`."""
    found = []
    for separator in _SEPARATORS:
        table = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        names = [one.strip() for one in next(table, [])]
        found.append((sum(one in names for one in wanted), len(names), names, table))
    _, _, names, table = max(found, key=lambda each: each[:2])
    return names, table


def _columns(reading: Reading) -> Sequence[Column]:
    every = (reading.rate, reading.rtt, reading.delay, reading.loss, reading.time)
    return [each for each in every if each is not None]


def _stamps(rows: Sequence[tuple[str, Mapping[str, str]]], reading: Reading, name: str) -> list[int]:
    """Return when each row begins to hold and, behind them, when the last one ends, in µs.

    A row holds until the next one's stamp; the last one as long as the others' median.
    """
    if reading.time is None:
        return [round(number * reading.every_ns / 1000) for number in range(len(rows) + 1)]
    stamps = []
    for where, row in rows:
        stamp = _number(row.get(reading.time.name, ""), where, reading.time)
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


def _values(row: Mapping[str, str], reading: Reading, where: str) -> tuple[int, int, int] | None:
    """Return a row's delay in ns, rate in bit/s and loss as TheaterQ writes it; None where one of them is missing."""
    rate = _number(row.get(reading.rate.name, ""), where, reading.rate)
    if rate is None:
        return None
    rate_bps = rate * RATES[reading.rate.unit]
    if not 0 <= rate_bps <= UNLIMITED_BPS:
        raise TraceError(f"{where}: {reading.rate.name} is {rate:g} {reading.rate.unit}; allowed: 0 to 1 Tbit/s")
    delay_ns = loss = 0.0
    for timed, ways in ((reading.rtt, 2), (reading.delay, 1)):
        if timed is not None:
            taken = _number(row.get(timed.name, ""), where, timed)
            if taken is None:
                return None
            delay_ns = taken * TIMES[timed.unit] / ways
            if not 0 <= delay_ns <= LONGEST_DELAY_NS:
                raise TraceError(f"{where}: {timed.name} is {taken:g} {timed.unit}; allowed: 0 to an hour each way")
    if reading.loss is not None:
        lost = _number(row.get(reading.loss.name, ""), where, reading.loss)
        if lost is None:
            return None
        loss = lost * SHARES[reading.loss.unit]
        if not 0 <= loss <= 1:
            raise TraceError(f"{where}: {reading.loss.name} is {lost:g} {reading.loss.unit}; allowed: 0 to 100 %")
    return round(delay_ns), round(rate_bps), round(loss * U32_MAX)


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
