"""The record of one end of one connection: packets, acknowledgements, losses and its sender's own figures. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from longlook.explain import Booleans, Integers, Steps

INITIAL, HANDSHAKE, APPLICATION = 0, 1, 2
"""Number spaces of packets; 0-RTT and 1-RTT packets share one, and TCP has only the last."""
UNKNOWN = -1
"""Stands for a size or a number that is not recorded."""
ACK_BYTES = 100
"""A packet below this size, or below a twelfth of the largest, is taken for an acknowledgement without data."""


@dataclass(frozen=True)
class Packets:
    """Some packets, or what happened to them, in order of time. Arrays of shape (N,); times are ns."""

    time_ns: Integers
    number: Integers  # of QUIC the packet number, of TCP the offset of the last byte in the stream
    space: Integers
    size_bytes: Integers

    def __len__(self) -> int:
        """Return the number of packets."""
        return len(self.time_ns)

    @classmethod
    def none(cls) -> "Packets":
        """Return no packets."""
        return cls(*(np.zeros(0, np.int64) for _ in range(4)))

    def take(self, chosen: Booleans | Integers) -> "Packets":
        """Return some of them."""
        return Packets(self.time_ns[chosen], self.number[chosen], self.space[chosen], self.size_bytes[chosen])

    @property
    def key(self) -> Integers:
        """One number for each packet of this direction: its own with its space."""
        return self.number * 3 + self.space

    @property
    def carries_data(self) -> Booleans:
        """Which packets are larger than an acknowledgement; all, if no size is recorded."""
        least = max(ACK_BYTES, int(self.size_bytes.max(initial=0)) // 12)
        found: Booleans = (self.size_bytes >= least) | (self.size_bytes == UNKNOWN)
        return found

    @property
    def total_bytes(self) -> int:
        """The sum of the sizes that are recorded."""
        return int(np.maximum(self.size_bytes, 0).sum())


@dataclass(frozen=True)
class Blocked:
    """The sender's peer gave no more credit."""

    time_ns: int
    limit: str  # connection, stream, receive_window and so on, as in docs/reference/row-kinds.md
    value_bytes: float  # NaN if it is not recorded
    by_peer: bool  # the peer of this end says that it is blocked


@dataclass(frozen=True)
class Moment:
    """A milestone, a state or a timer, at one time."""

    time_ns: int
    name: str
    detail: str = ""


@dataclass(frozen=True)
class Figures:
    """The sender's own figures over time; a series is empty if it is not logged."""

    cwnd_bytes: Steps
    in_flight_bytes: Steps
    smoothed_rtt_ns: Steps
    latest_rtt_ns: Steps
    min_rtt_ns: Steps
    pacing_bps: Steps


@dataclass(frozen=True)
class StreamParts:
    """Parts of streams that arrived. Arrays of shape (N,), in order of time."""

    time_ns: Integers
    stream: Integers
    offset_bytes: Integers
    size_bytes: Integers


@dataclass(frozen=True)
class Recording:
    """The record that one end made of one connection. Times are ns since the first packet."""

    name: str
    format: str  # qlog, netlog or capture
    protocol: str  # QUIC or TCP
    end: str  # client, server or unknown
    producer: str
    begin_ns: int  # of the clock of the file: what time 0 is there
    sent: Packets
    received: Packets
    acked: Packets  # packets of this end, when their acknowledgement arrived
    lost: Packets  # packets of this end, when it declared them lost
    triggers: Sequence[str]  # of each loss
    figures: Figures
    blocked: Sequence[Blocked]
    timers: Sequence[Moment]  # probe and retransmission timeouts; detail is the number in a row
    milestones: Sequence[Moment]
    states: Sequence[Moment]  # of the congestion controller, as it logs them
    discarded: Sequence[Moment]  # packets that this end threw away
    streams: StreamParts
    parameters: Mapping[str, Mapping[str, object]]  # local, remote, recovery
    counted_losses: int  # that have no packet
    problems: Sequence[str]  # of reading it, and what it contradicts of itself
    handshake_seen: bool
    notes: Sequence[str] = ()  # what is inferred of a capture, and what it lacks
    frames: tuple[Integers, Integers] | None = None  # of a capture: numbers, ascending, and frames of its file
    unsure: Booleans | None = None  # acknowledgements that may be for another copy of their packet

    @property
    def is_quic(self) -> bool:
        """Whether it is of QUIC; else it is of TCP."""
        return self.protocol == "QUIC"

    @property
    def sends(self) -> bool:
        """Whether this end sent more than it received, so that its trace is the sender's.

        Some programs log no sizes of packets that arrive; then the number of packets decides, as a receiver answers
        several at once.
        """
        if not self.received.total_bytes:
            return len(self.sent) >= len(self.received)
        return self.sent.total_bytes > self.received.total_bytes

    @property
    def end_ns(self) -> int:
        """The time of the last packet."""
        ends = [int(each.time_ns[-1]) for each in (self.sent, self.received) if len(each)]
        return max(ends, default=0)

    @property
    def timed(self) -> Packets:
        """Acknowledgements that show a round trip: it is known which sending of their packet they are for."""
        return self.acked if self.unsure is None else self.acked.take(~self.unsure)

    def frame_of(self, number: int) -> int | None:
        """Return the place in the capture's file, as Wireshark counts, of a packet in the direction of most data."""
        if self.frames is None:
            return None
        numbers, frames = self.frames
        place = int(np.searchsorted(numbers, number))
        return int(frames[place]) if place < len(numbers) and numbers[place] == number else None

    def named(self, name: str) -> "Recording":
        """Return the same under another name."""
        return replace(self, name=name)


def matched(packets: Packets, among: Packets) -> Integers:
    """Return for each packet the place of the packet of the same number in `among`, -1 if there is none."""
    if not len(among):
        return np.full(len(packets), -1, np.int64)
    order = np.argsort(among.key, kind="stable")
    keys = among.key[order]
    place = np.minimum(np.searchsorted(keys, packets.key), len(keys) - 1)
    return np.where(keys[place] == packets.key, order[place], -1)
