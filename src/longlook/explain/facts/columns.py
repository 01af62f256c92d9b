"""Columns of tables as numpy arrays, and values that hold until the next one. Pure."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]

NEVER = int(np.iinfo(np.int64).max)
"""The time of what did not happen."""


@dataclass(frozen=True)
class Steps:
    """Values over time, each held until the next. Both arrays have shape (N,), times are ns and ascend."""

    time_ns: Integers
    value: Integers

    def at(self, times_ns: Integers, before: int) -> Integers:
        """Return the value that holds at each of some times; `before` the first one there is the value `before`."""
        if len(self.time_ns) == 0:
            return np.full(len(times_ns), before, np.int64)
        place = np.searchsorted(self.time_ns, times_ns, side="right") - 1
        return np.where(place >= 0, self.value[np.maximum(place, 0)], before)


def integers(column: pa.ChunkedArray, missing: int = 0) -> Integers:
    """Return a column of whole numbers, with `missing` in the place of nulls."""
    values: Integers = column.combine_chunks().fill_null(missing).to_numpy(zero_copy_only=False).astype(np.int64)
    return values


def codes(column: pa.ChunkedArray) -> tuple[Integers, tuple[str, ...]]:
    """Return a column of texts as the places of its values in a tuple of texts; null is -1."""
    joined = column.unify_dictionaries().combine_chunks()
    if not pa.types.is_dictionary(joined.type):
        joined = joined.dictionary_encode()
    places: Integers = joined.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return places, tuple(str(text) for text in joined.dictionary.to_pylist())


def are(column: pa.ChunkedArray, *wanted: str) -> Booleans:
    """Return which rows of a column of texts hold one of some values; null holds none."""
    places, texts = codes(column)
    chosen = np.array([text in wanted for text in texts] + [False], np.bool_)
    return chosen[places]


def between(times_ns: Integers, begins_ns: Integers, ends_ns: Integers) -> Booleans:
    """Return which times lie in any of some half-open intervals, which may overlap; shape (times,)."""
    begun = np.searchsorted(np.sort(begins_ns), times_ns, side="right")
    ended = np.searchsorted(np.sort(ends_ns), times_ns, side="right")
    inside: Booleans = begun > ended
    return inside
