"""Rows and columns → one table with the columns of SCHEMA, in order of time."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from longlook.timeline.timeline import SCHEMA

Codes = npt.NDArray[np.integer[Any]]


def table_of_rows(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Return a table of few rows given as dictionaries; absent keys are null."""
    columns = [pa.array([row.get(field.name) for row in rows], _plain(field.type)).cast(field.type) for field in SCHEMA]
    return pa.table(columns, schema=SCHEMA)


def table_of_columns(columns: Mapping[str, pa.Array], num_rows: int) -> pa.Table:
    """Return a table of many rows given as Arrow arrays; absent columns are null."""
    arrays = [
        columns[field.name].cast(field.type) if field.name in columns else pa.nulls(num_rows, field.type)
        for field in SCHEMA
    ]
    return pa.table(arrays, schema=SCHEMA)


def texts(codes: Codes, names: Sequence[str | None]) -> pa.DictionaryArray:
    """Return a text column of `codes`, indices into `names`; a name of None is null."""
    known = list(dict.fromkeys(name for name in names if name is not None))
    position = np.array([known.index(name) if name is not None else -1 for name in names], np.int32)
    indices = position[codes] if len(names) else np.zeros(0, np.int32)
    return pa.DictionaryArray.from_arrays(pa.array(indices, mask=indices < 0), pa.array(known, pa.string()))


def constant_text(name: str, num_rows: int) -> pa.DictionaryArray:
    """Return a text column with the same value everywhere."""
    return texts(np.zeros(num_rows, np.int32), [name])


def merge(tables: Sequence[pa.Table]) -> pa.Table:
    """Return all rows in order of time; rows of the same time stay in the order given."""
    joined = pa.concat_tables(tables).unify_dictionaries().combine_chunks()
    return joined.take(pc.sort_indices(joined["time_ns"]))


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind
