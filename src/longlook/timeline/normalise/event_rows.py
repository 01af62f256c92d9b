"""Rows that the normalisation itself adds → a table with the columns of EVENT_SCHEMA."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from longlook.timeline.events import EVENT_SCHEMA
from longlook.timeline.normalise.placement import TracePlace

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
