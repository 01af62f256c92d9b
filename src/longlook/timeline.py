"""One table of events per trial, whatever saw them (docs/timeline.md lists the kinds)."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

SCHEMA = pa.schema(
    [
        pa.field("time_ns", pa.int64(), nullable=False),  # since the trial's start (metadata started_unix_ns)
        pa.field("vantage", pa.dictionary(pa.int8(), pa.string()), nullable=False),
        pa.field("flow", pa.dictionary(pa.int32(), pa.string())),  # "tcp 10.8.0.1:40000 10.8.0.2:443", client first
        pa.field("kind", pa.dictionary(pa.int8(), pa.string()), nullable=False),
        pa.field("name", pa.dictionary(pa.int32(), pa.string())),  # path, reason or state, by kind
        pa.field("protocol", pa.dictionary(pa.int8(), pa.string())),
        pa.field("direction", pa.dictionary(pa.int8(), pa.string())),  # up | down
        pa.field("size_bytes", pa.int64()),
        pa.field("payload_bytes", pa.int64()),
        pa.field("queue_bytes", pa.int64()),
        pa.field("queue_packets", pa.int64()),
        pa.field("arrival_ns", pa.int64()),
        pa.field("due_ns", pa.int64()),
        pa.field("value", pa.float64()),
    ]
)


@dataclass(frozen=True)
class Timeline:
    """Rows in order of time. `table` has the columns of SCHEMA; a column that says nothing of a kind is null there."""

    table: pa.Table

    def select(self, kind: str | Sequence[str], vantage: str | None = None) -> pa.Table:
        """Rows of one or several kinds, optionally from one vantage."""
        kinds = [kind] if isinstance(kind, str) else list(kind)
        mask = pc.is_in(self.table["kind"].cast(pa.string()), pa.array(kinds))
        if vantage is not None:
            mask = pc.and_(mask, pc.equal(self.table["vantage"].cast(pa.string()), vantage))
        return self.table.filter(mask)

    def write(self, path: Path) -> None:
        """Save as Parquet."""
        pq.write_table(self.table, path, compression="zstd")

    @classmethod
    def read(cls, path: Path) -> "Timeline":
        """Load a saved timeline."""
        return cls(pq.read_table(path, schema=SCHEMA))
