"""Time in which an answer is on its way and nothing of it is at the bottleneck: what its sender waited for. Pure."""

import numpy as np

from longlook.explain.facts.columns import Booleans, Integers
from longlook.explain.ledger.classes import LedgerClass
from longlook.explain.ledger.handshake import AMPLIFICATION, amplification_limited
from longlook.explain.ledger.limits import CREDIT_BY_RULE, PACED_BY_RULE, Limits
from longlook.explain.ledger.load import Load
from longlook.explain.ledger.moments import Moments
from longlook.explain.ledger.rules import Decisions


def decide_idle(decisions: Decisions, times_ns: Integers, where: Booleans, load: Load) -> None:
    """Decide those of some intervals that are undecided by what kept the sender from sending."""
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
