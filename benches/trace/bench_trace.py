"""Decoding traces: MB of qlog a second on one core with Parquet written, and memory for a file of over 1 GB."""

import gzip
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from benches.trace.long_trace import write_long_trace
from longlook.core import trace_program

FIXTURES = Path(__file__).parents[2] / "tests" / "fixtures" / "qlogs"
TRACES = ("quic-go-v0.18.1", "quic-go-v0.31.1", "quic-go-v0.65.0", "quiche-0.30.0", "netty", "ngtcp2-0.12.1-cubic")
"""Real traces of a 10 MB transfer: a document of arrays, lines, and sequences of several stacks."""
REPEATS = 7
SPEED_BYTES = 100_000_000
MEMORY_BYTES = 1_100_000_000


def measure() -> dict[str, Any]:
    """MB/s by CPU time (one core's, whoever else runs) and by the wall's, beside Python's json on the same file."""
    with tempfile.TemporaryDirectory(prefix="longlook-bench-") as name:
        folder = Path(name)
        traces = {trace: _speed(folder, trace, gzip.decompress(_path(trace).read_bytes())) for trace in TRACES}
        lines = gzip.decompress(_path("quic-go-v0.65.0").read_bytes())
        return {"traces": traces, "long": _long(folder, lines, SPEED_BYTES), "huge": _long(folder, lines, MEMORY_BYTES)}


def _path(trace: str) -> Path:
    return FIXTURES / f"{trace}.qlog.gz"


def _speed(folder: Path, trace: str, content: bytes) -> dict[str, Any]:
    path = folder / trace
    path.write_bytes(content)
    runs = [_decode(path) for _ in range(REPEATS)]
    begin_s = time.process_time()
    _parse(path)
    python_s = time.process_time() - begin_s
    path.unlink()
    return {**_rates(len(content), runs), "python_json_mb_per_cpu_s": _rounded(len(content) / python_s / 1e6)}


def _long(folder: Path, lines: bytes, least_bytes: int) -> dict[str, Any]:
    path = folder / "long.qlog"
    size_bytes = write_long_trace(lines, path, least_bytes)
    run = _decode(path)
    path.unlink()
    return {"bytes": size_bytes, **_rates(size_bytes, [run])}


def _rates(size_bytes: int, runs: list[tuple[float, float, float]]) -> dict[str, Any]:
    cpu_s, wall_s, memory_mb = (median(column) for column in zip(*runs, strict=True))
    return {
        "mb_per_cpu_s": _rounded(size_bytes / cpu_s / 1e6),
        "mb_per_s": _rounded(size_bytes / wall_s / 1e6),
        "memory_mb": _rounded(memory_mb),
    }


_RUN = """
import os, sys, time
begin_s = time.monotonic()
silent = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
process = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=silent)
_, status, usage = os.wait4(process, 0)
print(status, usage.ru_utime + usage.ru_stime, time.monotonic() - begin_s, usage.ru_maxrss * 1024 / 1e6)
"""
"""A bare Python runs the program: the kernel never reports less memory of a process than of its starter."""


def _decode(path: Path) -> tuple[float, float, float]:
    """One run on one core: CPU seconds, wall seconds, MB of memory at most."""
    out = path.with_suffix(".parquet")
    command = (str(trace_program().path), "decode", str(path), "--out", str(out))
    told = subprocess.run([sys.executable, "-IS", "-c", _RUN, *command], capture_output=True, text=True, check=True)
    status, cpu_s, wall_s, memory_mb = map(float, told.stdout.split())
    if status != 0:
        sys.exit(f"{' '.join(command)} ended with {status:g}")
    out.unlink()
    return cpu_s, wall_s, memory_mb


def _parse(path: Path) -> None:
    """Read the same text with Python's json, and do nothing with it."""
    content = path.read_bytes()
    if content.startswith(b"{") and b'"traces"' in content[:1000]:
        json.loads(content)
        return
    for line in content.splitlines():
        json.loads(line.lstrip(b"\x1e"))


def _rounded(value: float) -> float:
    return float(f"{value:.3g}")
