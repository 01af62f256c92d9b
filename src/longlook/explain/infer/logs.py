"""Plain logs of events: CSV and JSON lines with the columns trace, time_ns and event."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.json

from longlook.core import files
from longlook.core.errors import InputError
from longlook.explain.infer.traces import as_table

COLUMNS = ("trace", "time_ns", "event")
_HINT = "write lines of trace,time_ns,event; an empty event is the end of its trace"


def is_log(path: Path) -> bool:
    """Return whether the file's first line is that of such a log."""
    with files.open_named(path) as file:
        first = file.readline(65_536)
    if path.suffix == ".csv":
        return True
    try:
        row = json.loads(first)
    except (ValueError, RecursionError):
        return False
    return isinstance(row, dict) and set(COLUMNS) <= row.keys()


def read_log(path: Path) -> tuple[pa.Table, tuple[str, ...]]:
    """Return the traces (`infer.traces.SCHEMA`), each in order of time, and the problems of single lines."""
    skipped: list[int] = []
    try:
        if path.suffix == ".csv":
            table = _read_csv(path, skipped)
        else:
            schema = pa.schema([("trace", pa.string()), ("time_ns", pa.int64()), ("event", pa.string())])
            options = pa.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
            table = pa.json.read_json(path, parse_options=options)
    except (pa.ArrowInvalid, pa.ArrowKeyError) as error:
        raise InputError(f"{path}: {error}", _HINT) from error
    if table.num_rows == 0:
        raise InputError(f"{path}: no events", _HINT)
    for name in ("trace", "time_ns"):
        if table[name].null_count:
            row = table[name].is_null().index(True).as_py()
            raise InputError(f"{path}: row {row + 1} has no {name}", _HINT)
    warnings = (
        [f"{path}: {len(skipped)} lines have not three columns, the first is line {skipped[0]}"] if skipped else []
    )
    ordered, moved = _ordered(as_table(table.rename_columns({"event": "name"})))
    if moved is not None:
        warnings.append(f"{path}: times run backwards, first in row {moved + 1}; rows were put in order")
    return ordered, tuple(warnings)


def _read_csv(path: Path, skipped: list[int]) -> pa.Table:
    try:
        files.read_named(path).decode()
    except UnicodeDecodeError as error:  # of a bad row Arrow would print a traceback, and not raise it
        raise InputError(f"{path}: not text in UTF-8 at byte {error.start + 1}", _HINT) from error

    def skip(row: "pa.csv.InvalidRow") -> str:
        skipped.append(row.number or 0)
        return "skip"

    return pa.csv.read_csv(
        path,
        read_options=pa.csv.ReadOptions(use_threads=False),
        parse_options=pa.csv.ParseOptions(invalid_row_handler=skip),
        convert_options=pa.csv.ConvertOptions(
            column_types={"trace": pa.string(), "time_ns": pa.int64(), "event": pa.string()},
            include_columns=list(COLUMNS),
            null_values=[""],
            strings_can_be_null=True,
        ),
    )


def _ordered(table: pa.Table) -> tuple[pa.Table, int | None]:
    """Return the rows of each trace in order of time, equal times as they stood, and the first row out of order, if
    any.
    """
    trace = table["trace"].combine_chunks().indices.to_numpy()
    time_ns = table["time_ns"].to_numpy()
    by_trace = np.argsort(trace, kind="stable")
    back = (np.diff(time_ns[by_trace]) < 0) & (np.diff(trace[by_trace]) == 0)
    if not back.any():
        return table, None
    return table.take(np.lexsort((time_ns, trace))), int(by_trace[1:][back].min())
