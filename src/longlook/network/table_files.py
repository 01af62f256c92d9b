"""Files of measurements → rows of texts by column: CSV, blanks, JSON of Sabre and of iperf3. Bytes in, rows out."""

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from longlook.core import nearest
from longlook.network.traces import LARGEST_BYTES, TraceError

Row = tuple[str, Mapping[str, str]]
"""A row: its place in the file for messages, and its cells by column."""

SEPARATORS: Mapping[str, str | None] = {"comma": ",", "semicolon": ";", "tab": "\t", "blanks": None}
"""Separators by the name that an option has for them; blanks are any number of spaces and tabs."""


@dataclass(frozen=True)
class MeasurementTable:
    """The columns of a file and its rows; `lasts` is the column that says how long a row lasts, with its unit."""

    names: Sequence[str]
    rows: Sequence[Row]
    lasts: tuple[str, str] | None = None


def open_table(
    data: bytes, name: str, wanted: Sequence[str], separator: str | None, *, header: bool
) -> MeasurementTable:
    """Return the rows of a file that has the columns `wanted`, each once.

    `separator` is a name of SEPARATORS; None takes the separator that gives the columns. Without `header`, columns are
    numbered from 1. `name` is the file as messages call it. Raise TraceError if the file is no table, is too large, or
    lacks a column.
    """
    if len(data) > LARGEST_BYTES:
        raise TraceError(f"{name}: {len(data)} bytes; allowed: at most {LARGEST_BYTES}")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TraceError(f"{name}: not text (byte {error.start}); allowed: a CSV file with a line of names") from error
    try:
        table = _of_json(text, name) if text.lstrip()[:1] in ("[", "{") else None
        found = table or _of_text(text, name, wanted, separator, header=header)
    except csv.Error as error:
        raise TraceError(f"{name}: {error}") from error
    for one in wanted:
        if found.names.count(one) != 1:
            why = "no column" if one not in found.names else "several columns"
            columns = f"columns: {', '.join(found.names) or 'none'}"
            near = nearest(one, list(found.names))
            raise TraceError(f"{name}: {why} {one!r}{near}; {columns}{_advice(found, header)}")
    return found


def _advice(found: MeasurementTable, header: bool) -> str:
    words = " ".join(found.names).replace(",", " ").split()
    if header and words and all(map(_is_number, words)):
        return "; its first line has no names: give --no-header, and columns by their numbers, as --rate 2:Mbit"
    return ""


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _of_text(text: str, name: str, wanted: Sequence[str], separator: str | None, *, header: bool) -> MeasurementTable:
    tried = [separator] if separator is not None else list(SEPARATORS)
    found = []
    for each in tried:
        lines = _lines(text, SEPARATORS[each])
        first = next(lines, (1, []))
        names = [one.strip() for one in first[1]] if header else [str(at + 1) for at in range(len(first[1]))]
        found.append((sum(one in names for one in wanted), each != "blanks" and len(names), names, first, lines))
    _, _, names, first, lines = max(found, key=lambda each: each[:2])
    rows = [] if header else [_row(name, names, first)]
    rows += [_row(name, names, line) for line in lines if line[1]]
    return MeasurementTable(names, rows)


def _row(name: str, names: Sequence[str], line: tuple[int, Sequence[str]]) -> Row:
    number, cells = line
    if len(cells) > len(names):
        raise TraceError(f"{name}:{number}: {len(cells)} cells; allowed: {len(names)}, as in the first line")
    return f"{name}:{number}", dict(zip(names, (cell.strip() for cell in cells), strict=False))


def _lines(text: str, separator: str | None) -> Iterator[tuple[int, list[str]]]:
    if separator is None:
        yield from ((number, line.split()) for number, line in enumerate(text.splitlines(), 1))
        return
    table = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    for cells in table:
        yield table.line_num, cells


def _of_json(text: str, name: str) -> MeasurementTable | None:
    """Return the rows of a JSON list of objects, as Sabre and dash.js have it, or of iperf3; None for other text."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None  # a line of names may begin with a bracket
    if isinstance(document, dict):
        return _of_iperf3(document, name)
    rows = [_cells(each) for each in document if isinstance(each, dict)] if isinstance(document, list) else []
    if not rows or len(rows) != len(document):
        raise TraceError(f"{name}: JSON, but no list of objects with numbers, nor iperf3's (iperf3 -J)")
    table = _numbered(rows, name)
    return replace(table, lasts=("duration_ms", "ms") if "duration_ms" in table.names else None)


def _of_iperf3(document: Mapping[str, Any], name: str) -> MeasurementTable:
    intervals = document.get("intervals")
    if not isinstance(intervals, list):
        raise TraceError(f"{name}: JSON, but no list of objects with numbers, nor iperf3's (iperf3 -J)")
    if document.get("error"):
        raise TraceError(f"{name}: iperf3 failed: {str(document['error'])[:200]}; measure again")
    rows = []
    for interval in intervals:
        whole = interval.get("sum") if isinstance(interval, dict) else None
        if not isinstance(whole, dict) or whole.get("omitted") is True:
            continue
        streams = interval.get("streams")
        rtts_us = [each.get("rtt") for each in streams if isinstance(each, dict)] if isinstance(streams, list) else []
        known = [rtt_us for rtt_us in rtts_us if isinstance(rtt_us, int | float)]
        rows.append(_cells({**whole, **({"rtt": sum(known) / len(known)} if known else {})}))
    if not rows:
        raise TraceError(f"{name}: iperf3's report has no interval; measure for longer than one (-t, -i)")
    return replace(_numbered(rows, name), lasts=("seconds", "s"))


def _numbered(rows: Sequence[Mapping[str, str]], name: str) -> MeasurementTable:
    names = list(dict.fromkeys(key for row in rows for key in row))
    return MeasurementTable(names, [(f"{name}: row {number}", row) for number, row in enumerate(rows, 1)])


def _cells(row: Mapping[str, Any]) -> dict[str, str]:
    plain = {key: value for key, value in row.items() if not isinstance(value, dict | list)}
    return {key: "" if value is None else str(value) for key, value in plain.items()}
