"""The packets of both directions that surround moments at which the link has nothing of the load. Pure."""

from dataclasses import dataclass, fields

import numpy as np

from longlook.explain.facts.columns import NEVER, Booleans, Integers, between
from longlook.explain.ledger.load import Load

PROCESSING_NS = 1_000_000
"""A sender that sends within so long of an arriving acknowledgement sends because of it. Stamps of some logs (ngtcp2)
are no finer."""


@dataclass(frozen=True)
class Moments:
    """The surroundings of each of some moments; arrays of shape (moments,), times in ns, NEVER or -1 for none."""

    time_ns: Integers
    previous_ns: Integers  # the last packet with data of the load that came to the link
    next_ns: Integers  # the next one with data
    next_flow: Integers  # its flow, a code of the data's facts
    next_any_ns: Integers  # the next one, with data or without
    trigger_ns: Integers  # the last packet that reached the sender before that
    next_back_ns: Integers  # the next packet that the client sends
    in_air: Booleans  # whether any packet of the load is between an end and the bottleneck, or behind it

    def at(self, places: Integers) -> "Moments":
        """Return those at some places."""
        return Moments(*(getattr(self, each.name)[places] for each in fields(self)))

    @property
    def answering(self) -> Booleans:
        """Whether what the sender waited for has arrived, and it sends at once."""
        found: Booleans = self.triggered & (self.time_ns >= self.trigger_ns)
        return found

    @property
    def triggered(self) -> Booleans:
        """Whether the next packet is sent because of one that arrived after the last."""
        soon = (self.next_ns < NEVER) & (self.next_ns - self.trigger_ns <= PROCESSING_NS)
        found: Booleans = soon & (self.trigger_ns > self.previous_ns)
        return found

    @property
    def seen_ns(self) -> Integers:
        """The moment whose state of the sender explains this one: just before what it waited for arrived."""
        return np.where(self.answering, self.trigger_ns - 1, self.time_ns)

    @classmethod
    def of(cls, times_ns: Integers, load: Load) -> "Moments":
        """Return the surroundings of some moments in a load."""
        data, back = load.data, load.back
        own = np.flatnonzero(data.ours & data.carries_data)
        own = own[np.argsort(data.arrival_ns[own], kind="stable")]
        arrivals = data.arrival_ns[own]
        following = np.searchsorted(arrivals, times_ns, side="right")
        next_ns = np.append(arrivals, NEVER)[following]
        any_ns = np.append(np.sort(data.arrival_ns[data.ours]), NEVER)
        reached = np.sort(back.departure_ns[back.ours & back.delivered])
        answered = np.searchsorted(reached, next_ns, side="right") - 1
        sent_back = np.sort(back.arrival_ns[back.ours])
        return cls(
            time_ns=times_ns,
            previous_ns=np.append(arrivals, -1)[following - 1] if len(arrivals) else np.full(len(times_ns), -1),
            next_ns=next_ns,
            next_flow=np.append(data.flow[own], -1)[following],
            next_any_ns=any_ns[np.searchsorted(any_ns[:-1], times_ns, side="right")],
            trigger_ns=np.append(reached, -1)[answered],
            next_back_ns=np.append(sent_back, NEVER)[np.searchsorted(sent_back, times_ns, side="right")],
            in_air=_in_air(times_ns, load),
        )


def _in_air(times_ns: Integers, load: Load) -> Booleans:
    found = np.zeros(len(times_ns), np.bool_)
    for facts in (load.data, load.back, *load.beyond):
        own = facts.ours & facts.delivered
        found |= between(times_ns, facts.arrival_ns[own], facts.departure_ns[own])
    return found
