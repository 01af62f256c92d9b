"""The packet log's reader: every way in which a file can be wrong, and what is read of a good one."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longlook.core.model import Link, Stage
from longlook.network.config import link_config
from longlook.timeline.normalise.link_log import MAGICS, LoggedFlow, PacketLogError, address_text, read_link_log
from tests.data import trials

MAGIC = MAGICS[1]
RECORD_BYTES = 24
FIELDS = [
    {"name": "arrival_ns", "type": "<u8", "offset": 0, "unit": "ns"},
    {"name": "sequence", "type": "<u8", "offset": 8, "unit": ""},
    {"name": "direction", "type": "|u1", "offset": 16, "unit": ""},
    {"name": "verdict", "type": "|u1", "offset": 17, "unit": ""},
]
HEADER: dict[str, Any] = {
    "version": 1,
    "record_bytes": RECORD_BYTES,
    "fields": FIELDS,
    "config": {"version": 1, "seed": 1, "linger_ns": 0, "up": [], "down": []},
    "clock": {"monotonic_ns": 1_000, "unix_ns": 1_700_000_000_000_000_000},
    "verdicts": {"delivered": 0, "queued": 1, "dropped_loss": 2},
}


def encode(header: dict[str, Any], body: bytes = b"") -> bytes:
    text = json.dumps(header).encode()
    text += b" " * (-(len(MAGIC) + 4 + len(text)) % 64)
    return MAGIC + len(text).to_bytes(4, "little") + text + body


def record(arrival_ns: int, sequence: int, direction: int = 0, verdict: int = 0) -> bytes:
    fixed = arrival_ns.to_bytes(8, "little") + sequence.to_bytes(8, "little") + bytes([direction, verdict])
    return fixed.ljust(RECORD_BYTES, b"\0")


def write(folder: Path, content: bytes) -> Path:
    path = folder / "link.bin"
    path.write_bytes(content)
    return path


def test_records_are_read_as_the_header_says(tmp_path: Path) -> None:
    body = record(50, 1) + record(40, 0, verdict=2) + record(45, 0, direction=1)
    log = read_link_log(write(tmp_path, encode(HEADER, body)))
    assert log.records["arrival_ns"].tolist() == [50, 40, 45]
    assert log.direction(0)["sequence"].tolist() == [0, 1]
    assert log.direction(0)["verdict"].tolist() == [2, 0]
    assert len(log.direction(1)) == 1
    assert log.verdicts == {0: "delivered", 1: "queued", 2: "dropped_loss"}
    assert 50 + log.unix_minus_monotonic_ns == 1_699_999_999_999_999_050
    assert log.truncated_bytes == 0


def test_a_log_without_packets(tmp_path: Path) -> None:
    log = read_link_log(write(tmp_path, encode(HEADER)))
    assert len(log.records) == 0
    assert len(log.direction(0)) == 0


def test_records_cannot_be_changed_by_accident(tmp_path: Path) -> None:
    log = read_link_log(write(tmp_path, encode(HEADER, record(1, 0))))
    with pytest.raises(ValueError, match="read-only"):
        log.records["sequence"][0] = 1


@given(cut=st.integers(1, RECORD_BYTES - 1), whole=st.integers(0, 3))
def test_a_last_record_that_was_cut_off_is_left_out(
    tmp_path_factory: pytest.TempPathFactory, cut: int, whole: int
) -> None:
    body = b"".join(record(sequence, sequence) for sequence in range(whole)) + record(9, 9)[:cut]
    log = read_link_log(write(tmp_path_factory.mktemp("log"), encode(HEADER, body)))
    assert len(log.records) == whole
    assert log.truncated_bytes == cut


def without(key: str) -> dict[str, Any]:
    return {name: value for name, value in HEADER.items() if name != key}


def with_field(**changes: Any) -> dict[str, Any]:
    return HEADER | {"fields": [FIELDS[0] | changes]}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "is not a packet log"),
        (b"PK\x03\x04 something else entirely", "is not a packet log"),
        (MAGIC[:5], "cut off inside its header"),
        (MAGIC + b"\x01\x00", "cut off inside its header"),
        (encode(HEADER)[:100], "cut off inside its header: "),
        (MAGIC + (4).to_bytes(4, "little") + b"{]  ", "damaged header"),
        (MAGIC + (4).to_bytes(4, "little") + b"[1] ", "no JSON object"),
        (encode(HEADER | {"version": 2}), "begins as version 1; its header says 2"),
        (encode(without("clock")), "a header without clock"),
        (encode(with_field(type="<f8")), "unknown type '<f8'"),
        (encode(with_field(offset=20)), "damaged list of fields"),
        (encode(HEADER | {"fields": [{"name": "x"}]}), "damaged list of fields"),
        (encode(HEADER | {"fields": 3}), "damaged list of fields"),
        (encode(HEADER | {"fields": [], "record_bytes": 0}), "records without a byte"),
        (encode(HEADER | {"verdicts": {"delivered": "none"}}), "damaged verdicts"),
        (encode(HEADER | {"verdicts": {"delivered": 256}}), "impossible verdicts"),
        (encode(HEADER | {"clock": {"unix_ns": 1}}), "damaged clock"),
        (encode(HEADER | {"clock": {"unix_ns": 1, "monotonic_ns": -1}}), "impossible clock"),
        (MAGICS[2] + encode(HEADER)[8:], "begins as version 2; its header says 1"),
        (b"LLLINK3\n" + encode(HEADER)[8:], "is not a packet log"),
        (encode(HEADER | {"record_bytes": "many"}), "damaged list of fields"),
    ],
)
def test_a_foreign_or_damaged_file_is_refused(tmp_path: Path, content: bytes, expected: str) -> None:
    path = write(tmp_path, content)
    with pytest.raises(PacketLogError, match=expected) as caught:
        read_link_log(path)
    assert str(path) in str(caught.value)


def test_a_missing_file_is_an_operating_system_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_link_log(tmp_path / "none.bin")


def test_the_configuration_of_a_link() -> None:
    link = Link(
        up=(Stage("loss", {"probability": 0.01}), Stage("rate", {"rate_bps": 10_000_000, "queue_bytes": 45_000})),
        down=(Stage("delay", {"delay_ns": 18_000_000}),),
    )
    made = link_config(link, seed=12345, linger_ns=100_000_000)
    assert json.loads(json.dumps(made)) == {
        "version": 2,
        "seed": 12345,
        "linger_ns": 100_000_000,
        "up": [
            {"kind": "loss", "parameters": {"probability": 0.01}},
            {"kind": "rate", "parameters": {"rate_bps": 10_000_000, "queue_bytes": 45_000}},
        ],
        "down": [{"kind": "delay", "parameters": {"delay_ns": 18_000_000}}],
    }


def test_records_are_mapped_not_copied(tmp_path: Path) -> None:
    log = read_link_log(write(tmp_path, encode(HEADER, record(1, 0))))
    assert isinstance(log.records, np.memmap)


def version_2(folder: Path, packets: list[dict[str, int | bytes]]) -> Path:
    path = folder / "link.bin"
    trials.write_link_log(path, trials.records(packets, trials.RECORD_2))
    return path


def test_flows_of_version_2_have_addresses(tmp_path: Path) -> None:
    ipv6 = {"ip_version": 6, "client_address": bytes([0x20, 1, *[0] * 13, 1]), "server_address": bytes([0xFD] * 16)}
    packets = [
        trials.packet_2(1, 2, flow=1, client_port=40001, ip_protocol=6),
        trials.packet_2(1, 2, flow=0),
        trials.packet_2(1, 2, flow=1, client_port=40001, ip_protocol=6, direction=0),
        trials.packet_2(1, 2, flow=2, **ipv6),
        trials.packet_2(1, None, flow=2**32 - 1, ip_version=0),
    ]
    log = read_link_log(version_2(tmp_path, packets))
    assert log.flow_numbers().tolist() == [1, 0, 1, 2, -1]
    assert log.flows() == [
        LoggedFlow(0, 17, "10.8.0.1", 40000, "10.8.0.2", 443, 1),
        LoggedFlow(1, 6, "10.8.0.1", 40001, "10.8.0.2", 443, 2),
        LoggedFlow(2, 17, "2001::1", 40000, ":".join(["fdfd"] * 8), 443, 1),
    ]
    assert address_text(0, bytes(16)) is None


def test_flows_of_version_1_have_ports_only(tmp_path: Path) -> None:
    path = tmp_path / "link.bin"
    trials.write_link_log(path, trials.records([trials.packet(1, 2, client_port=port) for port in (7, 5, 7)]))
    log = read_link_log(path)
    assert log.flow_numbers().tolist() == [0, 1, 0]
    assert [(flow.client_port, flow.client_address, flow.packets) for flow in log.flows()] == [
        (7, None, 2),
        (5, None, 1),
    ]
    assert log.column("edits") is None


def test_columns_are_views_of_the_file(tmp_path: Path) -> None:
    log = read_link_log(version_2(tmp_path, [trials.packet_2(1, 2, ecn=3)]))
    column = log.column("ecn")
    assert column is not None
    assert column.tolist() == [3]
    assert np.shares_memory(column, log.records)


def test_lateness_is_that_of_the_packets_that_left(tmp_path: Path) -> None:
    late = trials.packet_2(1, 2)
    late["departure_ns"] = int(late["departure_ns"]) + 4_000
    log = read_link_log(version_2(tmp_path, [trials.packet_2(1, None, verdict=2), late, trials.packet_2(1, 3)]))
    assert log.lateness_ns.tolist() == [4_000, 0]


def test_copies_stand_behind_their_originals(tmp_path: Path) -> None:
    packets = [trials.packet_2(1, 2, sequence=number, copy=copy) for number, copy in ((1, 1), (0, 2), (1, 0), (0, 0))]
    records = read_link_log(version_2(tmp_path, packets)).direction(1)
    assert list(zip(records["sequence"].tolist(), records["copy"].tolist(), strict=True)) == [
        (0, 0),
        (0, 2),
        (1, 0),
        (1, 1),
    ]


@settings(max_examples=300)
@given(
    changes=st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 255)), max_size=8),
    cut=st.integers(0, 4000),
    version=st.sampled_from([1, 2]),
)
def test_a_damaged_file_is_refused_or_read(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, int]], cut: int, version: int
) -> None:
    path = tmp_path_factory.mktemp("log") / "link.bin"
    if version == 2:
        version_2(path.parent, [trials.packet_2(n, n + 1, sequence=n, flow=0) for n in range(3)])
    else:
        trials.write_link_log(path, trials.records([trials.packet(n, n + 1, sequence=n) for n in range(3)]))
    content = bytearray(path.read_bytes())
    for place, value in changes:
        content[place % len(content)] = value
    path.write_bytes(content[:cut])
    try:
        log = read_link_log(path)
    except PacketLogError as error:
        assert str(path) in str(error)
        return
    assert log.truncated_bytes < log.records.dtype.itemsize
    assert len(log.verdicts) <= 256
    assert abs(log.unix_minus_monotonic_ns) < 2**63


def test_packets_that_differ_in_ciphertext_alone_are_the_same_traffic(tmp_path: Path) -> None:
    """A knob that the handshake declares changes each tag behind it, whether or not it changes anything else."""
    told: dict[str, list[str]] = {}
    for name, fields, config in (
        ("plain", {"tag_start": 7, "tag_end": 9}, None),
        ("tags", {"tag_start": 8, "tag_end": 1}, None),
        ("header", {"tag_start": 7, "tag_end": 9}, {"version": 2, "seed": 1, "up": [], "down": []}),
        ("time", {"tag_start": 7, "tag_end": 9, "departure_ns": 1}, None),
        ("size", {"tag_start": 7, "tag_end": 9, "size_bytes": 1249}, None),
        ("drop", {"tag_start": 7, "tag_end": 9, "verdict": 2}, None),
    ):
        path = tmp_path / name
        packets = [trials.packet_2(1, 2), trials.packet_2(2, 3, **fields)]
        trials.write_link_log(path, trials.records(packets, trials.RECORD_2), config)
        told.setdefault(read_link_log(path).traffic_digest(), []).append(name)
    assert list(told.values()) == [["plain", "tags", "header"], ["time"], ["size"], ["drop"]]
