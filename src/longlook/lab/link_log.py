"""Reader of the link's packet log in the laboratory, with the standard library alone (docs/link-formats.md).

Columns are cut out of the file by strides, in C, and only those that are asked for: each trial pays for this.
"""

import json
import struct
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, compress, islice
from operator import le
from pathlib import Path
from typing import Any, Literal, NamedTuple

UP, DOWN = 0, 1
"""Of `direction`."""
DELIVERED = 0
"""Of `verdict`."""
TCP, UDP = 6, 17
"""Of `ip_protocol`."""
SYN, ACK, ECE, CWR = 0x02, 0x10, 0x40, 0x80
"""Of `tcp_flags`."""
_OPENING_FORMS = (2, 3)  # of `quic_form`: Initial, 0-RTT
_LEAST_OF_QUIC_BYTES = 19
"""What of a QUIC packet cannot be an answer's data: its first byte, number, tag and the type of a frame."""

_MAGIC = b"LLLINK2\n"
_LENGTH = struct.Struct("<I")
_Code = Literal["Q", "I", "H", "B"]
_CODES: Mapping[str, _Code] = {"<u8": "Q", "<u4": "I", "<u2": "H", "|u1": "B"}
_ADDRESS = "client_address"
_INVERTED = bytes([1, *bytes(255)])  # 0 becomes 1, everything else 0
_DAMAGE = (KeyError, TypeError, ValueError, ArithmeticError, AttributeError)


class LinkLogError(ValueError):
    """The file is no packet log, or is damaged: the message names the file and the reason."""


@dataclass(frozen=True)
class Records:
    """The records of one log, in its order. Times are those of the monotonic clock; 0 is none."""

    body: memoryview
    record_bytes: int
    places: Mapping[str, tuple[int, _Code]]  # field → its offset, and its code for `struct`
    unix_minus_monotonic_ns: int
    client_address: bytes = b""  # of the client whose packets alone count; empty: all do
    _columns: dict[str, Sequence[int]] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Sequence[int]:
        """Return a field of all records."""
        if name not in self._columns:
            column = self._read(*self.places[name])
            if self._chosen is not None:
                column = list(compress(column, self._chosen))
            self._columns[name] = column
        return self._columns[name]

    def rows(self, *names: str) -> Iterator[tuple[int, ...]]:
        """Return the records as tuples of some fields."""
        return zip(*(self[name] for name in names), strict=True)

    def delivered(self, direction: int) -> bytes:
        """Return a byte for each record: 1 if its packet went in a direction and left the link, else 0."""
        count = len(self["direction"])
        went = bytes(self["direction"]) if direction == DOWN else bytes(self["direction"]).translate(_INVERTED)
        left = bytes(self["verdict"]).translate(_INVERTED)
        return (int.from_bytes(went) & int.from_bytes(left)).to_bytes(count)

    def _read(self, offset: int, code: _Code) -> Sequence[int]:
        """Return one field. Fields and records are aligned, so that a field is an element of a cast."""
        size = struct.calcsize(f"<{code}")
        if offset % size or self.record_bytes % size:
            raise LinkLogError(f"a packet log has a field of {size} bytes at {offset} of {self.record_bytes}")
        column: list[int] = self.body.cast(code)[offset // size :: self.record_bytes // size].tolist()
        return column

    @cached_property
    def _chosen(self) -> Sequence[bool] | None:
        """Return for each record whether it is the client's: an IPv4 address is the first 4 bytes of the field."""
        if not self.client_address:
            return None
        (wanted,) = struct.unpack("=I", self.client_address)
        return [found == wanted for found in self._read(self.places[_ADDRESS][0], "I")]


def read_link_log(path: Path, client_address: str = "") -> Records:
    """Return the records of a log; where an IPv4 address of a client is given, those of its packets alone.

    A last record that was cut off is left out. Raise LinkLogError for a foreign or damaged file, OSError if it cannot
    be opened.
    """
    data = path.read_bytes()
    header, begin = _header(path, data)
    try:
        places = {entry["name"]: (int(entry["offset"]), _CODES.get(entry["type"], "I")) for entry in header["fields"]}
        stride, clock = int(header["record_bytes"]), header["clock"]
        offset_ns = int(clock["unix_ns"]) - int(clock["monotonic_ns"])
        body = memoryview(data)[begin : begin + (len(data) - begin) // stride * stride]
        if missing := {*Segment._fields, "ip_protocol", "quic_form", _ADDRESS} - places.keys():
            raise LinkLogError(f"{path} lacks the fields {', '.join(sorted(missing))}")
    except _DAMAGE as error:
        raise LinkLogError(f"{path} has a damaged header: {error!r}") from error
    return Records(
        body, stride, places, offset_ns, bytes(map(int, client_address.split("."))) if client_address else b""
    )


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


class Segment(NamedTuple):
    """A packet of TCP at the link. Times are those of the monotonic clock, 0 where it did not leave."""

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


@dataclass(frozen=True)
class LinkLog:
    """What the links that lead to a flow's client did with its packets: the records of each link's log."""

    logs: tuple[Records, ...] = ()

    def monotonic_ns(self, unix_ns: int) -> int:
        """Return a time in ns since 1970 as the first log has it, by which all others are put."""
        return unix_ns - self.logs[0].unix_minus_monotonic_ns if self.logs else unix_ns

    def data_bytes(self, since_ns: int, until_ns: int) -> int:
        """Return how many bytes that can be an answer's data reached the client between two times, both included.

        Those are all of TCP, and of QUIC what its packets have room for.
        """
        times_ns = self._reached[0]
        first = bisect_left(times_ns, self.monotonic_ns(since_ns))
        return self._totals[bisect_right(times_ns, self.monotonic_ns(until_ns))] - self._totals[first]

    def first_packet_ns(self, since_ns: int) -> int | None:
        """Return when the first packet reached the client at or after a time; None: none did."""
        return self._reached_at(bisect_left(self._reached[0], self.monotonic_ns(since_ns)))

    def first_data_ns(self, since_ns: int) -> int | None:
        """Return when the first packet with data reached the client at or after a time; None: none did."""
        first = bisect_left(self._reached[0], self.monotonic_ns(since_ns))
        return self._reached_at(bisect_right(self._totals, self._totals[first], lo=first) - 1)

    def opening_ns(self, since_ns: int, until_ns: int) -> int | None:
        """Return when the client's first packet that opens a connection (SYN, Initial, 0-RTT) came between two times,
        neither included; None: none did.
        """
        since, until = self.monotonic_ns(since_ns), self.monotonic_ns(until_ns)
        found = [
            arrival_ns
            for log in self.logs
            for arrival_ns, direction, protocol, flags, form in log.rows(
                "arrival_ns", "direction", "ip_protocol", "tcp_flags", "quic_form"
            )
            if since < arrival_ns < until
            and direction == UP
            and (form in _OPENING_FORMS if protocol == UDP else flags & SYN)
        ]
        return min(found) + self.logs[0].unix_minus_monotonic_ns if found else None

    def new_stream_bytes(self, after_ns: int) -> int:
        """Return how many bytes of TCP's streams reached the client for the first time after a time."""
        names = ("departure_ns", "flow", "transport_sequence", "payload_bytes", "direction", "verdict", "ip_protocol")
        new, after = 0, self.monotonic_ns(after_ns)
        for log in self.logs:
            reached = sorted(
                (left_ns, flow, sequence, payload)
                for left_ns, flow, sequence, payload, direction, verdict, protocol in log.rows(*names)
                if payload and direction == DOWN and verdict == DELIVERED and protocol == TCP
            )
            highest: dict[int, int] = {}
            for left_ns, flow, sequence, payload in reached:
                end = sequence + payload
                beyond = ahead(end, highest[flow]) if flow in highest else payload
                if beyond > 0:
                    highest[flow] = end
                    new += min(beyond, payload) if left_ns > after else 0
        return new

    def tcp_connections(self, first: int) -> Iterator[list[Segment]]:
        """Yield the segments of each connection of TCP among the first records of each log, in the order of arrival."""
        found: dict[tuple[int, int], list[Segment]] = {}
        for number, log in enumerate(self.logs):
            for protocol, *row in islice(log.rows("ip_protocol", *Segment._fields), first):
                if protocol == TCP:
                    segment = Segment(*row)
                    found.setdefault((number, segment.flow), []).append(segment)
        for segments in found.values():
            yield sorted(segments)

    def _reached_at(self, index: int) -> int | None:
        times_ns = self._reached[0]
        return times_ns[index] + self.logs[0].unix_minus_monotonic_ns if index < len(times_ns) else None

    @cached_property
    def _reached(self) -> tuple[Sequence[int], Sequence[int]]:
        """Return when packets reached the client, in order, and how many bytes of data each can have."""
        times_ns: list[int] = []
        data: list[int] = []
        for log in self.logs:
            chosen = log.delivered(DOWN)
            ahead_ns = log.unix_minus_monotonic_ns - self.logs[0].unix_minus_monotonic_ns
            left_ns = compress(log["departure_ns"], chosen)
            times_ns += (time_ns + ahead_ns for time_ns in left_ns) if ahead_ns else left_ns
            payloads = compress(log["payload_bytes"], chosen)
            if UDP in log["ip_protocol"]:
                protocols = compress(log["ip_protocol"], chosen)
                data += [
                    max(0, payload - _LEAST_OF_QUIC_BYTES) if protocol == UDP else payload
                    for payload, protocol in zip(payloads, protocols, strict=True)
                ]
            else:
                data += payloads
        if all(map(le, times_ns, islice(times_ns, 1, None))):
            return times_ns, data
        pairs = sorted(zip(times_ns, data, strict=True))
        return [time_ns for time_ns, _ in pairs], [size for _, size in pairs]

    @cached_property
    def _totals(self) -> Sequence[int]:
        return list(accumulate(self._reached[1], initial=0))


def ahead(one: int, other: int) -> int:
    """Return by how many bytes one sequence number of TCP is ahead of another; negative where it is behind."""
    return (one - other + (1 << 31)) % (1 << 32) - (1 << 31)
