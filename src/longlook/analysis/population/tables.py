"""Tables of measured users → quantities, row by row: exports of real-user monitoring, M-Lab's NDT7, users by network.

A number never gets a unit that nobody wrote: the file's mapping has it, the column's name ends with it, or the format
is published. Values that no path has are refused with the row, the unit and the fix.
"""

import csv
import io
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from longlook.analysis.population.people import BLOCKED, LOSS, RATE, RTT
from longlook.analysis.stats.procedures import Floats
from longlook.core import InputError, files, nearest
from longlook.network import RATES, SHARES, TIMES, Column, TraceError, column

MOST_BYTES = 1 << 30
WEIGHT, KEY = "weight", "key"
_MISSING = frozenset({"", "-", "na", "n/a", "nan", "null", "none"})
_TRUE, _FALSE = frozenset({"1", "true", "yes", "t"}), frozenset({"0", "false", "no", "f"})
_SECOND_NS, _PERCENT = 1e9, 100.0
_UNITS: Mapping[str, Mapping[str, float]] = {RTT: TIMES, RATE: RATES, LOSS: SHARES}
_ENDINGS: Mapping[str, Mapping[str, str]] = {
    RTT: {"ns": "ns", "us": "us", "ms": "ms", "s": "s", "sec": "s", "seconds": "s", "millis": "ms"},
    RATE: {"bps": "bit", "kbps": "kbit", "mbps": "Mbit", "gbps": "Gbit", "mbit": "Mbit", "kbit": "kbit"},
    LOSS: {"pct": "%", "percent": "%", "share": "share", "fraction": "share"},
}
"""Quantity → the end of a column's name → unit."""
_NAMES: Mapping[str, Sequence[str]] = {
    RTT: ("rtt", "min_rtt", "minrtt", "latency", "round_trip"),
    RATE: ("rate", "downlink", "download", "throughput", "bandwidth"),
    LOSS: ("loss", "loss_rate", "packet_loss"),
    BLOCKED: ("blocked", "udp_blocked", "quic_blocked"),
    WEIGHT: ("weight", "users", "count", "views", "sessions", "samples"),
}
"""Quantity → the names of its column, without unit, in a table without a mapping."""
_NDT7: Mapping[str, str] = {RTT: "MinRTT:ms", RATE: "MeanThroughputMbps:Mbit", LOSS: "LossRate:share"}
"""Published columns of M-Lab's unified views (`a.MinRTT` in ms, `a.MeanThroughputMbps`, `a.LossRate` from 0 to 1)."""
_PLAUSIBLE: Mapping[str, tuple[float, float, str]] = {
    RTT: (2e-4, 10.0, "s"),
    RATE: (1e4, 1e10, "bit/s"),
    LOSS: (0.0, 0.5, "of the packets"),
}
"""Quantity → between which values the median of a population lies, whoever it is."""
HINT = "docs/guide/decide.md says how columns are named and get their units"


@dataclass(frozen=True)
class Measured:
    """The rows of a table that have every quantity. `quantities` and `weights` are as long as `keys`, if there are any.

    `left_out` says how many rows were left out, by reason.
    """

    quantities: Mapping[str, Floats]
    weights: Floats | None
    keys: tuple[str, ...]
    rows: int
    left_out: Mapping[str, int]
    read_as: Sequence[str]  # which column is which quantity, in words


@dataclass(frozen=True)
class _Table:
    name: str
    names: Sequence[str]
    rows: Sequence[tuple[int, Sequence[str]]]

    def index(self, name: str) -> int:
        """Return the number of a column, from 0; InputError if there is none, or several."""
        known = list(self.names)
        if known.count(name) != 1:
            why = "several columns" if name in known else "no column"
            listed = ", ".join(known[:40])
            raise InputError(f"{self.name}: {why} {name!r}{nearest(name, known)}; columns: {listed}", HINT)
        return known.index(name)


def read_measured(
    path: Path, columns: Mapping[str, str], form: str | None = None, where: Mapping[str, str] | None = None
) -> Measured:
    """Return the rows of a CSV file. `columns` maps quantities, WEIGHT and KEY to `NAME` or `NAME:UNIT`.

    `form` is `ndt7` for M-Lab's columns. Without columns or a form, columns are found by their names. `where` has the
    value that a column must have in rows that count. InputError names the row and what to change.
    """
    table = _read(path)
    wanted = _wanted(table, columns, form)
    chosen = [(table.index(name), value) for name, value in (where or {}).items()]
    rows = [(line, cells) for line, cells in table.rows if all(_cell(cells, at) == value for at, value in chosen)]
    if not rows:
        named = " and ".join(f"{name} = {value}" for name, value in (where or {}).items())
        raise InputError(f"{table.name}: no row" + (f" with {named}" if named else " below the line of names"), HINT)
    found = {name: _values(table, rows, name, each) for name, each in wanted.items() if name != KEY}
    keys = [_cell(cells, table.index(wanted[KEY].name)) for _, cells in rows] if KEY in wanted else []
    whole = np.ones(len(rows), np.bool_)
    left_out: dict[str, int] = {}
    for name, values in found.items():
        lacking = whole & ~np.isfinite(values)
        if lacking.any():
            left_out[f"without a value in {wanted[name].name}"] = int(lacking.sum())
        whole &= np.isfinite(values)
    if not whole.any():
        raise InputError(f"{table.name}: no row has all of {', '.join(each.name for each in wanted.values())}", HINT)
    kept = {name: values[whole] for name, values in found.items()}
    weights = kept.pop(WEIGHT, None)
    for name, values in kept.items():
        _check_plausible(table.name, name, wanted[name], values)
    if weights is not None and not weights.sum() > 0:
        raise InputError(f"{table.name}: all of {wanted[WEIGHT].name} is 0: nobody is left", HINT)
    read_as = [f"{each.name} ({each.unit})" if each.unit else each.name for each in wanted.values()]
    names = tuple(key for key, is_kept in zip(keys, whole, strict=True) if is_kept) if keys else ()
    return Measured(kept, weights, names, len(rows), left_out, read_as)


def read_users_by_key(path: Path, key: str, users: str) -> dict[str, float]:
    """Return how many users stand behind each key, such as APNIC's estimates by autonomous system."""
    table = _read(path)
    at, of = table.index(key), table.index(users)
    found: dict[str, float] = {}
    for line, cells in table.rows:
        text = _cell(cells, of).replace(" ", "")
        if text.lower() in _MISSING:
            continue
        number = _number(text.replace(",", ""), f"{table.name}:{line}", users)
        if number < 0:
            raise InputError(f"{table.name}:{line}: {users} = {text}: a number of users is 0 or more", HINT)
        name = plain_key(_cell(cells, at))
        found[name] = found.get(name, 0.0) + number
    if not sum(found.values()) > 0:
        raise InputError(f"{table.name}: column {users!r} has no users", HINT)
    return found


def plain_key(text: str) -> str:
    """Return a key as both files may write it: AS3320 and 3320 are one network."""
    return text.strip().upper().removeprefix("AS")


def _read(path: Path) -> _Table:
    try:
        text = files.read_named(path, MOST_BYTES).decode("utf-8-sig")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(f"{path}: cannot be read: {reason}", "name a CSV file with a line of names") from error
    separator = max(",;\t", key=text.partition("\n")[0].count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        names = [name.strip() for name in next(reader, [])]
        rows = [(reader.line_num, cells) for cells in reader if any(cell.strip() for cell in cells)]
    except csv.Error as error:
        raise InputError(f"{path.name}:{reader.line_num}: {error}", HINT) from error
    if not any(names) or all(map(_is_number, names)):
        raise InputError(f"{path.name}: the first line has no names of columns", HINT)
    if wrong := next(((line, cells) for line, cells in rows if len(cells) > len(names)), None):
        raise InputError(f"{path.name}:{wrong[0]}: {len(wrong[1])} cells; the first line has {len(names)} names", HINT)
    return _Table(path.name, names, rows)


def _wanted(table: _Table, columns: Mapping[str, str], form: str | None) -> dict[str, Column]:
    """Return the column of each quantity; InputError if round trip or rate has none, or a number has no unit."""
    texts = dict(columns)
    if form == "ndt7":
        by_end = {name.rpartition(".")[2].removeprefix("a_"): name for name in table.names}
        for name, text in _NDT7.items():
            known, _, unit = text.partition(":")
            texts.setdefault(name, f"{by_end.get(known, known)}:{unit}")
    elif not any(name in texts for name in (RTT, RATE, LOSS)):
        texts = {**_by_names(table), **texts}
    if lacking := [name for name in (RTT, RATE) if name not in texts]:
        listed = ", ".join(table.names[:40])
        hint = f'[measurements] {lacking[0]} = "COLUMN:UNIT"; columns: {listed}'
        raise InputError(f"{table.name}: which column is the {'round trip' if lacking[0] == RTT else 'rate'}?", hint)
    return {name: _column(table, name, text) for name, text in texts.items()}


def _by_names(table: _Table) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in table.names:
        plain = re.sub(r"[^a-z0-9]+", "_", re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower()).strip("_")
        for quantity, known in _NAMES.items():
            ends = ["", *(f"_{end}" for end in _ENDINGS.get(quantity, ()))]
            if quantity not in found and any(plain == f"{each}{end}" for each in known for end in ends):
                found[quantity] = name
    return found


def _column(table: _Table, quantity: str, text: str) -> Column:
    units = _UNITS.get(quantity)
    if units is None:
        table.index(text)
        return Column(text, "")
    if text in table.names:
        end = re.split(r"[^A-Za-z]+", re.sub(r"([a-z])([A-Z])", r"\1_\2", text))[-1].lower()
        unit = "%" if text.rstrip().endswith("%") else _ENDINGS[quantity].get(end)
        if unit is None:
            example = next(iter({RTT: "ms", RATE: "Mbit", LOSS: "%"}[quantity] for _ in (0,)))
            hint = f'write {quantity} = "{text}:{example}"; units: {", ".join(units)}'
            raise InputError(f"{table.name}: column {text!r} has no unit", hint)
        return Column(text, unit)
    try:
        found = column(text, units, "")
    except TraceError as error:
        raise InputError(f"{table.name}: {quantity} = {error}", HINT) from error
    table.index(found.name)
    return found


def _values(table: _Table, rows: Sequence[tuple[int, Sequence[str]]], quantity: str, of: Column) -> Floats:
    """Return a quantity in its own unit, shape (rows,): nan where a row has no value."""
    at = table.index(of.name)
    scale = _scale(quantity, of.unit)
    values = np.array(list(_numbers(table, rows, quantity, of, at)), np.float64)
    if not np.isfinite(values).any():
        raise InputError(f"{table.name}: column {of.name!r} is empty", "name another column, or leave it out")
    found: Floats = values * scale
    return found


def _numbers(
    table: _Table, rows: Sequence[tuple[int, Sequence[str]]], quantity: str, of: Column, at: int
) -> Iterator[float]:
    for line, cells in rows:
        text = _cell(cells, at)
        where = f"{table.name}:{line}"
        if text.lower() in _MISSING:
            yield math.nan
            continue
        if quantity == BLOCKED:
            yield _truth(text, where, of.name)
            continue
        number = _number(text, where, of.name)
        if number < 0:
            raise InputError(f"{where}: {of.name} = {text} is negative", "correct the row, or leave it out by `where`")
        if quantity == LOSS and number * SHARES[of.unit] > 1:
            fix = f'write loss = "{of.name}:%"' if of.unit == "share" else "correct the row"
            raise InputError(f"{where}: {of.name} = {text}: more than all packets are lost, read in {of.unit}", fix)
        yield math.nan if quantity in (RTT, RATE) and number == 0 else number


def _scale(quantity: str, unit: str) -> float:
    if quantity == RTT:
        return TIMES[unit] / _SECOND_NS
    return RATES[unit] if quantity == RATE else SHARES[unit] if quantity == LOSS else 1.0


def _check_plausible(name: str, quantity: str, of: Column, values: Floats) -> None:
    if quantity not in _PLAUSIBLE:
        return
    low, high, unit = _PLAUSIBLE[quantity]
    median = float(np.median(values))
    if not low <= median <= high:
        units = ", ".join(_UNITS[quantity])
        hint = f'write {quantity} = "{of.name}:UNIT" with another unit: {units}'
        raise InputError(
            f"{name}: the median of {of.name}, read in {of.unit}, is {median:.3g} {unit}, as of no population", hint
        )


def _truth(text: str, where: str, name: str) -> float:
    if text.lower() in _TRUE:
        return 1.0
    if text.lower() in _FALSE:
        return 0.0
    raise InputError(f"{where}: {name} = {text}: neither yes nor no", "write 1 or 0, true or false, yes or no")


def _number(text: str, where: str, name: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise InputError(f"{where}: {name} = {text}: not a number", "correct the row; a value that is missing is empty")
    return found


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _cell(cells: Sequence[str], at: int) -> str:
    return cells[at].strip() if at < len(cells) else ""
