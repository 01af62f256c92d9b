"""Time in which no answer is between its sender and the bottleneck: requests, servers, propagation, clients. Pure."""

from collections.abc import Container

from longlook.explain.facts.columns import Booleans, Integers, between
from longlook.explain.ledger.classes import LedgerClass
from longlook.explain.ledger.load import Load
from longlook.explain.ledger.rules import Decisions

ALL = tuple(LedgerClass)
BY_CLIENT = (LedgerClass.STREAM_IDS, LedgerClass.PROPAGATION, LedgerClass.CLIENT_IDLE)
"""What the link towards the client and the client itself explain, whatever is behind the link."""


def decide_waiting(
    decisions: Decisions, times_ns: Integers, where: Booleans, load: Load, of: Container[LedgerClass] = ALL
) -> None:
    """Decide those of some intervals that are left by where the objects of the load are; `of` are the classes asked."""
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
