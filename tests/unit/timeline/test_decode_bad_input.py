"""Whatever a file holds, decoding says what became of all of it, or why it is not a trace."""

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from longlook.core.errors import InputError
from longlook.timeline.decode import decode_to, decode_trace, stream_trace
from tests.data.decoded import HEADER, QLOGS, decode_bytes, document, event, lines, packet, rows, sequence, unpacked


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is empty"),
        (b"   \n\n", "is empty"),
        (gzip.compress(b"", mtime=0), "is empty"),
        (b"\x1f\x8b", "cannot be unpacked|nothing that can be unpacked"),
        (b"\x00\x01\x02\x03" * 100, "does not begin with a JSON object"),
        (b"[1,2,3]", "does not begin with a JSON object"),
        (b"hello world\n", "does not begin with a JSON object"),
        (b'{"a": 1}\n{"b": 2}\n', "neither a qlog nor"),
        (b'{"events": [], "constants": {}}', "neither a qlog nor"),
    ],
)
def test_what_is_not_a_trace_is_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    with pytest.raises(InputError, match=reason) as caught:
        decode_bytes(tmp_path, content)
    assert caught.value.hint


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nothing\.qlog cannot be read"):
        decode_trace(tmp_path / "nothing.qlog", "client")
    with pytest.raises(InputError, match="is a folder"):
        decode_trace(tmp_path, "client")


@pytest.mark.parametrize("container", [sequence, lines])
def test_a_cut_line_is_reported_with_its_place(tmp_path: Path, container: Any) -> None:
    whole = container(packet(1, "sent", 0), packet(2, "sent", 1))
    table, account = decode_bytes(tmp_path, whole[:-9])
    assert rows(table, "packet_sent", "packet_number") == [0]
    assert account["truncated"]
    assert account["skipped"] == {"cut off at the end of the file": 1}
    offset = len(container(packet(1, "sent", 0)))
    assert [(warning["line"], warning["offset"] - offset) for warning in account["warnings"]] in ([(3, 0)], [(3, 1)])


@pytest.mark.parametrize("left", [10, 200, 350, 1000])
def test_a_cut_document_is_read_up_to_the_cut(tmp_path: Path, left: int) -> None:
    trace = {"vantage_point": {"type": "client"}, "events": [packet(time, "sent", time) for time in range(20)]}
    content = document(trace)[:-left]
    table, account = decode_bytes(tmp_path, content)
    complete = content.count(b'"frames": []}}')
    assert rows(table, "packet_sent", "packet_number") == list(range(complete))
    assert account["truncated"]
    assert account["warnings"]


def test_a_cut_gzip_is_read_up_to_the_cut(tmp_path: Path) -> None:
    content = unpacked(QLOGS / "quinn.qlog.gz")
    path = tmp_path / "cut.qlog.gz"
    packed = (QLOGS / "quinn.qlog.gz").read_bytes()
    path.write_bytes(packed[: len(packed) // 2])
    _, account = decode_trace(path, "server")
    assert account["truncated"]
    assert any("the file is cut" in warning["problem"] for warning in account["warnings"])
    assert 1000 < account["read"] < content.count(b"\n") - 1


def test_a_corrupt_gzip_is_read_up_to_there(tmp_path: Path) -> None:
    packed = bytearray((QLOGS / "tquic.qlog.gz").read_bytes())
    packed[len(packed) // 2 :] = random.Random(1).randbytes(len(packed) - len(packed) // 2)
    path = tmp_path / "corrupt.qlog.gz"
    path.write_bytes(packed)
    _, account = decode_trace(path, "server")
    assert account["truncated"]
    assert account["read"] > 1000


def test_bad_lines_are_skipped_with_their_places(tmp_path: Path) -> None:
    bad = [
        b"{broken",
        b"\xff\xfe\x00",
        b'{"time": 1}',
        b'{"time":"soon","name":"transport:packet_sent","data":{}}',
        b"[1]",
        b"17",
    ]
    content = lines(packet(1, "sent", 0)) + b"\n".join(bad) + b"\n" + lines(header=packet(9, "sent", 1))
    table, account = decode_bytes(tmp_path, content)
    assert rows(table, "packet_sent", "packet_number") == [0, 1]
    assert sum(account["skipped"].values()) == len(bad)
    assert [warning["line"] for warning in account["warnings"]] == [3, 4, 5, 6, 7, 8]
    assert account["read"] == 2


def test_every_event_is_accounted_for(tmp_path: Path) -> None:
    random_bytes = random.Random(7)
    content = bytearray(unpacked(QLOGS / "caddy-2.11-server.qlog.gz"))
    events = content.count(b"\x1e") - 1  # a mark that is spoilt leaves the end of the line between two events
    for _ in range(400):
        content[random_bytes.randrange(1000, len(content))] = random_bytes.randrange(32, 127)
    _, account = decode_bytes(tmp_path, bytes(content))
    assert account["read"] + sum(account["ignored"].values()) + sum(account["skipped"].values()) == events
    assert sum(account["skipped"].values()) > 10


def test_deep_nesting(tmp_path: Path) -> None:
    deep = 200_000
    nested = (
        b'{"time":1,"name":"transport:packet_sent","data":{"header":{"packet_number":0},"x":'
        + b"[" * deep
        + b"]" * deep
        + b"}}\n"
    )
    parameters = (
        b'{"time":2,"name":"transport:parameters_set","data":{"x":' + b'{"a":' * deep + b"1" + b"}" * deep + b"}}\n"
    )
    content = lines() + nested + parameters + lines(header=packet(3, "sent", 1))
    table, account = decode_bytes(tmp_path, content)
    assert rows(table, "packet_sent", "packet_number") == [0, 1]
    assert account["skipped"] == {"not the shape of an event": 1}


@pytest.mark.parametrize("shape", ["line", "document"])
def test_an_event_too_long_is_skipped(tmp_path: Path, shape: str) -> None:
    long = event(2, "transport:packet_sent", x="y" * (17 << 20))
    around = [packet(1, "sent", 0), long, packet(3, "sent", 1)]
    content = lines(*around) if shape == "line" else document({"events": around})
    table, account = decode_bytes(tmp_path, content)
    assert rows(table, "packet_sent", "packet_number") == [0, 1]
    assert account["skipped"] == {"longer than 16 MiB": 1}


def test_out_of_order_and_equal_times(tmp_path: Path) -> None:
    events = [packet(time, "sent", number) for number, time in enumerate([5, 1, 1, 9, 3])]
    table, account = decode_bytes(tmp_path, lines(*events))
    assert rows(table, "packet_sent", "packet_number") == [1, 2, 4, 0, 3]
    assert (account["unordered"], account["duplicate_times"]) == (2, 1)


def test_a_long_trace_in_no_order_is_sorted(tmp_path: Path) -> None:
    times = list(range(200_000))
    random.Random(3).shuffle(times)
    head = json.dumps(HEADER).encode() + b"\n"
    body = b"".join(
        b'{"time":%d,"name":"transport:packet_received","data":{"header":{"packet_number":%d}}}\n' % (time, time)
        for time in times
    )
    path, out = tmp_path / "trace.qlog", tmp_path / "events.parquet"
    path.write_bytes(head + body)
    account = decode_to(path, "server", out)
    table = pq.read_table(out)
    assert table.column("time_ns").to_pylist() == [time * 1_000_000 for time in range(200_000)]
    assert table.column("packet_number").to_pylist() == list(range(200_000))
    assert account["connections"][0]["rows"] == 200_000
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_hostile_numbers(tmp_path: Path) -> None:
    numbers = ["-1", "1e400", "9223372036854775807", "-9223372036854775808", "1e-400", "18446744073709551616"]
    packets = (
        '{"time":N,"name":"transport:packet_WAY","data":{"header":{"packet_type":"1RTT","packet_number":N},'
        '"raw":{"length":N},"frames":[{"frame_type":"ack","acked_ranges":[[N,N],[0,N]]}]}}\n'
    )
    metrics = '{"time":1,"name":"recovery:metrics_updated","data":{"pto_count":N,"smoothed_rtt":N}}\n'
    templates = [packets.replace("WAY", "sent"), packets.replace("WAY", "received"), metrics]
    body = b"".join(template.replace("N", number).encode() for number in numbers for template in templates)
    _, account = decode_bytes(tmp_path, lines() + body)
    assert account["read"] + sum(account["skipped"].values()) == 3 * len(numbers)


def test_too_many_texts_are_reported(tmp_path: Path) -> None:
    events = b"".join(
        b'{"time":%d,"name":"recovery:congestion_state_updated","data":{"new":"state %d"}}\n' % (number, number)
        for number in range(70_000)
    )
    table, account = decode_bytes(tmp_path, lines() + events)
    assert table.num_rows == 70_000
    assert any("texts left out" in warning["problem"] for warning in account["warnings"])


def test_batches_are_the_table(tmp_path: Path) -> None:
    path = QLOGS / "quinn.qlog.gz"
    with stream_trace(path, "server", batch_rows=1000) as (batches, account):
        sizes = [batch.num_rows for batch in batches]
    table, _ = decode_trace(path, "server")
    assert sum(sizes) == table.num_rows == account["connections"][0]["rows"]
    assert max(sizes) <= 1000
