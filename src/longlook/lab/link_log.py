"""Reader of the link's packet log in the laboratory, with the standard library alone (docs/reference/link-formats.md).

Columns are cut out of the file by strides, in C, and only if they are asked for: each trial pays for this.
"""

import ipaddress
import json
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import islice
from operator import and_, or_
from pathlib import Path
from typing import Any, Literal, NamedTuple

UP, DOWN = 0, 1
"""Values of `direction`."""
DELIVERED = 0
"""A value of `verdict`."""
TCP, UDP = 6, 17
"""Values of `ip_protocol`."""
SYN, ACK, ECE, CWR = 0x02, 0x10, 0x40, 0x80
"""Bits of `tcp_flags`."""
OPENING_FORMS = (2, 3)
"""Values of `quic_form`: Initial, 0-RTT."""
CORRUPTED = 2
"""A bit of `edits`: the packet was corrupted."""
_WORD_BYTES, _ADDRESS_BYTES = 8, 16

_MAGIC = b"LLLINK2\n"
_LENGTH = struct.Struct("<I")
_Code = Literal["Q", "I", "H", "B"]
_CODES: Mapping[str, _Code] = {"<u8": "Q", "<u4": "I", "<u2": "H", "|u1": "B"}
_ADDRESS = "client_address"
_WHOLE = bytes(not value & CORRUPTED for value in range(256))
_OPENS_QUIC = bytes(value in OPENING_FORMS for value in range(256))
OPENS_TCP = bytes(bool(value & SYN) for value in range(256))
"""Table that makes flags of TCP 1 if they hold SYN, else 0."""
_FURTHER = ("ip_protocol", "quic_form", "connection_id_bytes", "edits", "sequence", _ADDRESS)
_DAMAGE = (KeyError, TypeError, ValueError, ArithmeticError, AttributeError)


class LinkLogError(ValueError):
    """The file is no packet log, or is damaged: the message names the file and the reason."""


@dataclass(frozen=True)
class Records:
    """The records of one log, in its order. Times are from the monotonic clock; 0 is none."""

    body: memoryview
    record_bytes: int
    places: Mapping[str, tuple[int, _Code]]  # field → its offset, and its code for `struct`
    unix_minus_monotonic_ns: int
    _words: dict[int, bytes] = field(default_factory=dict)  # place of a word in a record → that word of all records

    def __getitem__(self, name: str) -> bytes | memoryview:
        """Return a field of all records.

        They are taken from the file by words, because the fields of a record that are asked for lie close together, and
        the fields of different records in different lines of the CPU's cache.
        """
        offset, code = self.places[name]
        size = struct.calcsize(f"<{code}")
        if offset % size or self.record_bytes % _WORD_BYTES:
            raise LinkLogError(f"a packet log has a field of {size} bytes at {offset} of {self.record_bytes}")
        if size == 1:
            return self._bytes(offset)
        place, words = offset % _WORD_BYTES, memoryview(self._words_at(offset)).cast(code)
        return words[place // size :: _WORD_BYTES // size]

    def _bytes(self, offset: int) -> bytes:
        return self._words_at(offset)[offset % _WORD_BYTES :: _WORD_BYTES]

    def _words_at(self, offset: int) -> bytes:
        word = offset // _WORD_BYTES
        if word not in self._words:
            every_word = self.body.cast("Q")
            self._words[word] = every_word[word :: self.record_bytes // _WORD_BYTES].tobytes()
        return self._words[word]

    def rows(self, *names: str) -> Iterator[tuple[int, ...]]:
        """Return the records as tuples of some fields."""
        return zip(*(self[name] for name in names), strict=True)

    def equal(self, name: str, value: int) -> bytes:
        """Return a byte for each record: 1 if a field of one byte has a value, else 0."""
        return _equal(self[name], value)

    def every(self, *masks: bytes) -> bytes:
        """Return a byte for each record: 1 if all the others are 1, else 0."""
        return reduce(and_, map(int.from_bytes, masks)).to_bytes(len(masks[0]))

    def reached_client(self) -> bytes:
        """Return a byte for each record: 1 if its packet left the link to the client, as it had come, else 0."""
        whole = bytes(self["edits"]).translate(_WHOLE)
        return self.every(self.equal("direction", DOWN), self.equal("verdict", DELIVERED), whole)

    def ip_versions(self) -> frozenset[int]:
        """Return the versions of IP of its packets; what is no IP packet has none."""
        return frozenset(bytes(self["ip_version"])) - {0}

    def flows(self) -> Iterator[bytes]:
        """Yield for each flow a byte for each record: 1 if its packet belongs to it, else 0."""
        offset, _ = self.places["flow"]
        parts = [self._bytes(offset + place) for place in range(4)]
        differing = [part for part in parts if part.count(part[:1]) < len(part)]
        found = {(value,) for value in set(differing[0])} if len(differing) == 1 else set(zip(*differing, strict=True))
        for values in sorted(found) if differing else [()]:
            chosen = (_equal(part, value) for part, value in zip(differing, values, strict=True))
            yield self.every(b"\x01" * len(parts[0]), *chosen)

    def openings_ns(self) -> Iterator[int]:
        """Yield when packets of clients came that open a connection, in ns since 1970."""
        opens = bytes(self["quic_form"]).translate(_OPENS_QUIC), bytes(self["tcp_flags"]).translate(OPENS_TCP)
        either = reduce(or_, map(int.from_bytes, opens)).to_bytes(len(opens[0]))
        chosen, arrivals_ns = self.every(self.equal("direction", UP), either), self["arrival_ns"]
        index = chosen.find(1)
        while index >= 0:
            yield arrivals_ns[index] + self.unix_minus_monotonic_ns
            index = chosen.find(1, index + 1)


def _equal(column: bytes | memoryview, value: int) -> bytes:
    table = bytearray(256)
    table[value] = 1
    return bytes(column).translate(table)


def read_link_log(path: Path, client_address: str = "") -> Records:
    """Return the records of a log; if an address of a client is given, only the records of its packets.

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
        if missing := {*TcpSegment._fields, *_FURTHER} - places.keys():
            raise LinkLogError(f"{path} lacks the fields {', '.join(sorted(missing))}")
    except _DAMAGE as error:
        raise LinkLogError(f"{path} has a damaged header: {error!r}") from error
    found = Records(body, stride, places, offset_ns)
    if not client_address:
        return found
    own = _packed(client_address)
    begins = range(places[_ADDRESS][0], len(body), stride)
    ours = (index for index, at in enumerate(begins) if body[at : at + _ADDRESS_BYTES] == own)
    chosen = [body[index * stride : (index + 1) * stride] for index in ours]
    return replace(found, body=memoryview(b"".join(chosen)), _words={})


def _packed(address: str) -> bytes:
    return ipaddress.ip_address(address).packed.ljust(_ADDRESS_BYTES, b"\0")


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


class TcpSegment(NamedTuple):
    """A packet of TCP at the link. Times are from the monotonic clock, 0 if it did not leave."""

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
    """The records of the links that lead to a flow's client: each link's log shows its fate for every packet."""

    logs: tuple[Records, ...] = ()

    def monotonic_ns(self, unix_ns: int) -> int:
        """Convert a time in ns since 1970 to the monotonic clock of the first log, to which all other logs are
        converted.
        """
        return unix_ns - self.logs[0].unix_minus_monotonic_ns if self.logs else unix_ns

    def opening_ns(self, since_ns: int, until_ns: int) -> int | None:
        """Return when the client's first packet that opens a connection (SYN, Initial, 0-RTT) came between two times,
        neither included; None: none did.
        """
        times_ns = (arrival_ns for log in self.logs for arrival_ns in log.openings_ns())
        return min((time_ns for time_ns in times_ns if since_ns < time_ns < until_ns), default=None)

    def tcp_connections(self, first: int) -> Iterator[list[TcpSegment]]:
        """Yield the segments of each connection of TCP among the first records of each log, in the order of arrival."""
        found: dict[tuple[int, int], list[TcpSegment]] = {}
        for number, log in enumerate(self.logs):
            for protocol, *row in islice(log.rows("ip_protocol", *TcpSegment._fields), first):
                if protocol == TCP:
                    segment = TcpSegment(*row)
                    found.setdefault((number, segment.flow), []).append(segment)
        for segments in found.values():
            yield sorted(segments)


def ahead(one: int, other: int) -> int:
    """Return by how many bytes one sequence number of TCP is ahead of another; negative if it is behind."""
    return (one - other + (1 << 31)) % (1 << 32) - (1 << 31)
