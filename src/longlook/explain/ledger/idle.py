"""Time in which an answer is on its way and nothing of it is at the bottleneck: what its sender waited for. Pure."""

from dataclasses import dataclass

import numpy as np

from longlook.explain.facts.columns import NEVER, Booleans, Integers, between
from longlook.explain.ledger.classes import LedgerClass
from longlook.explain.ledger.handshake import AMPLIFICATION, amplification_limited
from longlook.explain.ledger.limits import Limits
from longlook.explain.ledger.load import Load
from longlook.explain.ledger.rules import Decisions

PROCESSING_NS = 1_000_000
"""A sender that sends within so long of an arriving acknowledgement sends because of it. Stamps of some logs (ngtcp2)
are no finer."""


@dataclass(frozen=True)
class Moments:
    """What surrounds each of some moments; arrays of shape (moments,), times in ns, NEVER or -1 for none."""

    time_ns: Integers
    previous_ns: Integers  # the last packet of the load that reached the bottleneck
    next_ns: Integers  # the next one
    next_flow: Integers  # its flow, a code of the data's facts
    trigger_ns: Integers  # the last packet that reached the sender before that
    next_back_ns: Integers  # the next packet that the client sends
    in_air: Booleans  # whether any packet of the load is between an end and the bottleneck, or behind it

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
        own = np.flatnonzero(data.ours)
        own = own[np.argsort(data.arrival_ns[own], kind="stable")]
        arrivals = data.arrival_ns[own]
        following = np.searchsorted(arrivals, times_ns, side="right")
        next_ns = np.append(arrivals, NEVER)[following]
        reached = np.sort(back.departure_ns[back.ours & back.delivered])
        answered = np.searchsorted(reached, next_ns, side="right") - 1
        sent_back = np.sort(back.arrival_ns[back.ours])
        return cls(
            time_ns=times_ns,
            previous_ns=np.append(arrivals, -1)[following - 1] if len(arrivals) else np.full(len(times_ns), -1),
            next_ns=next_ns,
            next_flow=np.append(data.flow[own], -1)[following],
            trigger_ns=np.append(reached, -1)[answered],
            next_back_ns=np.append(sent_back, NEVER)[np.searchsorted(sent_back, times_ns, side="right")],
            in_air=_in_air(times_ns, load),
        )


def _in_air(times_ns: Integers, load: Load) -> Booleans:
    found = np.zeros(len(times_ns), np.bool_)
    for facts in (load.data, load.back):
        own = facts.ours & facts.delivered
        found |= between(times_ns, facts.arrival_ns[own], facts.departure_ns[own])
    return found


def decide_idle(decisions: Decisions, times_ns: Integers, where: Booleans, load: Load) -> None:
    """Decide those of some intervals that are undecided by what kept the sender from sending."""
    chosen = np.flatnonzero(where & decisions.undecided)
    if len(chosen) == 0:
        return
    moments = Moments.of(times_ns[chosen], load)
    own = Decisions.open(len(chosen))
    if load.live:
        own.decide(moments.answering, LedgerClass.CPU)
    limits = Limits.of(load, moments.seen_ns, moments.next_ns, moments.previous_ns, moments.next_flow)
    _decide(own, moments, limits, load)
    decisions.adopt(chosen, own)


def _decide(own: Decisions, moments: Moments, limits: Limits, load: Load) -> None:
    quiet = ~moments.in_air
    own.decide(amplification_limited(moments.time_ns, load), LedgerClass.HANDSHAKE, AMPLIFICATION)
    for name, where in limits.blocked.items():
        own.decide(where & ~limits.full, name)
    client_first = moments.next_back_ns <= moments.next_ns
    own.decide(quiet & limits.application & ~limits.all_sent, LedgerClass.APPLICATION)
    own.decide(quiet & client_first & ~limits.fired, LedgerClass.ACK_WAIT)
    for text, where in limits.timers.items():
        own.decide(quiet & where, LedgerClass.TIMER, text)
    own.decide(quiet & limits.dropped, LedgerClass.TIMER, "rule: it went on by itself after a drop")
    own.decide(limits.all_sent, LedgerClass.LOSS_DETECTION)
    own.decide(limits.application, LedgerClass.APPLICATION)
    for text, where in limits.states.items():
        own.decide(limits.full & where, LedgerClass.CONGESTION_WINDOW, text)
    for text, where in limits.timers.items():
        own.decide(where, LedgerClass.TIMER, text)
    for text, where in limits.paced.items():
        own.decide(where, LedgerClass.PACING, text)
    own.decide(limits.unlogged & moments.triggered, LedgerClass.CONGESTION_WINDOW, "rule: it sends when acknowledged")
    own.decide(limits.unlogged & moments.in_air, LedgerClass.PACING, "rule: it sends unasked")
