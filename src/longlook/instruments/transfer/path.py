"""The path as a recording shows it: round trips, rate, queue, losses. Pure.

One end sees the path through its own packets alone. A round trip includes the peer's delay of its acknowledgement. A
rate counts data that arrived, so it is less than the path's if the sender held back.
"""

from dataclasses import dataclass

import numpy as np

from longlook.explain import Booleans, Integers
from longlook.instruments.transfer.recording import APPLICATION, Packets, Recording, matched

MIN_QUEUE_NS = 2_000_000
"""A round trip must be so much longer than the shortest one to show a queue: delayed acknowledgements and coarse clocks
are not."""
QUEUE_SHARE = 0.125
"""The same as a share of the shortest round trip."""
_STRETCH_PACKETS = 16
_MOST_STRETCHES = 200
_STEADY_PCT = 90.0


@dataclass(frozen=True)
class RoundTrips:
    """The round trip of packets whose acknowledgement was recorded. Arrays of shape (N,), in order of sending."""

    sent_ns: Integers
    length_ns: Integers

    @property
    def shortest_ns(self) -> int | None:
        """The shortest, None without any."""
        return int(self.length_ns.min()) if len(self.length_ns) else None


@dataclass(frozen=True)
class PathFacts:
    """The path as one end, or both ends, saw it; None for what cannot be known."""

    shortest_rtt_ns: int | None
    median_rtt_ns: int | None
    rate_bps: float | None  # the highest steady rate that arrived
    mean_rate_bps: float | None  # of the whole transfer
    queue_ns: int | None  # the longest wait in queues
    lost_share: float | None  # of the packets with data
    lost_packets: int
    data_bytes: int  # in packets with data, headers included

    @property
    def product_bytes(self) -> float | None:
        """The bandwidth-delay product."""
        if self.rate_bps is None or self.shortest_rtt_ns is None:
            return None
        return self.rate_bps * self.shortest_rtt_ns / 8e9


def round_trips(recording: Recording) -> RoundTrips:
    """Return the round trips of the newest packet of each acknowledgement, or what the sender logged of them.

    Older packets of an acknowledgement waited for it longer, so they say less of the path.
    """
    acked = recording.timed
    newest = np.ones(len(acked), np.bool_)
    if len(acked) > 1:
        newest[:-1] = np.diff(acked.time_ns) > 0
    acked = acked.take(newest & (acked.space == APPLICATION))
    place = matched(acked, recording.sent)
    known = place >= 0
    sent_ns = recording.sent.time_ns[place[known]]
    length = acked.time_ns[known] - sent_ns
    good = length > 0
    if good.any():
        order = np.argsort(sent_ns[good], kind="stable")
        return RoundTrips(sent_ns[good][order], length[good][order])
    logged = recording.figures.latest_rtt_ns
    begun_ns = logged.time_ns - logged.value
    good = (logged.value > 0) & (begun_ns >= 0)  # the first value may be a guess
    return RoundTrips(begun_ns[good], logged.value[good])


def lowest_near(trips: RoundTrips, window_ns: int) -> Integers:
    """Return for each round trip the shortest one within a window around it: a late acknowledgement is no queue."""
    begin = np.searchsorted(trips.sent_ns, trips.sent_ns - window_ns, side="left")
    end = np.searchsorted(trips.sent_ns, trips.sent_ns + window_ns, side="right")
    bounds = np.stack([begin, np.minimum(end, len(trips.sent_ns))], axis=1).reshape(-1)
    padded = np.append(trips.length_ns, np.iinfo(np.int64).max)
    return np.asarray(np.minimum.reduceat(padded, bounds)[::2], np.int64)


def queue_waits(trips: RoundTrips) -> tuple[Integers, Integers]:
    """Return begin and end of each wait of a packet in a queue, on the sender's clock: from its sending on."""
    shortest = trips.shortest_ns
    if shortest is None or len(trips.sent_ns) < 4:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    waits = lowest_near(trips, max(shortest // 4, 1)) - shortest
    long = waits > max(MIN_QUEUE_NS, QUEUE_SHARE * shortest)
    return trips.sent_ns[long], trips.sent_ns[long] + waits[long]


def waits_near(waits: tuple[Integers, Integers], sent_ns: Integers, near_ns: int) -> Integers:
    """Return for each packet, by when it left, the longest wait in a queue (`queue_waits`) that began within `near_ns`.

    The wait is 0 if none began there.
    """
    begins, ends = waits
    first = np.searchsorted(begins, sent_ns - near_ns, side="left")
    last = np.searchsorted(begins, sent_ns + near_ns, side="right")
    lengths = np.append(ends - begins, 0)
    bounds = np.stack([first, np.maximum(last, first)], axis=1).reshape(-1)
    longest = np.maximum.reduceat(lengths, bounds)[::2] if len(bounds) else lengths[:0]
    return np.asarray(np.where(last > first, longest, 0), np.int64)


def steady_rate_bps(times_ns: Integers, sizes: Integers, least_ns: int) -> float | None:
    """Return a rate that nine in ten stretches of time in which data came do not exceed; None for too little data.

    A stretch is at least `least_ns` long: acknowledgements that wait together arrive together, and would show a rate
    that the path does not have.
    """
    span_ns = int(times_ns[-1] - times_ns[0]) if len(times_ns) > 1 else 0
    count = min(_MOST_STRETCHES, span_ns // max(least_ns, 1), len(times_ns) // _STRETCH_PACKETS)
    if count < 1:
        return None
    sums, edges = np.histogram(times_ns, bins=int(count), weights=np.maximum(sizes, 0))
    rates = sums[sums > 0] * 8e9 / (edges[1] - edges[0])
    return float(np.percentile(rates, _STEADY_PCT)) if len(rates) else None


def path_facts(recording: Recording, trips: RoundTrips) -> PathFacts:
    """Return what one end saw of the path."""
    data = recording.sent if recording.sends else recording.received
    data = data.take(data.carries_data & (data.space == APPLICATION))
    arrived = recording.acked if recording.sends and len(recording.acked) else data
    waits = queue_waits(trips)
    span_ns = int(data.time_ns[-1] - data.time_ns[0]) if len(data) > 1 else 0
    logged = recording.figures.min_rtt_ns.value
    shortest = trips.shortest_ns
    if shortest is None and len(logged):
        shortest = int(logged.min())
    first = _of_handshake(recording)
    if shortest is None or (not recording.is_quic and recording.handshake_seen and first is not None):
        # A kernel answers a SYN at once; the program's answer may carry the only acknowledgement of a request.
        shortest = first if shortest is None or first is None else min(shortest, first)
    lost = len(recording.lost) + recording.counted_losses if recording.sends else missing(data)
    return PathFacts(
        shortest_rtt_ns=shortest,
        median_rtt_ns=int(np.median(trips.length_ns)) if len(trips.length_ns) else None,
        rate_bps=steady_rate_bps(arrived.time_ns, arrived.size_bytes, 2 * max(shortest or 0, grain_ns(data))),
        mean_rate_bps=data.total_bytes * 8e9 / span_ns if span_ns else None,
        queue_ns=int((waits[1] - waits[0]).max()) if len(waits[0]) else None,
        lost_share=lost / len(data) if len(data) else None,
        lost_packets=lost,
        data_bytes=data.total_bytes,
    )


def grain_ns(packets: Packets) -> int:
    """Return the shortest time between two packets that are not at one time: 1 ms or more is a coarse clock."""
    steps = np.diff(packets.time_ns)
    return int(steps[steps > 0].min(initial=np.iinfo(np.int64).max)) if (steps > 0).any() else 0


def _of_handshake(recording: Recording) -> int | None:
    """Return the time from this end's first packet to the first one that came after it."""
    if not len(recording.sent) or not len(recording.received):
        return None
    later = recording.received.time_ns[recording.received.time_ns > recording.sent.time_ns[0]]
    return int(later[0] - recording.sent.time_ns[0]) if len(later) else None


def missing(data: Packets) -> int:
    """Return how many packet numbers between the first and the last did not arrive, as far as they have numbers."""
    numbers = np.unique(data.number[data.number >= 0])
    return int(numbers[-1] - numbers[0] + 1 - len(numbers)) if len(numbers) else 0


def holes_before(data: Packets) -> Booleans:
    """Return for each packet whether the numbers just before its own had not arrived when it did."""
    so_far = (
        np.maximum.accumulate(np.concatenate([[data.number[0] - 1], data.number[:-1]])) if len(data) else data.number
    )
    found: Booleans = data.number > so_far + 1
    return found
