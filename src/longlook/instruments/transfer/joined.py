"""Both ends of one connection together: what became of each packet, and the way of each direction. Pure.

The clocks of two machines differ by an unknown time, which falls out of everything here if it stays the same. The
shortest way there and back is a sum of both directions. A wait is the time by which a way is longer than the shortest
in its direction.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from longlook.explain import Integers
from longlook.instruments.transfer.path import round_trips
from longlook.instruments.transfer.recording import APPLICATION, UNKNOWN, Packets, Recording, matched
from longlook.instruments.transfer.suspicion import MOST_EVIDENCE

_LEAST_PACKETS = 10
_ALIKE = 0.9
"""The least share of an end's received packets that the other end must have sent, with the same size."""
_DRIFT_NS = 1_000_000
_RTT_BOUNDS = (0.5, 1.1)
"""The shortest way there and back as a part of the shortest round trip that the sender saw, which has delays of
acknowledgements in it; the clocks may have drifted a little.
"""


@dataclass(frozen=True)
class Way:
    """One direction: its packets with a number after the handshake, and what became of them. Times are ns.

    `sent` are those from the first to the last that arrived: `outside` left before or after them, when the other end's
    trace may not have begun, or had ended. The others that never arrived were lost, or their receiver threw them away
    before it logged them. `spurious` are packets that were declared lost and arrived. `waits_ns` are beyond the
    shortest way of the direction, of shape (N,), in the order of sending.
    """

    sender: str  # client or server
    sent: int
    outside: int
    arrived: int
    declared_lost: int
    spurious: int
    spurious_numbers: Sequence[int]  # the first of them
    overtaken: int  # arrived after a packet that had been sent later
    waits_ns: Integers
    drift_ns: int  # by how much the shortest way of the last quarter is longer than the shortest of the first

    @property
    def never_arrived(self) -> int:
        """Packets that the other end has no record of."""
        return self.sent - self.arrived

    @property
    def clocks_drift(self) -> bool:
        """Whether the shortest way changes by a millisecond or more, by a queue that never empties or by a clock."""
        return abs(self.drift_ns) >= _DRIFT_NS


@dataclass(frozen=True)
class Joined:
    """A connection by both its ends."""

    down: Way
    up: Way
    rtt_ns: int  # the shortest way there and back

    @property
    def ways(self) -> tuple[Way, Way]:
        """Both directions, down first."""
        return self.down, self.up


def join(client: Recording, server: Recording) -> Joined | str:
    """Return both ends as one, or why they cannot be the two ends of one connection."""
    ways = []
    for end, sender, receiver in (("server", server, client), ("client", client, server)):
        sent, received = _numbered(sender.sent), _numbered(receiver.received)
        if min(len(sent), len(received)) < _LEAST_PACKETS:
            return f"fewer than {_LEAST_PACKETS} packets of the {end} have numbers at both ends"
        if _share_alike(sent, received) < _ALIKE:
            return f"packets that arrived from the {end} have numbers or sizes that its trace lacks"
        ways.append(_way(end, sender, sent, received, receiver.begin_ns))
    (down, down_ns), (up, up_ns) = ways
    shortest_ns = min((each for each in map(_shortest_rtt_ns, (client, server)) if each), default=None)
    low, high = _RTT_BOUNDS
    rtt_ns = down_ns + up_ns
    if rtt_ns <= 0 or (shortest_ns is not None and not low <= rtt_ns / shortest_ns <= high):
        return "their packets have like numbers, but their times do not belong to one connection"
    return Joined(down, up, rtt_ns)


def _shortest_rtt_ns(recording: Recording) -> int | None:
    return round_trips(recording).shortest_ns


def _share_alike(sent: Packets, received: Packets) -> float:
    """Return which share of the received packets the other end sent, with the same size if it is known."""
    place = matched(received, sent)
    known = place >= 0
    sizes = received.size_bytes[known] != UNKNOWN
    same = sent.size_bytes[place[known]][sizes] == received.size_bytes[known][sizes]
    return float(known.mean()) * (float(same.mean()) if len(same) else 1.0)


def _way(end: str, sender: Recording, sent: Packets, received: Packets, begin_ns: int) -> tuple[Way, int]:
    """Return a direction, and its shortest way in ns by the two clocks; `begin_ns` is the receiver's time 0."""
    seen = np.flatnonzero(matched(sent, received) >= 0)
    outside = len(sent) - int(seen[-1] - seen[0] + 1)
    sent = sent.take(np.arange(seen[0], seen[-1] + 1))
    arrival = matched(sent, received)
    arrived = arrival >= 0
    sent_ns = sent.time_ns[arrived]
    came_ns = received.time_ns[arrival[arrived]]
    length_ns = came_ns + begin_ns - sent_ns - sender.begin_ns
    shortest_ns = int(length_ns.min())
    lost = _numbered(sender.lost)
    late = lost.take(matched(lost, received) >= 0)
    quarter = max(1, len(length_ns) // 4)
    way = Way(
        end,
        len(sent),
        outside,
        int(arrived.sum()),
        len(lost),
        len(late),
        late.number[:MOST_EVIDENCE].tolist(),
        int((came_ns[:-1] > np.minimum.accumulate(came_ns[::-1])[::-1][1:]).sum()),
        length_ns - shortest_ns,
        int(length_ns[-quarter:].min() - length_ns[:quarter].min()),
    )
    return way, shortest_ns


def _numbered(packets: Packets) -> Packets:
    return packets.take((packets.space == APPLICATION) & (packets.number >= 0))
