"""Made-up logs of links, in the link emulator's format (docs/reference/link-formats.md): each packet of made-up
loads."""

import json
import random
import socket
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longlook.core import address_in
from longlook.engines.fake.path import EPOCH_NS, FakePath

UP, DOWN = 0, 1
TCP, UDP = 6, 17
_IP_AND_TRANSPORT_BYTES = {TCP: 52, UDP: 28}
_MORE_OVER_IPV6_BYTES = 20
_MONOTONIC_NS = 1_000_000_000  # when the trial began
_MAGIC = b"LLLINK2\n"
_VERDICTS = {"delivered": 0, "queued": 1, "dropped_loss": 2}
_FIELDS = (
    *(("arrival_ns", "<u8"), ("due_ns", "<u8"), ("departure_ns", "<u8"), ("sequence", "<u8"), ("connection_id", "<u8")),
    *(("queued_ns", "<u8"), ("client_address", "|V16"), ("server_address", "|V16")),
    *(("size_bytes", "<u4"), ("queue_bytes", "<u4"), ("queue_packets", "<u4")),
    *(("transport_sequence", "<u4"), ("acknowledgement", "<u4"), ("flow", "<u4"), ("payload_bytes", "<u2")),
    *(("client_port", "<u2"), ("server_port", "<u2"), ("direction", "|u1"), ("verdict", "|u1"), ("stage", "|u1")),
    *(("ip_protocol", "|u1"), ("tcp_flags", "|u1"), ("ecn", "|u1"), ("copy", "|u1"), ("edits", "|u1")),
    *(("quic_form", "|u1"), ("connection_id_bytes", "|u1"), ("ip_version", "|u1"), ("departure_ecn", "|u1")),
)
_CODES = {"<u8": "Q", "<u4": "I", "<u2": "H", "|u1": "B", "|V16": "16s"}
_RECORD = struct.Struct("<" + "".join(_CODES[kind] for _, kind in _FIELDS))
_RECORD_BYTES = 128
_HEADER_STEP_BYTES = 64
_MOST_PACKETS, _LEAST_PAYLOAD_BYTES, _MOST_PAYLOAD_BYTES = 150, 1200, 60_000
"""Bounds of the packets that carry a load's data. Packets may be larger than a path carries, so that logs of large
loads stay short.
"""
_LOSS_SHARE = 0.06
_ACK_EVERY = 2
_SYN, _ACK = 0x02, 0x10
_SHORT, _INITIAL, _NOT_QUIC = 1, 2, 255


@dataclass(frozen=True)
class ConnectionLoad:
    """The load that one connection carried towards its client. Times are ns since 1970; addresses `ip:port`."""

    client: str
    server: str
    ip_protocol: int
    quic: bool
    began_ns: int
    secure_ns: int
    first_byte_ns: int
    end_ns: int
    size_bytes: int
    moves_to: str = ""  # the client's second address, from two thirds of the data on; "": it has none


@dataclass(frozen=True)
class _Packet:
    arrival_ns: int
    departure_ns: int | None  # None: lost
    direction: int
    payload_bytes: int
    load: ConnectionLoad
    client: str
    transport_sequence: int = 0
    acknowledgement: int = 0
    opens: bool = False


def packets_of(load: ConnectionLoad, path: FakePath, seed: str) -> list[_Packet]:
    """Return the packets of a load: its opening, its request, its data with some lost ones, acknowledgements."""
    found = [_up(load, path, load.began_ns, 300, opens=True)]
    if load.secure_ns > load.began_ns:
        found.append(_down(load, path, load.began_ns + path.rtt_ns, 1000, opens=True))
    found.append(_up(load, path, load.secure_ns, 120))
    return [*found, *_data(load, path, random.Random(seed))]  # noqa: S311


def _data(load: ConnectionLoad, path: FakePath, draws: random.Random) -> Iterator[_Packet]:
    payload = min(max(_LEAST_PAYLOAD_BYTES, -(-load.size_bytes // _MOST_PACKETS)), _MOST_PAYLOAD_BYTES)
    count = max(1, -(-load.size_bytes // payload))
    span_ns = max(0, load.end_ns - load.first_byte_ns)
    sent = 0
    for number in range(count):
        size = min(payload, load.size_bytes - sent) if load.size_bytes > sent else 1
        at_ns = load.first_byte_ns + span_ns * (number + 1) // count
        client = load.moves_to if load.moves_to and 3 * number >= 2 * count else load.client
        if path.loses and number and draws.random() < _LOSS_SHARE:
            lost_ns = max(load.began_ns, at_ns - path.rtt_ns)
            yield _Packet(max(0, lost_ns - path.down_ns), None, DOWN, size, load, client, sent)
        yield _down(load, path, at_ns, size, client=client, transport_sequence=sent)
        sent += size
        if number % _ACK_EVERY == 0:
            yield _up(load, path, at_ns, 0, client=client, acknowledgement=sent)


def _up(load: ConnectionLoad, path: FakePath, sent_ns: int, payload: int, client: str = "", **rest: Any) -> _Packet:
    return _Packet(sent_ns, sent_ns + path.up_ns, UP, payload, load, client or load.client, **rest)


def _down(load: ConnectionLoad, path: FakePath, came_ns: int, payload: int, client: str = "", **rest: Any) -> _Packet:
    arrival_ns = max(load.began_ns, came_ns - path.down_ns)
    return _Packet(arrival_ns, max(arrival_ns, came_ns), DOWN, payload, load, client or load.client, **rest)


def write_link_log(path: Path, packets: Iterable[_Packet], config: Mapping[str, object]) -> dict[str, dict[str, int]]:
    """Write a log with these packets; return the counters of both directions, as a link's summary has them."""
    ordered = sorted(packets, key=lambda packet: packet.arrival_ns)
    flows: dict[tuple[str, str], int] = {}
    names = ("arrived", "arrived_bytes", "delivered", "delivered_bytes", "dropped_loss", "queued")
    counts = {way: dict.fromkeys(names, 0) for way in ("up", "down")}
    records = []
    for packet in ordered:
        counted = counts["down" if packet.direction == DOWN else "up"]
        flow = flows.setdefault((packet.client, packet.load.server), len(flows))
        records.append(_record(packet, counted["arrived"], flow))
        size_bytes = packet.payload_bytes + _headers_bytes(packet.load)
        counted["arrived"] += 1
        counted["arrived_bytes"] += size_bytes
        if packet.departure_ns is None:
            counted["dropped_loss"] += 1
        else:
            counted["delivered"] += 1
            counted["delivered_bytes"] += size_bytes
    path.write_bytes(_header(config) + b"".join(records))
    return counts


def _record(packet: _Packet, sequence: int, flow: int) -> bytes:
    load, left = packet.load, packet.departure_ns is not None
    arrival_ns = packet.arrival_ns - EPOCH_NS + _MONOTONIC_NS
    departure_ns = (packet.departure_ns or 0) - EPOCH_NS + _MONOTONIC_NS if left else 0
    is_tcp = load.ip_protocol == TCP
    flags = (_SYN if packet.opens else 0) | _ACK if packet.direction == DOWN or not packet.opens else _SYN
    form = (_INITIAL if packet.opens else _SHORT) if load.quic else _NOT_QUIC
    values = {
        "arrival_ns": arrival_ns,
        "due_ns": departure_ns,
        "departure_ns": departure_ns,
        "sequence": sequence,
        "size_bytes": packet.payload_bytes + _headers_bytes(load),
        "transport_sequence": packet.transport_sequence % 2**32 if is_tcp else 0,
        "acknowledgement": packet.acknowledgement % 2**32 if is_tcp else 0,
        "flow": flow,
        "payload_bytes": packet.payload_bytes,
        "client_port": _port(packet.client),
        "server_port": _port(load.server),
        "direction": packet.direction,
        "verdict": _VERDICTS["delivered" if left else "dropped_loss"],
        "stage": 255 if left else 0,
        "ip_protocol": load.ip_protocol,
        "tcp_flags": flags if is_tcp else 0,
        "quic_form": 0 if is_tcp else form,
        "ip_version": 6 if _over_ipv6(load) else 4,
        "client_address": _address(packet.client),
        "server_address": _address(load.server),
    }
    return _RECORD.pack(*(values.get(name, 0) for name, _ in _FIELDS)).ljust(_RECORD_BYTES, b"\0")


def _header(config: Mapping[str, object]) -> bytes:
    fields, offset = [], 0
    for name, kind in _FIELDS:
        fields.append({"name": name, "type": kind, "offset": offset, "unit": ""})
        offset += struct.calcsize(f"<{_CODES[kind]}")
    header = {
        "version": 2,
        "record_bytes": _RECORD_BYTES,
        "fields": fields,
        "config": config,
        "clock": {"monotonic_ns": _MONOTONIC_NS, "unix_ns": EPOCH_NS},
        "verdicts": _VERDICTS,
    }
    text = json.dumps(header).encode()
    text += b" " * (-(len(_MAGIC) + 4 + len(text)) % _HEADER_STEP_BYTES)
    return _MAGIC + struct.pack("<I", len(text)) + text


def _over_ipv6(load: ConnectionLoad) -> bool:
    return ":" in address_in(load.server)


def _headers_bytes(load: ConnectionLoad) -> int:
    return _IP_AND_TRANSPORT_BYTES[load.ip_protocol] + (_MORE_OVER_IPV6_BYTES if _over_ipv6(load) else 0)


def _port(address: str) -> int:
    return int(address.rpartition(":")[2])


def _address(address: str) -> bytes:
    host = address_in(address)
    return socket.inet_pton(socket.AF_INET6 if ":" in host else socket.AF_INET, host).ljust(16, b"\0")


def through(packets: Sequence[_Packet], path: FakePath) -> list[_Packet]:
    """Return the delivered packets as a link behind the middle has them: towards the client before the main link."""
    found = []
    for packet in packets:
        if packet.departure_ns is None:
            continue
        if packet.direction == UP:
            at_ns, takes_ns = packet.departure_ns, path.up_ns
        else:
            at_ns, takes_ns = max(packet.load.began_ns, packet.arrival_ns - path.down_ns), path.down_ns
        found.append(
            _Packet(at_ns, at_ns + takes_ns, packet.direction, packet.payload_bytes, packet.load, packet.client)
        )
    return found
