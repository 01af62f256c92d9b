"""Reader of the link's packet log in the laboratory, with the standard library alone (docs/link-formats.md).

Columns are cut out of the file by strides, in C: a log of 100,000 packets is read in some tens of milliseconds.
"""

import json
import struct
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, compress
from pathlib import Path
from typing import Any, NamedTuple

UP, DOWN = 0, 1
"""Of `direction`."""
DELIVERED = 0
"""Of `verdict`."""
TCP, UDP = 6, 17
"""Of `ip_protocol`."""

_MAGIC = b"LLLINK2\n"
_LENGTH = struct.Struct("<I")
_CODES = {"<u8": "Q", "<u4": "I", "<u2": "H", "|u1": "B"}

FIELDS = (
    "arrival_ns",
    "departure_ns",
    "size_bytes",
    "transport_sequence",
    "acknowledgement",
    "flow",
    "client_port",
    "payload_bytes",
    "direction",
    "verdict",
    "ip_protocol",
    "tcp_flags",
    "copy",
    "quic_form",
)
"""The fields that are read."""

Columns = dict[str, Sequence[int]]
"""Field → its value in each record, in the order of the log. Times in ns since 1970; 0 is none."""


SYN, ACK, ECE, CWR = 0x02, 0x10, 0x40, 0x80
"""Of `tcp_flags`."""
_OPENING_FORMS = (2, 3)  # of `quic_form`: Initial, 0-RTT
_LEAST_OF_QUIC_BYTES = 19
"""What of a QUIC packet cannot be an answer's data: its first byte, number, tag and the type of a frame."""


class LinkLogError(ValueError):
    """The file is no packet log, or is damaged: the message names the file and the reason."""


def read_link_log(path: Path, client_address: str = "") -> Columns:
    """Return the records of a log; where an IPv4 address of a client is given, those of its packets alone.

    A last record that was cut off is left out. Raise LinkLogError for a foreign or damaged file, OSError if it cannot
    be opened.
    """
    data = path.read_bytes()
    header, begin = _header(path, data)
    try:
        types = {entry["name"]: entry["type"] for entry in header["fields"]}
        offsets = {entry["name"]: int(entry["offset"]) for entry in header["fields"]}
        stride, clock = int(header["record_bytes"]), header["clock"]
        offset_ns = int(clock["unix_ns"]) - int(clock["monotonic_ns"])
        body = memoryview(data)[begin : begin + (len(data) - begin) // stride * stride]
        columns: Columns = {name: _column(body, stride, offsets[name], _CODES[types[name]]) for name in FIELDS}
        chosen = _of_client(body, stride, offsets["client_address"], client_address) if client_address else None
    except (KeyError, TypeError, ValueError, ArithmeticError) as error:
        raise LinkLogError(f"{path} has a damaged header: {error!r}") from error
    if chosen is not None:
        columns = {name: list(compress(column, chosen)) for name, column in columns.items()}
    for name in ("arrival_ns", "departure_ns"):
        columns[name] = [time_ns and time_ns + offset_ns for time_ns in columns[name]]
    return columns


def _header(path: Path, data: bytes) -> tuple[dict[str, Any], int]:
    begin = len(_MAGIC) + _LENGTH.size
    if not data.startswith(_MAGIC) or len(data) < begin:
        raise LinkLogError(f"{path} is no packet log of this version of longlook-link")
    (length,) = _LENGTH.unpack_from(data, len(_MAGIC))
    try:
        header = json.loads(data[begin : begin + length])
    except (ValueError, RecursionError) as error:
        raise LinkLogError(f"{path} has a damaged header: {error}") from error
    if not isinstance(header, dict):
        raise LinkLogError(f"{path} has a damaged header: it is no JSON object")
    return header, begin + length


def _column(body: memoryview, stride: int, offset: int, code: str) -> Sequence[int]:
    """Return one field of all records. Fields and records are aligned, so that a field is an element of a cast."""
    size = struct.calcsize(f"<{code}")
    if offset % size or stride % size:
        raise ValueError(f"a field of {size} bytes at {offset} of {stride}")
    return body.cast(code)[offset // size :: stride // size].tolist()


def _of_client(body: memoryview, stride: int, offset: int, address: str) -> Sequence[bool]:
    """Return for each record whether its client has an IPv4 address, which is the first 4 bytes of the field."""
    (wanted,) = struct.unpack("=I", bytes(map(int, address.split("."))))
    return [found == wanted for found in _column(body, stride, offset, "I")]


class Segment(NamedTuple):
    """A packet of TCP at the link. Times in ns since 1970, 0 where it did not leave."""

    arrival_ns: int
    departure_ns: int
    direction: int
    verdict: int
    size_bytes: int
    payload_bytes: int
    transport_sequence: int
    acknowledgement: int
    tcp_flags: int
    copy: int
    client_port: int
    flow: int


_FLOW = Segment._fields.index("flow")


@dataclass(frozen=True)
class LinkLog:
    """What the links that lead to a flow's client did with its packets: the records of each link's log."""

    logs: tuple[Columns, ...] = ()

    def data_bytes(self, since_ns: int, until_ns: int) -> int:
        """Return how many bytes that can be an answer's data reached the client between two times, both included.

        Those are all of TCP, and of QUIC what its packets have room for.
        """
        first, behind = bisect_left(self._reached_ns, since_ns), bisect_right(self._reached_ns, until_ns)
        return self._totals[behind] - self._totals[first]

    def first_packet_ns(self, since_ns: int) -> int | None:
        """Return when the first packet reached the client at or after a time; None: none did."""
        at = bisect_left(self._reached_ns, since_ns)
        return self._reached_ns[at] if at < len(self._reached_ns) else None

    def first_data_ns(self, since_ns: int) -> int | None:
        """Return when the first packet with a payload reached the client at or after a time; None: none did."""
        first = bisect_left(self._reached_ns, since_ns)
        at = bisect_right(self._totals, self._totals[first], lo=first) - 1
        return self._reached_ns[at] if at < len(self._reached_ns) else None

    @cached_property
    def _reached(self) -> Sequence[tuple[int, int]]:
        """When packets reached the client, in order, and how many bytes of data each can have."""
        found: list[tuple[int, int]] = []
        for rows in self._rows("direction", "verdict", "departure_ns", "payload_bytes", "ip_protocol"):
            found += [
                (left_ns, payload if protocol == TCP else max(0, payload - _LEAST_OF_QUIC_BYTES))
                for direction, verdict, left_ns, payload, protocol in rows
                if direction == DOWN and verdict == DELIVERED
            ]
        return sorted(found)

    @cached_property
    def _reached_ns(self) -> Sequence[int]:
        return [left_ns for left_ns, _ in self._reached]

    @cached_property
    def _totals(self) -> Sequence[int]:
        return list(accumulate((data for _, data in self._reached), initial=0))

    @cached_property
    def openings_ns(self) -> Sequence[int]:
        """When the client's packets that open a connection came to the link, in order: SYN, Initial, 0-RTT."""
        found: list[int] = []
        for rows in self._rows("direction", "arrival_ns", "ip_protocol", "tcp_flags", "quic_form"):
            found += [
                arrival_ns
                for direction, arrival_ns, protocol, flags, form in rows
                if direction == UP and (form in _OPENING_FORMS if protocol == UDP else flags & SYN)
            ]
        return sorted(found)

    def new_stream_bytes(self, after_ns: int) -> int:
        """Return how many bytes of TCP's streams reached the client for the first time after a time."""
        names = ("departure_ns", "flow", "transport_sequence", "payload_bytes", "direction", "verdict", "ip_protocol")
        new = 0
        for rows in self._rows(*names):
            reached = sorted(
                (left_ns, flow, sequence, payload)
                for left_ns, flow, sequence, payload, direction, verdict, protocol in rows
                if payload and direction == DOWN and verdict == DELIVERED and protocol == TCP
            )
            if not reached or reached[-1][0] <= after_ns:
                continue
            highest: dict[int, int] = {}
            for left_ns, flow, sequence, payload in reached:
                end = sequence + payload
                beyond = ahead(end, highest[flow]) if flow in highest else payload
                if beyond > 0:
                    highest[flow] = end
                    new += min(beyond, payload) if left_ns > after_ns else 0
        return new

    def tcp_connections(self) -> Iterator[list[Segment]]:
        """Yield the segments of each connection of TCP, in the order in which they came to the link."""
        found: dict[tuple[int, int], list[Segment]] = {}
        for number, rows in enumerate(self._rows(*Segment._fields, "ip_protocol")):
            for row in rows:
                if row[-1] == TCP:
                    found.setdefault((number, row[_FLOW]), []).append(Segment(*row[:-1]))
        for segments in found.values():
            yield sorted(segments)

    def _rows(self, *names: str) -> Iterator[Iterator[tuple[int, ...]]]:
        """Yield for each log its records as tuples of some fields."""
        for log in self.logs:
            yield zip(*(log[name] for name in names), strict=True)


def ahead(one: int, other: int) -> int:
    """Return by how many bytes one sequence number of TCP is ahead of another; negative where it is behind."""
    return (one - other + (1 << 31)) % (1 << 32) - (1 << 31)
