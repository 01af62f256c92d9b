"""Files of hundreds of megabytes, packed into little, are decoded in little memory, whatever in them is so large."""

import gzip
import json
import resource
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from longlook.core.programs import trace_program
from tests.data.decoded import HEADER, packet

MEMORY_BYTES = 256 << 20
LONG = "a" * (1 << 20)
MANY = 400


def group_ids() -> Iterable[bytes]:
    yield json.dumps(HEADER).encode() + b"\n"
    for number in range(MANY):
        yield json.dumps({**packet(number, "sent", number), "group_id": f"{number}{LONG}"}).encode() + b"\n"


def headers_of_a_file() -> Iterable[bytes]:
    yield b'{"qlog_version":"0.3"'
    for number in range(MANY):
        yield f',"{number}":"{LONG}"'.encode()
    yield b',"traces":[' + json.dumps({"events": [packet(1, "sent", 1)]}).encode() + b"]}"


def headers_of_traces() -> Iterable[bytes]:
    yield b'{"qlog_version":"0.3","traces":['
    for number in range(MANY):
        yield json.dumps({"title": LONG, "events": [packet(number, "sent", number)]}).encode() + b","
    yield b'{"events":[]}]}'


@pytest.mark.parametrize(
    ("content", "reason", "skipped", "packets"),
    [
        (group_ids, "a group id of over 255 bytes", MANY, 0),
        (headers_of_a_file, "headers longer than 4 MiB together", MANY - 3, 1),
        (headers_of_traces, "headers longer than 4 MiB together", MANY - 3, MANY),
    ],
)
def test_little_memory(
    tmp_path: Path, content: Callable[[], Iterable[bytes]], reason: str, skipped: int, packets: int
) -> None:
    trace, out = tmp_path / "trace.qlog.gz", tmp_path / "events.parquet"
    with gzip.open(trace, "wb", compresslevel=1) as file:
        file.writelines(content())
    assert trace.stat().st_size < 5_000_000
    done = subprocess.run(
        [trace_program().path, "decode", str(trace), "--out", str(out)],
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES)),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["account"]["skipped"] == {reason: skipped}
    assert pq.ParquetFile(out).metadata.num_rows == packets
