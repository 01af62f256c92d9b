"""One trial's timeline → its ledger. Pure."""

from dataclasses import replace

import numpy as np

from longlook.core import Trial
from longlook.explain.facts.columns import Integers
from longlook.explain.facts.objects import ObjectFacts
from longlook.explain.ledger.classes import PLACES, Decisions, LedgerClass
from longlook.explain.ledger.fallback import decide_fallback
from longlook.explain.ledger.handshake import decide_handshake
from longlook.explain.ledger.idle import decide_idle, decide_waiting
from longlook.explain.ledger.load import Load
from longlook.explain.ledger.middle import Behind, decide_middle
from longlook.explain.ledger.service import Service, decide_service, wasted_bytes
from longlook.explain.ledger.table import Ledger, ledger_table
from longlook.timeline import Timeline, doubts_of


def make_ledger(timeline: Timeline, trial: Trial, *, live: bool = False) -> Ledger | None:
    """Return where the time of a trial's load went, or None if it has no load or the link saw none of its packets.

    `live` says that the trial ran in real time, in which computing takes time. Without events the rules read the link's
    log alone, and `detail` names them. With competing flows the load is the first group's.
    """
    load = Load.of(timeline, trial, live=live)
    if load is None:
        return None
    edges_ns, decisions = _decided(load)
    table = ledger_table(edges_ns, decisions.name, decisions.detail, [str(name) for name in PLACES], decisions.texts)
    doubts = () if timeline.events is None else doubts_of(timeline.events.metadata)
    return Ledger(table, _objects(load.objects), tuple(doubt.sentence for doubt in doubts))


def _decided(load: Load) -> tuple[Integers, Decisions]:
    """Return the edges of a load's intervals, and what each of them belongs to."""
    behind = None
    if load.behind is not None:
        behind = Behind(*_decided(load.behind), load.behind.data.delay_ns, proxied=not load.beyond)
    service = Service.of(load.data, wasted_bytes(load))
    edges_ns = _edges(load, service, behind)
    times_ns = edges_ns[:-1]
    decisions = Decisions.open(len(times_ns))
    decide_fallback(decisions, times_ns, load.fallback)
    decide_handshake(decisions, times_ns, load)
    if load.fallback is not None:  # the handshake over TCP, behind QUIC's
        over_tcp = replace(load, connecting_ns=load.fallback.tried_ns, connected_ns=load.fallback.secure_ns)
        decide_handshake(decisions, times_ns, over_tcp)
    active = load.active(times_ns)
    decide_service(decisions, times_ns, active, load, service)
    if behind is None:
        decide_idle(decisions, times_ns, active, load)
        decide_waiting(decisions, times_ns, decisions.undecided, load)
    else:
        decide_middle(decisions, times_ns, active, load, behind)
    decisions.decide(decisions.undecided, LedgerClass.UNEXPLAINED)
    return edges_ns, decisions


def _edges(load: Load, service: Service, behind: Behind | None) -> Integers:
    """Return all moments at which anything that the rules read may change, within the load, with its begin and end."""
    moments = [*service.edges_ns, *load.objects.moments_ns]
    if behind is not None and load.behind is not None:
        moments += [behind.seen_ns, load.behind.data.departure_ns]
    for facts in (load.data, load.back):
        moments += [facts.arrival_ns, facts.departure_ns, facts.service_start_ns, facts.service_end_ns]
    for sender in load.senders:
        steps = (sender.window, sender.in_flight, sender.state, sender.app_limited)
        moments += [each.time_ns for each in steps if each is not None]
        moments += [sender.lost.time_ns, sender.blocked.time_ns, sender.unblocked.time_ns]
    moments.append(np.array([load.connecting_ns, load.connected_ns, *(load.fallback or ())], np.int64))
    every = np.concatenate(moments)
    inside = every[(every > load.start_ns) & (every < load.end_ns)]
    return np.unique(np.concatenate([[load.start_ns], inside, [load.end_ns]]))


_OBJECT_COLUMNS = (
    *("asked_ns", "request_sent_ns", "request_arrived_ns", "answered_ns", "served_ns", "done_ns"),
    *("size_bytes", "critical"),
)


def _objects(objects: ObjectFacts) -> tuple[dict[str, object], ...]:
    values = [getattr(objects, name).tolist() for name in _OBJECT_COLUMNS]
    return tuple(
        {"path": path, **dict(zip(_OBJECT_COLUMNS, row, strict=True))}
        for path, row in zip(objects.path, zip(*values, strict=True), strict=True)
    )
