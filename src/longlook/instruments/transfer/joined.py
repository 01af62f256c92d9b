"""Both ends of one connection together: what became of each packet, and the way of each direction. Pure.

The clocks of two machines differ by an unknown time. It falls out of everything here: the shortest way there and back
is a sum of both directions, and a wait is by how much a way is longer than the shortest in its direction.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from longlook.explain import Integers
from longlook.instruments.transfer.recording import APPLICATION, UNKNOWN, Packets, Recording, matched

_LEAST_PACKETS = 10
_ALIKE = 0.9
"""The least share of an end's received packets that the other end must have sent, with the same size."""
_DRIFT_NS = 1_000_000
_MOST_EVIDENCE = 5


@dataclass(frozen=True)
class Way:
    """One direction: its packets with a number after the handshake, and what became of them. Times are ns.

    A packet that never arrived was lost, or its receiver threw it away before it was logged. `spurious` are packets
    that were declared lost and arrived. `waits_ns` are beyond the shortest way of the direction, of shape (N,), in the
    order of sending.
    """

    sender: str  # client or server
    sent: int
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
    if (down := _way("server", server, client)) is None or (up := _way("client", client, server)) is None:
        return "they are not the two ends of one connection: their packets have other numbers or sizes"
    return Joined(down[0], up[0], down[1] + up[1])


def _way(end: str, sender: Recording, receiver: Recording) -> tuple[Way, int] | None:
    """Return a direction and its shortest way by the two clocks, None if the two records do not belong together."""
    sent = _numbered(sender.sent)
    received = _numbered(receiver.received)
    if min(len(sent), len(received)) < _LEAST_PACKETS:
        return None
    place = matched(received, sent)
    known = place >= 0
    sizes = received.size_bytes[known] != UNKNOWN
    same = sent.size_bytes[place[known]][sizes] == received.size_bytes[known][sizes]
    if known.mean() * (same.mean() if len(same) else 1.0) < _ALIKE:
        return None
    arrival = matched(sent, received)
    arrived = arrival >= 0
    sent_ns = sent.time_ns[arrived]
    came_ns = received.time_ns[arrival[arrived]]
    length = came_ns + receiver.begin_ns - sent_ns - sender.begin_ns
    shortest = int(length.min())
    lost = _numbered(sender.lost)
    late = lost.take(matched(lost, received) >= 0)
    quarter = max(1, len(length) // 4)
    way = Way(
        end,
        len(sent),
        int(arrived.sum()),
        len(lost),
        len(late),
        late.number[:_MOST_EVIDENCE].tolist(),
        int((came_ns[:-1] > np.minimum.accumulate(came_ns[::-1])[::-1][1:]).sum()),
        length - shortest,
        int(length[-quarter:].min() - length[:quarter].min()),
    )
    return way, shortest


def _numbered(packets: Packets) -> Packets:
    return packets.take((packets.space == APPLICATION) & (packets.number >= 0))
