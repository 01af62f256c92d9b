"""What a sender over TCP had in flight at any moment, by the link's log. Pure."""

from dataclasses import dataclass

import numpy as np

from longlook.explain.facts.columns import Integers
from longlook.explain.facts.link import LinkFacts


@dataclass(frozen=True)
class TcpFlight:
    """New segments as they reached the link, and acknowledgements as they left it towards the sender.

    `ends` and `acked` count bytes from the first one, and ascend; shapes (segments,) and (acknowledgements,).
    """

    sent_ns: Integers
    ends: Integers
    returned_ns: Integers
    acked: Integers

    @classmethod
    def of(cls, data: LinkFacts, back: LinkFacts, flow: str) -> "TcpFlight":
        """Return the flight of one flow; empty where the link saw no data or no acknowledgement of it."""
        own = np.flatnonzero(data.of_flow(flow) & (data.payload_bytes > 0))
        acks = np.flatnonzero(back.of_flow(flow) & back.delivered & (back.acknowledgement > 0))
        if len(own) == 0 or len(acks) == 0:
            return cls(*(np.zeros(0, np.int64) for _ in range(4)))
        origin = int(data.transport_sequence[own[0]])
        ends = _unwrapped(data.transport_sequence[own], origin) + data.payload_bytes[own]
        new = ends > np.concatenate([[-1], np.maximum.accumulate(ends)[:-1]])
        acks = acks[np.argsort(back.departure_ns[acks], kind="stable")]
        acked = np.maximum.accumulate(_unwrapped(back.acknowledgement[acks], origin))
        return cls(data.arrival_ns[own[new]], ends[new], back.departure_ns[acks], acked)

    def segments(self, times_ns: Integers) -> Integers:
        """Return how many new segments were sent and not acknowledged: the kernel's window counts them, however small
        they are.
        """
        so_far = np.concatenate([[0], np.searchsorted(self.ends, self.acked, side="right")])
        return np.asarray(np.maximum(0, self._sent(times_ns) - so_far[self._returned(times_ns)]), np.int64)

    def bytes(self, times_ns: Integers) -> Integers:
        """Return how many bytes were sent and not acknowledged."""
        sent = np.concatenate([[0], self.ends])[self._sent(times_ns)]
        acked = np.concatenate([[0], self.acked])[self._returned(times_ns)]
        return np.asarray(np.maximum(0, sent - acked), np.int64)

    def _sent(self, times_ns: Integers) -> Integers:
        return np.searchsorted(self.sent_ns, times_ns, side="right")

    def _returned(self, times_ns: Integers) -> Integers:
        return np.searchsorted(self.returned_ns, times_ns, side="right")


def _unwrapped(numbers: Integers, origin: int) -> Integers:
    """Return 32-bit numbers in order of time as offsets from the first; neighbours lie within half of their range."""
    steps = np.diff(numbers, prepend=origin).astype(np.uint32).astype(np.int32).astype(np.int64)
    return np.cumsum(steps)
