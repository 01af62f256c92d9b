"""Traces (qlog) as ngtcp2 writes them, one file per connection below QLOGDIR."""

import ctypes as c
import json
import os
from pathlib import Path

from ngtcp2_adapter.abi import QlogWrite


class Trace:
    """The file of one connection. `write` is what ngtcp2 calls."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb")
        self.write = QlogWrite(self._write)

    def _write(self, _user: int, _flags: int, data: int | None, size: int) -> None:
        if data is not None and size > 0:
            self._file.write(c.string_at(data, size))

    def finish(self) -> None:
        """Add a last event, which ngtcp2 of this version does not write: it shows that the trace is complete."""
        last = {"name": "connectivity:connection_closed", "data": {}}
        self._file.write(b"\x1e" + json.dumps(last, separators=(",", ":")).encode() + b"\n")
        self._file.close()


def trace_wanted(scid: bytes, role: str) -> Trace | None:
    """Return a trace in the folder QLOGDIR; None where it is not set."""
    folder = os.environ.get("QLOGDIR")
    if not folder:
        return None
    Path(folder).mkdir(parents=True, exist_ok=True)
    return Trace(Path(folder) / f"{scid.hex()}_{role}.sqlog")
