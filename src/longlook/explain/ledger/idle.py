"""Time in which nothing of an answer is at the bottleneck: it is elsewhere, or its sender waited. Pure."""

from collections.abc import Container

import numpy as np

from longlook.explain.facts.columns import Booleans, Integers, between
from longlook.explain.ledger.classes import Decisions, LedgerClass
from longlook.explain.ledger.handshake import AMPLIFICATION, amplification_limited
from longlook.explain.ledger.limits import CREDIT_BY_RULE, PACED_BY_RULE, Limits
from longlook.explain.ledger.load import Load
from longlook.explain.ledger.moments import Moments

ALL = tuple(LedgerClass)
BY_CLIENT = (LedgerClass.STREAM_IDS, LedgerClass.PROPAGATION, LedgerClass.CLIENT_IDLE)
"""The classes that the link towards the client and the client itself explain, whatever is behind the link."""


def decide_waiting(
    decisions: Decisions, times_ns: Integers, where: Booleans, load: Load, of: Container[LedgerClass] = ALL
) -> None:
    """Decide the remaining intervals by the places of the load's objects; `of` are the classes asked."""
    objects = load.objects
    held = objects.out_of_streams
    for name, begins_ns, ends_ns in (
        (LedgerClass.SERVER_THINK, objects.request_arrived_ns, objects.answered_ns),
        (LedgerClass.STREAM_IDS, objects.asked_ns[held], objects.request_sent_ns[held]),
        (LedgerClass.PROPAGATION, objects.served_ns, objects.done_ns),
        (LedgerClass.REQUEST, objects.asked_ns, objects.request_arrived_ns),
    ):
        if name in of:
            decisions.decide(where & between(times_ns, begins_ns, ends_ns), name)
    if len(objects.path) and LedgerClass.CLIENT_IDLE in of:
        decisions.decide(where & ~between(times_ns, objects.asked_ns, objects.done_ns), LedgerClass.CLIENT_IDLE)


def decide_idle(decisions: Decisions, times_ns: Integers, where: Booleans, load: Load) -> None:
    """Decide the undecided ones of some intervals by what kept the sender from sending."""
    chosen = np.flatnonzero(where & decisions.undecided)
    if len(chosen) == 0:
        return
    moments = Moments.of(times_ns[chosen], load)
    own = Decisions.open(len(chosen))
    if load.live:
        own.decide(moments.answering, LedgerClass.CPU)
    limits = Limits.of(load, moments)
    _decide(own, moments, limits, load)
    decisions.adopt(chosen, own)


def _decide(own: Decisions, moments: Moments, limits: Limits, load: Load) -> None:
    quiet = ~moments.in_air
    own.decide(amplification_limited(moments.time_ns, load), LedgerClass.HANDSHAKE, AMPLIFICATION)
    for name, where in limits.blocked.items():
        own.decide(where & ~limits.full, name)
    client_first = moments.next_back_ns <= moments.next_any_ns
    for name, where in limits.credit.items():
        own.decide(where & ~limits.all_sent & ~limits.application, name, CREDIT_BY_RULE)
    own.decide(quiet & limits.application & ~limits.all_sent, LedgerClass.APPLICATION)
    own.decide(quiet & client_first & ~limits.fired & (~limits.roomy | limits.all_sent), LedgerClass.ACK_WAIT)
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
    own.decide(limits.roomy, LedgerClass.APPLICATION, PACED_BY_RULE)
    own.decide(limits.unlogged & moments.triggered, LedgerClass.CONGESTION_WINDOW, "rule: it sends when acknowledged")
    own.decide(limits.unlogged & moments.in_air, LedgerClass.PACING, "rule: it sends unasked")
