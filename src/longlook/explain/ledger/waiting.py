"""Time in which no answer is between its sender and the bottleneck: requests, servers, propagation, clients. Pure."""

import numpy as np

from longlook.explain.facts.columns import Booleans, Integers, between
from longlook.explain.ledger.classes import LedgerClass
from longlook.explain.ledger.load import Load
from longlook.explain.ledger.rules import Decisions

_STREAM_LIMITS = ("streams_bidi", "streams_uni")


def decide_waiting(decisions: Decisions, times_ns: Integers, load: Load) -> None:
    """Decide what is left by where the objects of the load are."""
    objects = load.objects
    asked = between(times_ns, objects.asked_ns, objects.request_arrived_ns)
    unsent = between(times_ns, objects.asked_ns, objects.request_sent_ns)
    decisions.decide(between(times_ns, objects.request_arrived_ns, objects.answered_ns), LedgerClass.SERVER_THINK)
    decisions.decide(between(times_ns, objects.served_ns, objects.done_ns), LedgerClass.PROPAGATION)
    decisions.decide(unsent & _out_of_streams(times_ns, load), LedgerClass.STREAM_IDS)
    decisions.decide(asked, LedgerClass.REQUEST)
    if len(objects.path):
        ended = ~between(times_ns, objects.asked_ns, objects.done_ns)
        decisions.decide(ended, LedgerClass.CLIENT_IDLE)


def _out_of_streams(times_ns: Integers, load: Load) -> Booleans:
    """Return at which times the client had met its limit of streams and sent no data since."""
    back = load.back
    sent = np.sort(back.arrival_ns[back.ours & back.carries_data])
    since = np.append(sent, -1)[np.searchsorted(sent, times_ns, side="right") - 1]
    found = np.zeros(len(times_ns), np.bool_)
    for client in load.client:
        times = np.sort(client.blocked.time_ns[client.blocked.named(*_STREAM_LIMITS)])
        last = np.append(times, -1)[np.searchsorted(times, times_ns, side="right") - 1]
        found |= (last >= 0) & (last >= since)
    return found
