"""Captures of real transfers (tests/fixtures/captures), next to the qlog of the same end and the link's counts."""

import gzip
import struct
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longlook.core import InputError
from longlook.instruments.transfer.answer import explain_one
from longlook.instruments.transfer.reading import read_trace
from longlook.timeline import decode_to
from tests.support.captures import Download, Frame, frames_of, pcap, pcapng

FOLDER = Path(__file__).parents[3] / "fixtures" / "captures"
CAPTURE, KEYS, QLOG = FOLDER / "quic-server.pcap.gz", FOLDER / "quic.keys", FOLDER / "quic-server.qlog.gz"


def captured() -> list[Frame]:
    return frames_of(gzip.decompress(CAPTURE.read_bytes()))


def test_a_capture_with_keys_has_what_the_qlog_has() -> None:
    capture, qlog = read_trace(CAPTURE, None, None, KEYS), read_trace(QLOG, None, None)
    assert (capture.protocol, capture.end) == ("QUIC", "server")
    for name in ("sent", "received", "acked"):
        seen, logged = getattr(capture, name), getattr(qlog, name)
        assert Counter(seen.key.tolist()) == Counter(logged.key.tolist()), name
    assert capture.sent.total_bytes == qlog.sent.total_bytes
    assert {*capture.lost.key.tolist()} == {
        *qlog.lost.key.tolist()
    }  # this sender sends all that it declares lost again
    facts = [explain_one(each).path for each in (capture, qlog)]
    assert facts[0].lost_packets == facts[1].lost_packets
    assert facts[0].shortest_rtt_ns == pytest.approx(facts[1].shortest_rtt_ns, rel=0.1)


def test_without_keys_sizes_and_spin_are_left() -> None:
    recording = read_trace(CAPTURE, None, None)
    whole = read_trace(CAPTURE, None, None, KEYS)
    assert recording.sent.total_bytes == whole.sent.total_bytes
    assert not len(recording.acked.take(recording.acked.space == 2))
    said = " ".join(explain_one(recording).rests_on)
    assert "There is no key log" in said
    assert "spin bit" in said


def test_secrets_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "with.pcapng"
    path.write_bytes(pcapng(captured(), secrets=KEYS.read_bytes()))
    assert len(read_trace(path, None, None).lost) == len(read_trace(CAPTURE, None, None, KEYS).lost) > 0


def changed(tmp_path: Path, way: str) -> Path:
    """Return a key log in which the connection, or its secrets, are others."""
    made = []
    for line in KEYS.read_text().split("\n"):
        words = line.split()
        if len(words) == 3 and "TRAFFIC" in line:
            place = 1 if way == "random" else 2
            words[place] = words[place][::-1]
        made.append(" ".join(words))
    path = tmp_path / "other.keys"
    path.write_text("\n".join(made))
    return path


@pytest.mark.parametrize(
    ("way", "said"), [("random", "has no secrets of this connection"), ("secret", "do not open its packets")]
)
def test_wrong_keys_are_said(tmp_path: Path, way: str, said: str) -> None:
    recording = read_trace(CAPTURE, None, None, changed(tmp_path, way))
    assert any(said in note for note in recording.notes)


def test_what_is_no_key_log(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("nothing\n")
    with pytest.raises(InputError, match="no line with a secret"):
        read_trace(CAPTURE, None, None, other)
    with pytest.raises(InputError, match="needs no key log"):
        read_trace(QLOG, None, None, KEYS)
    with pytest.raises(InputError, match="cannot be read"):
        read_trace(CAPTURE, None, None, tmp_path / "absent")


def test_packets_that_were_kept_in_part(tmp_path: Path) -> None:
    path = tmp_path / "short.pcap"
    path.write_bytes(pcap(captured(), snap=100))
    recording = read_trace(path, None, None, KEYS)
    whole = read_trace(CAPTURE, None, None)
    assert recording.sent.total_bytes == pytest.approx(whole.sent.total_bytes, rel=0.01)  # but for padding
    assert any("not kept whole" in note for note in recording.notes)


def test_a_client_that_moves_is_known_by_its_id(tmp_path: Path) -> None:
    frames = captured()
    port = frames[0].packet[20:22]
    first = next(place for place in range(60, len(frames)) if frames[place].packet[20:22] == port)
    moved = [replace(frame, packet=_at_port(frame.packet, port)) for frame in frames[first:]]
    path = tmp_path / "moved.pcap"
    path.write_bytes(pcap([*frames[:first], *moved]))
    recording = read_trace(path, None, 0, KEYS)
    assert len(recording.lost) == len(read_trace(CAPTURE, None, None, KEYS).lost)
    assert any("It moves to" in note for note in recording.notes)


def _at_port(packet: bytes, port: bytes) -> bytes:
    other = struct.pack(">H", struct.unpack(">H", port)[0] ^ 1)
    if packet[20:22] == port:
        return packet[:20] + other + packet[22:]
    return packet[:22] + other + packet[24:]


@pytest.mark.parametrize(("end", "lost"), [("server", 29), ("client", 29)])
def test_losses_of_tcp_are_the_links_drops(end: str, lost: int) -> None:
    """The link's counters of this transfer say: dropped 29 (queue 29), at 8 Mbit/s and 40 ms."""
    answer = explain_one(read_trace(FOLDER / f"tcp-{end}.pcap.gz", None, None))
    assert (answer.recording.protocol, answer.recording.end) == ("TCP", end)
    assert answer.path.lost_packets == lost
    assert (answer.path.shortest_rtt_ns or 0) / 1e6 == pytest.approx(40, abs=2)
    assert (answer.path.rate_bps or 0) / 1e6 == pytest.approx(8, rel=0.05)


def bases() -> list[bytes]:
    whole = gzip.decompress(CAPTURE.read_bytes())
    return [whole[:9000], pcapng(captured()[:8], secrets=KEYS.read_bytes()), pcap(Download(flights=2).frames, 1)]


@given(
    base=st.integers(0, 2),
    changes=st.lists(st.tuples(st.integers(0, 2**16), st.binary(min_size=1, max_size=8)), max_size=12),
    length=st.integers(4, 2**16),
)
@settings(max_examples=60, deadline=None)
def test_no_bytes_break_the_decoder(base: int, changes: list[tuple[int, bytes]], length: int) -> None:
    """Whatever a file holds: a table with an account, or a refusal of one sentence."""
    data = bytearray(bases()[base])
    for place, other in changes:
        at = place % len(data)
        data[at : at + len(other)] = other
    _decoded(bytes(data[:length]))


@given(data=st.binary(max_size=400))
@settings(max_examples=40, deadline=None)
def test_no_random_bytes_break_the_decoder(data: bytes) -> None:
    _decoded(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65_535, 101) + data)


def _decoded(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "any.pcap"
        path.write_bytes(data)
        try:
            account = decode_to(path, None, Path(folder) / "events.parquet", keys=KEYS)
        except InputError as error:
            assert error.message
        else:
            assert account["format"] == "capture"
