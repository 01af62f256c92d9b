"""Plain logs of events: CSV and JSON lines with the columns trace, time_ns and event."""

import io
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.json

from longlook.core import InputError, files
from longlook.explain import as_table

COLUMNS = ("trace", "time_ns", "event")
_HINT = "write lines of trace,time_ns,event; an empty event is the end of its trace"


def is_csv(begin: bytes) -> bool:
    """Return whether the first line of a file, which begins so, names the columns of such a log in CSV."""
    first = begin.partition(b"\n")[0].decode("utf-8", "replace").removeprefix("\ufeff")
    return set(COLUMNS) <= {name.strip().strip('"') for name in first.split(",")}


def is_log(begin: bytes, *, csv: bool = False) -> bool:
    """Return whether a file that begins so is such a log; `csv` says that its name calls it CSV."""
    if csv or is_csv(begin):
        return True
    try:
        row = json.loads(begin.partition(b"\n")[0])
    except (ValueError, RecursionError):
        return False
    return isinstance(row, dict) and set(COLUMNS) <= row.keys()


def read_log(path: Path, name: str, *, csv: bool) -> tuple[pa.Table, tuple[str, ...]]:
    """Return the traces (`infer.traces.SCHEMA`), each in order of time, and the problems of single lines.

    `name` is the file as messages call it, `csv` whether it is CSV and not lines of JSON.
    """
    skipped: list[int] = []
    try:
        if csv:
            table = _read_csv(path, name, skipped)
        else:
            schema = pa.schema([("trace", pa.string()), ("time_ns", pa.int64()), ("event", pa.string())])
            options = pa.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
            with files.open_named(path) as file:  # of a path Arrow would believe the ending
                table = pa.json.read_json(file, parse_options=options)
    except (pa.ArrowInvalid, pa.ArrowKeyError) as error:
        raise InputError(f"{name}: {error}", _HINT) from error
    if table.num_rows == 0:
        raise InputError(f"{name}: no events", _HINT)
    for column in ("trace", "time_ns"):
        if table[column].null_count:
            row = table[column].is_null().index(True).as_py()
            raise InputError(f"{name}: row {row + 1} has no {column}", _HINT)
    warnings = (
        [f"{name}: {len(skipped)} lines have not three columns, the first is line {skipped[0]}"] if skipped else []
    )
    ordered, moved = _ordered(as_table(table.rename_columns({"event": "name"})))
    if moved is not None:
        warnings.append(f"{name}: times run backwards, first in row {moved + 1}; rows were put in order")
    return ordered, tuple(warnings)


def _read_csv(path: Path, name: str, skipped: list[int]) -> pa.Table:
    try:
        data = files.read_named(path)
        data.decode()
    except UnicodeDecodeError as error:  # of a bad row Arrow would print a traceback, and not raise it
        raise InputError(f"{name}: not text in UTF-8 at byte {error.start + 1}", _HINT) from error

    def skip(row: "pa.csv.InvalidRow") -> str:
        skipped.append(row.number or 0)
        return "skip"

    return pa.csv.read_csv(
        io.BytesIO(data),
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
