"""The ledger of one trial: its table, sums and file. Only reading and writing are not pure."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from longlook.core import InputError, files
from longlook.explain.ledger.classes import LedgerClass

LEDGER_SCHEMA = pa.schema(
    [
        pa.field("start_ns", pa.int64(), nullable=False),  # since the trial's start, as in timeline.parquet
        pa.field("end_ns", pa.int64(), nullable=False),
        pa.field("class", pa.dictionary(pa.int8(), pa.string()), nullable=False),
        pa.field("detail", pa.dictionary(pa.int16(), pa.string())),  # the state, or the rule that found the class
    ]
)
"""The columns of ledger.parquet."""

_METADATA_KEY = b"longlook"


@dataclass(frozen=True)
class Ledger:
    """The load of a trial, cut into intervals that each have one class.

    `table` has the columns of LEDGER_SCHEMA. Rows stand in order, each begins where the one before ended, and the first
    begins and the last ends with the load, so that the lengths of all classes add up to the load exactly. `objects`
    says of each object of the load when it was asked for and came, and whether it was on the critical path.
    `implausible` has what traces contradict of themselves, so that the ledger does not count it.
    """

    table: pa.Table
    objects: tuple[Mapping[str, Any], ...] = field(default=())
    implausible: tuple[str, ...] = ()

    @property
    def span_ns(self) -> tuple[int, int]:
        """The first and last moment of the load."""
        return self.table["start_ns"][0].as_py(), self.table["end_ns"][-1].as_py()

    def totals(self) -> dict[LedgerClass, int]:
        """Return the time in each class that occurs, in ns; the sum is the load."""
        return {LedgerClass(name): total for name, total in self._sums("class").items()}

    def details(self, name: LedgerClass) -> dict[str | None, int]:
        """Return the time of one class by detail, in ns."""
        own = Ledger(self.table.filter(pa.array([each == name for each in self.table["class"].to_pylist()])))
        return own._sums("detail")

    def write(self, path: Path) -> None:
        """Save as Parquet."""
        stored: dict[str, Any] = {"objects": [dict(each) for each in self.objects]}
        if self.implausible:
            stored["implausible"] = list(self.implausible)
        metadata = {_METADATA_KEY: json.dumps(stored, sort_keys=True)}
        pq.write_table(self.table.replace_schema_metadata(metadata), path, compression="zstd")

    @classmethod
    def read(cls, path: Path) -> "Ledger":
        """Return a saved ledger. Raise InputError if the file is not of this version."""
        try:
            table = pq.read_table(files.regular(path))
            stored = json.loads((table.schema.metadata or {})[_METADATA_KEY])
            rows = table.cast(LEDGER_SCHEMA).replace_schema_metadata(None)
            return cls(rows, tuple(stored["objects"]), tuple(stored.get("implausible", ())))
        except (pa.ArrowInvalid, ValueError, KeyError) as error:
            raise InputError(
                f"{path}: not a ledger of this version: {error}", "delete it: longlook explain RUN makes it again"
            ) from error

    def _sums(self, column: str) -> dict[Any, int]:
        lasted = self.table["end_ns"].to_numpy() - self.table["start_ns"].to_numpy()
        sums: dict[Any, int] = {}
        for name, time_ns in zip(self.table[column].to_pylist(), lasted.tolist(), strict=True):
            sums[name] = sums.get(name, 0) + time_ns
        return sums


def ledger_table(edges_ns: Any, classes: Any, details: Any, names: list[str], texts: list[str | None]) -> pa.Table:
    """Return the table of adjacent intervals; neighbours with the same class and detail become one.

    `edges_ns` has shape (N + 1,) and ascends; `classes` and `details` have shape (N,) and are places in `names` and
    `texts`. Intervals of no length vanish.
    """
    lasting = np.diff(edges_ns) > 0
    starts, classes, details = edges_ns[:-1][lasting], classes[lasting], details[lasting]
    changed = np.concatenate([[True], (np.diff(classes) != 0) | (np.diff(details) != 0)])
    starts = starts[changed]
    ends = np.append(starts[1:], edges_ns[-1])
    return pa.table(
        [
            pa.array(starts, pa.int64()),
            pa.array(ends, pa.int64()),
            pa.array(np.array(names, object)[classes[changed]], pa.string()).dictionary_encode().cast(_type("class")),
            pa.array(np.array(texts, object)[details[changed]], pa.string()).dictionary_encode().cast(_type("detail")),
        ],
        schema=LEDGER_SCHEMA,
    )


def _type(column: str) -> pa.DataType:
    return LEDGER_SCHEMA.field(column).type
