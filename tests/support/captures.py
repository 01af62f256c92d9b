"""Captures of packets written by hand: containers, links, Internet headers, TCP segments."""

import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address

FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
CLIENT, SERVER = ("192.0.2.1", 40_000), ("198.51.100.7", 443)
ETHERNET, RAW, COOKED, COOKED_2, LOOPBACK = 1, 101, 113, 276, 0
BEGIN_NS = 1_700_000_000_000_000_000
End = tuple[str, int]


@dataclass(frozen=True)
class Frame:
    """A packet from its IP header on, when it was captured, how long it was, and at which interface."""

    time_ns: int
    packet: bytes
    original_bytes: int | None = None
    interface: int = 0


def tcp(
    sequence: int,
    acknowledgement: int = 0,
    data: bytes = b"",
    flags: int = ACK,
    window: int = 65_535,
    options: bytes = b"",
    ends: tuple[End, End] = (CLIENT, SERVER),
) -> bytes:
    options += b"\1" * (-len(options) % 4)
    offset = (20 + len(options)) // 4 << 4
    header = struct.pack(
        ">HHIIBBHHH", ends[0][1], ends[1][1], sequence % 2**32, acknowledgement % 2**32, offset, flags, window, 0, 0
    )
    return ip(6, header + options + data, ends)


def udp(data: bytes, ends: tuple[End, End] = (CLIENT, SERVER)) -> bytes:
    return ip(17, struct.pack(">HHHH", ends[0][1], ends[1][1], 8 + len(data), 0) + data, ends)


def ip(protocol: int, content: bytes, ends: tuple[End, End], hops: int = 60, extensions: bytes = b"") -> bytes:
    """Put content into a packet of the version of its addresses; `extensions` are whole headers of version 6."""
    source, destination = (ip_address(end[0]) for end in ends)
    if source.version == 4:
        total = 20 + len(content) if len(content) < 65_516 else 0
        header = struct.pack(">BBHHHBBH", 0x45, 0, total, 0, 0, hops, protocol, 0)
        return header + source.packed + destination.packed + content
    first = extensions[0] if extensions else protocol
    body = extensions[1:] + content if extensions else content
    return struct.pack(">IHBB", 6 << 28, len(body), first, hops) + source.packed + destination.packed + body


def linked(packet: bytes, link_type: int, tags: Sequence[int] = ()) -> bytes:
    """Put the header of a link before a packet."""
    kind = 0x0800 if packet[0] >> 4 == 4 else 0x86DD
    tagged = b"".join(struct.pack(">HH", tag, 7) for tag in tags) + struct.pack(">H", kind)
    match link_type:
        case 1:
            return bytes(12) + tagged + packet
        case 113:
            return bytes(14) + tagged + packet
        case 276:
            return struct.pack(">HHIHBB8x", kind, 0, 1, 1, 0, 6) + packet
        case 0:
            return struct.pack("<I", 2 if kind == 0x0800 else 30) + packet
        case _:
            return packet


def pcap(frames: Iterable[Frame], link_type: int = RAW, order: str = "<", ns: bool = True, snap: int = 65_535) -> bytes:
    magic, unit = (0xA1B23C4D, 1) if ns else (0xA1B2C3D4, 1000)
    parts = [struct.pack(f"{order}IHHiIII", magic, 2, 4, 0, 0, snap, link_type)]
    for frame in frames:
        whole = linked(frame.packet, link_type)
        seconds, rest = divmod(frame.time_ns, 1_000_000_000)
        original = frame.original_bytes or len(whole)
        parts += [struct.pack(f"{order}IIII", seconds, rest // unit, len(whole[:snap]), original), whole[:snap]]
    return b"".join(parts)


def block(kind: int, body: bytes, order: str = "<") -> bytes:
    body += bytes(-len(body) % 4)
    length = struct.pack(f"{order}I", len(body) + 12)
    return struct.pack(f"{order}I", kind) + length + body + length


def option(code: int, value: bytes, order: str = "<") -> bytes:
    return struct.pack(f"{order}HH", code, len(value)) + value + bytes(-len(value) % 4)


def pcapng(
    frames: Iterable[Frame],
    interfaces: Sequence[tuple[int, int]] = ((RAW, 9),),
    order: str = "<",
    secrets: bytes = b"",
    snap: int = 0,
) -> bytes:
    """Write a section whose interfaces have a link and a resolution, which is the exponent of ten or, from 128, two."""
    parts = [block(0x0A0D0D0A, struct.pack(f"{order}IHHq", 0x1A2B3C4D, 1, 0, -1), order)]
    for link_type, resolution in interfaces:
        body = struct.pack(f"{order}HHI", link_type, 0, snap) + option(9, bytes([resolution]), order)
        parts.append(block(1, body + bytes(4), order))
    if secrets:
        parts.append(block(10, struct.pack(f"{order}II", 0x544C534B, len(secrets)) + secrets, order))
    for frame in frames:
        link_type, resolution = interfaces[frame.interface]
        ticks = 2 ** (resolution - 128) if resolution >= 128 else 10**resolution
        time = frame.time_ns * ticks // 1_000_000_000
        whole = linked(frame.packet, link_type)
        kept = whole[:snap] if snap else whole
        body = struct.pack(
            f"{order}IIIII", frame.interface, time >> 32, time % 2**32, len(kept), frame.original_bytes or len(whole)
        )
        parts.append(block(6, body + kept, order))
    return b"".join(parts)


def timestamps(own: int, echoed: int) -> bytes:
    return struct.pack(">BBBBII", 1, 1, 8, 10, own % 2**32, echoed % 2**32)


def sack(*blocks: tuple[int, int]) -> bytes:
    edges = b"".join(struct.pack(">II", low % 2**32, high % 2**32) for low, high in blocks)
    return struct.pack(">BBBB", 1, 1, 5, 2 + len(edges)) + edges


@dataclass
class Download:
    """A transfer over TCP in flights: each flight leaves when the one before it is acknowledged.

    `place` is where the capture is: 0 at the client, 1 at the server, between them a share of the path. Times are ms.
    """

    rtt_ms: float = 40
    flights: int = 12
    window: int = 10
    segment_bytes: int = 1448
    place: float = 1
    first: int = 1000  # the server's initial sequence number
    lost: frozenset[int] = frozenset()  # segments whose first sending is lost
    late_ms: float = 0  # lost segments are late by so much instead, if this is not 0
    with_times: bool = True
    with_sacks: bool = True
    receive_window: int = 1 << 20
    scale: int = 7
    think_ms: float = 0  # the server takes so long to answer
    pause_ms: float = 0  # the server has nothing to send for so long between flights
    handshake: bool = True
    joined: int = 1  # so many segments are one, as an offload has them
    ends: tuple[End, End] = (CLIENT, SERVER)
    frames: list[Frame] = field(default_factory=list)
    sent: int = 0
    repeated: int = 0

    def __post_init__(self) -> None:
        self._next_ms = 0.0
        if self.handshake:
            self._shake()
        self._ask()
        while self._flight < self.flights:
            self._send_flight()
        self.frames.sort(key=lambda frame: frame.time_ns)

    _flight: int = 0

    def _put(self, by_client: bool, at_ms: float, make: Callable[[tuple[End, End]], bytes]) -> None:
        """Add a packet that its end sends at a time."""
        way = self.place if by_client else 1 - self.place
        ends = self.ends if by_client else (self.ends[1], self.ends[0])
        self.frames.append(Frame(BEGIN_NS + round((at_ms + way * self.rtt_ms / 2) * 1e6), make(ends)))

    def _times(self, at_ms: float, echoed_ms: float) -> bytes:
        return timestamps(round(at_ms), round(echoed_ms)) if self.with_times else b""

    def _shake(self) -> None:
        mss = struct.pack(">BBH", 2, 4, 1460) + struct.pack(">BBBB", 1, 3, 3, self.scale)
        half = self.rtt_ms / 2
        self._put(True, 0, lambda ends: tcp(99, 0, b"", SYN, options=mss + self._times(0, 0), ends=ends))
        answer = SYN | ACK
        self._put(
            False,
            half,
            lambda ends: tcp(self.first - 1, 100, b"", answer, options=mss + self._times(half, 0), ends=ends),
        )
        self._put(
            True, self.rtt_ms, lambda ends: tcp(100, self.first, options=self._times(self.rtt_ms, half), ends=ends)
        )

    def _ask(self) -> None:
        at, half = self.rtt_ms + 0.01, self.rtt_ms / 2
        self._put(
            True,
            at,
            lambda ends: tcp(100, self.first, b"GET /\r\n", ACK | PSH, options=self._times(at, half), ends=ends),
        )
        self._next_ms = at + half + 0.05 + self.think_ms

    def _send_flight(self) -> None:
        at_ms, half = self._next_ms, self.rtt_ms / 2
        begin = self._flight * self.window
        arrived: list[tuple[float, int]] = []
        for place in range(0, self.window, self.joined):
            number, time = begin + place, at_ms + 0.12 * place
            count = min(self.joined, self.window - place)
            if number not in self.lost or self.place > 0:
                self._data(number, time, count)
            elif self.late_ms:
                self._data(number, time + self.late_ms, count, time)
            if number not in self.lost:
                arrived.append((time + half, number + count - 1))
            elif self.late_ms:
                arrived.append((time + half + self.late_ms, number))
        missing = sorted(number for number in self.lost if begin <= number < begin + self.window)
        end_ms = at_ms + 0.12 * self.window + self.rtt_ms
        self._acknowledge(begin, sorted(arrived))
        if missing and not self.late_ms:
            for number in missing:
                self._data(number, end_ms, 1)
                self.repeated += 1
            end_ms += self.rtt_ms
            self._ack(end_ms - half, begin + self.window, end_ms - self.rtt_ms)
        self._flight += 1
        self._next_ms = end_ms + 0.02 + self.pause_ms

    def _data(self, number: int, at_ms: float, count: int, own_ms: float | None = None) -> None:
        own, echoed = at_ms if own_ms is None else own_ms, at_ms - self.rtt_ms / 2
        sequence, data = self.first + number * self.segment_bytes, bytes(self.segment_bytes * count)
        self._put(False, at_ms, lambda ends: tcp(sequence, 107, data, options=self._times(own, echoed), ends=ends))
        self.sent += count

    def _ack(self, at_ms: float, up_to: int, echoed_ms: float, *blocks: tuple[int, int]) -> None:
        place = self.first + up_to * self.segment_bytes
        window = self.receive_window >> self.scale
        edges = [
            (self.first + low * self.segment_bytes, self.first + high * self.segment_bytes) for low, high in blocks
        ]
        options = self._times(at_ms, echoed_ms) + (sack(*edges) if edges and self.with_sacks else b"")
        self._put(True, at_ms, lambda ends: tcp(107, place, window=window, options=options, ends=ends))

    def _acknowledge(self, begin: int, arrived: Sequence[tuple[float, int]]) -> None:
        """Acknowledge each arrival at once, with what has arrived behind a hole."""
        got: set[int] = set()
        next_one, echoed = begin, 0.0
        half = self.rtt_ms / 2
        for at_ms, last in arrived:
            got |= set(range(last - self.joined + 1, last + 1))
            if next_one in got:
                echoed = at_ms - half
            while next_one in got:
                next_one += 1
            beyond = sorted(number for number in got if number > next_one)
            blocks = [(beyond[0], beyond[-1] + 1)] if beyond else []
            self._ack(at_ms, next_one, echoed, *blocks)


def frames_of(data: bytes) -> list[Frame]:
    """Return the frames of a capture that `pcap` could have written, with ns and from their IP headers on."""
    found, at = [], 24
    while at < len(data):
        seconds, rest, kept, original = struct.unpack_from("<IIII", data, at)
        found.append(Frame(seconds * 1_000_000_000 + rest, data[at + 16 : at + 16 + kept], original))
        at += 16 + kept
    return found
