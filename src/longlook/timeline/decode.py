"""Traces of endpoints → tables of events, by `longlook-trace decode`; docs/reference/traces.md documents their
contents."""

import json
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from longlook.core import InputError, LonglookError, MachineError, trace_program

TraceVantage = Literal["client", "server"]
Account = dict[str, Any]

_BAD_INPUT, _BAD_MACHINE = 2, 3
_DEFAULT_BATCH_ROWS = 65_536


def decode_trace(trace: Path, vantage: TraceVantage | None) -> tuple[pa.Table, Account]:
    """Return all events of a trace, and the account of what was read, ignored and skipped.

    `vantage` counts if the trace does not name its own; None leaves it unknown then. The table is in memory, about 200
    bytes a row; `stream_trace` reads traces of any size. Raise InputError for a file that is not a trace, MachineError
    without a decoder or room.
    """
    with tempfile.TemporaryDirectory(prefix="longlook-trace-") as folder:
        out = Path(folder) / "events.parquet"
        account = decode_to(trace, vantage, out)
        return pq.read_table(out), account


@contextmanager
def stream_trace(
    trace: Path, vantage: TraceVantage, batch_rows: int = _DEFAULT_BATCH_ROWS
) -> Iterator[tuple[Iterator[pa.RecordBatch], Account]]:
    """Yield the events of a trace in batches, in bounded memory; the batches end with the context."""
    with tempfile.TemporaryDirectory(prefix="longlook-trace-") as folder:
        out = Path(folder) / "events.parquet"
        account = decode_to(trace, vantage, out)
        with pq.ParquetFile(out) as table:
            yield table.iter_batches(batch_size=batch_rows), account


def decode_to(
    trace: Path, vantage: TraceVantage | None, out: Path, requests: Path | None = None, keys: Path | None = None
) -> Account:
    """Write the events of a trace to `out` (Parquet, with the account as its metadata `longlook`); return the account.

    The events of a netlog's requests are written to `requests`, if that is given, as lines of JSON. `keys` is a key log
    with the secrets of a capture's TLS.
    """
    command = [trace_program().path, "decode", str(trace), "--out", str(out)]
    if requests is not None:
        command += ["--requests", str(requests)]
    if keys is not None:
        command += ["--keys", str(keys)]
    if vantage is not None:
        command += ["--vantage", vantage]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    answer = _last_line(done.stdout)
    if done.returncode == 0 and "account" in answer:
        account: Account = answer["account"]
        return account
    reason = answer.get("reason") or done.stderr.strip() or f"it exited with {done.returncode}"
    hint = answer.get("hint")
    if done.returncode == _BAD_INPUT:
        raise InputError(f"{trace}: {reason}" if str(trace) not in reason else reason, hint)
    if done.returncode == _BAD_MACHINE:
        raise MachineError(f"{trace} cannot be decoded: {reason}", hint)
    raise LonglookError(f"{trace} cannot be decoded: {reason}", hint)


def _last_line(output: str) -> dict[str, Any]:
    lines = output.strip().splitlines()
    answer: dict[str, Any] = json.loads(lines[-1]) if lines else {}
    return answer
