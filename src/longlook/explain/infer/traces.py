"""The forms in which callers pass traces, converted to the one table that the program reads."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from longlook.core import InputError

Trace: TypeAlias = Iterable[tuple[str | None, int]]
"""Name and time in ns of each event, in order of time. None as the name is the trace's end, if that is known."""

Traces: TypeAlias = pa.Table | Mapping[str, Trace] | Sequence[Trace] | Any
"""Traces by name or in order, or a table (Arrow, pandas) with the columns trace, time_ns and name."""

_TEXT = pa.dictionary(pa.int32(), pa.string())
SCHEMA = pa.schema([pa.field("trace", _TEXT), pa.field("time_ns", pa.int64()), pa.field("name", _TEXT)])

_HINT = "hand over sequences of (name, time in ns), or a table with the columns trace, time_ns and name"


def as_table(traces: Traces) -> pa.Table:
    """Return rows of SCHEMA in one chunk. A row without a name is the end of its trace. Raise InputError for other
    data.
    """
    if isinstance(traces, pa.Table):
        return _from_table(traces)
    if hasattr(traces, "columns"):  # a pandas data frame, without importing pandas
        return _from_table(pa.Table.from_pandas(traces, preserve_index=False))
    named = traces.items() if isinstance(traces, Mapping) else ((str(n), trace) for n, trace in enumerate(traces))
    labels: list[str] = []
    lengths: list[int] = []
    names: list[str | None] = []
    times: list[int] = []
    try:
        for label, trace in named:
            before = len(names)
            for name, time_ns in trace:
                names.append(name)
                times.append(time_ns)
            labels.append(label)
            lengths.append(len(names) - before)
        return pa.table(
            {
                "trace": _runs(labels, lengths),
                "time_ns": pa.array(times, pa.int64()),
                "name": pa.array(names, pa.string()).dictionary_encode(),
            },
            schema=SCHEMA,
        )
    except (TypeError, ValueError, pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
        raise InputError(f"these are not traces: {error}", _HINT) from error


def _runs(labels: Sequence[str], lengths: Sequence[int]) -> pa.DictionaryArray:
    """Return each label as often as its trace is long."""
    numbers = np.repeat(np.arange(len(labels), dtype=np.int32), lengths)
    return pa.DictionaryArray.from_arrays(pa.array(numbers), pa.array(labels, pa.string()))


def _from_table(table: pa.Table) -> pa.Table:
    missing = [name for name in SCHEMA.names if name not in table.column_names]
    if missing:
        raise InputError(f"the table has no column {', '.join(missing)}", _HINT)
    try:
        columns = {name: _column(table[name], SCHEMA.field(name).type) for name in SCHEMA.names}
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise InputError(f"the table's columns are of other types: {error}", _HINT) from error
    return pa.table(columns, schema=SCHEMA)


def _column(column: pa.ChunkedArray, wanted: pa.DataType) -> pa.Array:
    joined = column.unify_dictionaries().combine_chunks() if pa.types.is_dictionary(column.type) else column
    if isinstance(joined, pa.ChunkedArray):
        joined = joined.combine_chunks()
    if not pa.types.is_dictionary(wanted) or joined.type == wanted:
        return joined.cast(wanted)
    if pa.types.is_dictionary(joined.type):
        return pa.DictionaryArray.from_arrays(joined.indices.cast(pa.int32()), joined.dictionary.cast(pa.string()))
    return pc.cast(joined, pa.string()).dictionary_encode()
