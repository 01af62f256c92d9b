"""Rows of events as numpy arrays of one length, for rules and joins."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

NULL = -1
"""Stands for null in every column of integers but times; columns of floats have NaN."""
_MOST_INT8 = 127


@dataclass(frozen=True)
class Rows:
    """Some columns of some rows; texts are codes into `texts[column]`, NULL if there is none."""

    columns: Mapping[str, npt.NDArray[np.generic]]
    texts: Mapping[str, Sequence[str]]

    @classmethod
    def of(cls, table: pa.Table, names: Sequence[str]) -> "Rows":
        """Return columns of a table."""
        return cls.read(lambda name: table[name], names)

    @classmethod
    def read(cls, column_of: Callable[[str], pa.ChunkedArray], names: Sequence[str]) -> "Rows":
        """Return columns that some function gives one by one, so that never all are in memory twice."""
        arrays: dict[str, npt.NDArray[np.generic]] = {}
        texts: dict[str, Sequence[str]] = {}
        for name in names:
            column = column_of(name)
            if pa.types.is_dictionary(column.type):
                joined = column.unify_dictionaries().combine_chunks()
                texts[name] = joined.dictionary.to_pylist()
                codes = joined.indices.fill_null(NULL).to_numpy(zero_copy_only=False)
                arrays[name] = codes.astype(np.int8 if len(texts[name]) <= _MOST_INT8 else np.int32)
            elif pa.types.is_floating(column.type):
                arrays[name] = column.to_numpy()
            else:
                arrays[name] = column.fill_null(NULL).to_numpy()
        return cls(arrays, texts)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(next(iter(self.columns.values())))

    def __getitem__(self, name: str) -> Integers:
        """Return a column of integers or codes, shape (rows,)."""
        return self.columns[name]  # type: ignore[return-value]

    def value(self) -> npt.NDArray[np.float64]:
        """The column `value`, shape (rows,), NaN for null."""
        return self.columns["value"]  # type: ignore[return-value]

    def only(self, *names: str) -> "Rows":
        """Return some of the columns."""
        return Rows({name: self.columns[name] for name in names}, self.texts)

    def take(self, chosen: Mask | Integers) -> "Rows":
        """Return some of the rows."""
        return Rows({name: array[chosen] for name, array in self.columns.items()}, self.texts)

    def without(self, kinds: Collection[str], columns: Collection[str]) -> "Rows":
        """Return the rows without some kinds, with NULL in some columns of integers."""
        nulls = {name: np.full_like(array, NULL) for name, array in self.columns.items() if name in columns}
        kept = Rows({**self.columns, **nulls}, self.texts)
        return kept.take(~kept.matches("kind", *kinds)) if kinds else kept

    def matches(self, column: str, *values: str) -> Mask:
        """Return where a column of texts holds one of some values."""
        wanted = [code for code, text in enumerate(self.texts[column]) if text in values]
        return np.isin(self[column], wanted)

    def kind(self, *kinds: str) -> "Rows":
        """Return the rows of some kinds."""
        return self.take(self.matches("kind", *kinds))

    def text(self, column: str, index: int) -> str | None:
        """Return the text of one row."""
        code = int(self[column][index])
        return None if code == NULL else self.texts[column][code]
