"""Tables of events: rows that the normalisation adds, and the traces of a trial as one file in order of time.

The file is written in bounded memory, however long the traces are.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from longlook.timeline.events import EVENT_SCHEMA, EventKind, Events, among
from longlook.timeline.normalise.trace_files import TracePlace

Column = npt.NDArray[np.generic] | Sequence[object] | str | bool


def event_table(vantage: str, place: TracePlace, count: int, columns: Mapping[str, Column]) -> pa.Table:
    """Return `count` rows of one connection; a column given as one value has it in every row, one not given is null."""
    columns = {**columns, "vantage": vantage, "priming": place.priming}
    if place.flow is not None:
        columns["flow"] = place.flow
    arrays = []
    for field in EVENT_SCHEMA:
        given = columns.get(field.name)
        if given is None:
            arrays.append(pa.nulls(count, field.type))
        elif isinstance(given, str | bool):
            arrays.append(_constant(given, field.type, count))
        else:
            plain = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
            array = pa.array(given, plain)
            arrays.append(array.dictionary_encode().cast(field.type) if plain is not field.type else array)
    return pa.table(arrays, schema=EVENT_SCHEMA)


def _constant(value: str | bool, kind: pa.DataType, count: int) -> pa.Array:
    if isinstance(value, bool):
        return pa.array(np.full(count, value))
    indices = pa.array(np.zeros(count, np.int8)).cast(kind.index_type)
    return pa.DictionaryArray.from_arrays(indices, pa.array([value], pa.string()))


CONNECTION = "connection"
"""The column of a decoded trace that is an index into the connections of its account."""


@dataclass(frozen=True)
class DecodedTrace:
    """A decoded trace: its path, the offset to add to its times, its vantage, and the place of each connection."""

    path: Path
    offset_ns: int
    vantage: str
    places: Sequence[TracePlace]


def write_merged(
    parts: Sequence[DecodedTrace], extra: Sequence[pa.Table], out: Path, metadata: Mapping[str, Any]
) -> None:
    """Write all rows of all parts and of `extra` (tables with the columns of EVENT_SCHEMA) in order of time.

    Rows at the same time are in the order of parts; within a part they keep their order.
    """
    streams: list[Iterator[pa.Table]] = [_batches(part) for part in parts]
    streams += [iter([_sorted(table)]) for table in extra if table.num_rows]
    schema = EVENT_SCHEMA.with_metadata(
        Events(EVENT_SCHEMA.empty_table()).with_metadata(metadata).table.schema.metadata
    )
    with pq.ParquetWriter(out, schema, compression="zstd", compression_level=1) as writer:
        for table in _merged(streams):
            writer.write_table(table.cast(EVENT_SCHEMA), row_group_size=65_536)


def _merged(streams: Sequence[Iterator[pa.Table]]) -> Iterator[pa.Table]:
    """Yield tables in order of time: in each round the rows that certainly precede everything still to be read."""
    held: list[pa.Table | None] = [next(stream, None) for stream in streams]
    while any(table is not None for table in held):
        ends = [_last_ns(table) for table in held if table is not None]
        limit_ns = min(ends)
        ready = []
        for index, table in enumerate(held):
            if table is None:
                continue
            count = int(np.searchsorted(table["time_ns"].to_numpy(), limit_ns, side="right"))
            ready.append(table.slice(0, count))
            rest = table.slice(count)
            held[index] = rest if rest.num_rows else next(streams[index], None)
        yield _sorted(pa.concat_tables(ready).unify_dictionaries())


def _last_ns(table: pa.Table) -> int:
    return int(table["time_ns"][-1].as_py())


def _batches(part: DecodedTrace) -> Iterator[pa.Table]:
    """Yield the row groups of a decoded trace with the trial's times, flows and priming, in order of time."""
    file = pq.ParquetFile(part.path)
    carried: pa.Table | None = None
    for group in range(file.num_row_groups):
        table = _placed(file.read_row_group(group), part)
        table = table if carried is None else pa.concat_tables([carried, table]).unify_dictionaries()
        carried = None
        if group + 1 < file.num_row_groups:
            # Decoded rows may be a little out of order: what the next group may still precede waits for it. Rows of
            # equal time do not, or a trace with one time would be held whole.
            next_ns = _first_ns(file, group + 1) + part.offset_ns
            late = table["time_ns"].to_numpy() > next_ns
            carried, table = table.filter(pa.array(late)), table.filter(pa.array(~late))
        if table.num_rows:
            yield _sorted(table)
    if carried is not None and carried.num_rows:
        yield _sorted(carried)


def _first_ns(file: pq.ParquetFile, group: int) -> int:
    """Return the earliest time of a row group and of all behind it."""
    column = EVENT_SCHEMA.get_field_index("time_ns")
    groups = range(group, file.num_row_groups)
    return min(int(file.metadata.row_group(index).column(column).statistics.min) for index in groups)


def _placed(table: pa.Table, part: DecodedTrace) -> pa.Table:
    count = table.num_rows
    indices = table[CONNECTION].to_numpy() if CONNECTION in table.column_names else np.zeros(count, np.int32)
    places = part.places
    names = list(dict.fromkeys(place.flow for place in places if place.flow is not None))
    flow = np.array([names.index(place.flow) if place.flow is not None else -1 for place in places], np.int32)
    priming = np.array([place.priming for place in places], np.bool_)
    codes = flow[indices]
    columns = {
        "time_ns": pc.add(table["time_ns"], part.offset_ns),
        "vantage": pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, np.int8)), [part.vantage]),
        "priming": pa.array(priming[indices]),
        "flow": pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), pa.array(names, pa.string())),
    }
    arrays = [columns[name] if name in columns else table[name] for name in EVENT_SCHEMA.names]
    placed = pa.table(arrays, names=EVENT_SCHEMA.names).cast(EVENT_SCHEMA)
    # What the decoder says of states has gone into the states of this stage.
    return placed.filter(pc.invert(among(placed["kind"], [EventKind.STATE])))


def _sorted(table: pa.Table) -> pa.Table:
    times = table["time_ns"].to_numpy()
    if len(times) < 2 or (np.diff(times) >= 0).all():
        return table
    return table.take(np.argsort(times, kind="stable"))
