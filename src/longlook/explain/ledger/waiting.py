"""Time in which no answer is between its sender and the bottleneck: requests, servers, propagation, clients. Pure."""

from longlook.explain.facts.columns import Integers, between
from longlook.explain.ledger.classes import LedgerClass
from longlook.explain.ledger.load import Load
from longlook.explain.ledger.rules import Decisions


def decide_waiting(decisions: Decisions, times_ns: Integers, load: Load) -> None:
    """Decide what is left by where the objects of the load are."""
    objects = load.objects
    held = objects.out_of_streams
    for name, begins_ns, ends_ns in (
        (LedgerClass.SERVER_THINK, objects.request_arrived_ns, objects.answered_ns),
        (LedgerClass.STREAM_IDS, objects.asked_ns[held], objects.request_sent_ns[held]),
        (LedgerClass.PROPAGATION, objects.served_ns, objects.done_ns),
        (LedgerClass.REQUEST, objects.asked_ns, objects.request_arrived_ns),
    ):
        decisions.decide(between(times_ns, begins_ns, ends_ns), name)
    if len(objects.path):
        decisions.decide(~between(times_ns, objects.asked_ns, objects.done_ns), LedgerClass.CLIENT_IDLE)
