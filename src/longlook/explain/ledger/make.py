"""One trial's timeline → its ledger. Pure."""

from dataclasses import dataclass, replace

import numpy as np

from longlook.core import Trial, Vantage
from longlook.explain.facts.columns import Booleans, Integers, between
from longlook.explain.facts.link import LinkFacts
from longlook.explain.facts.objects import ObjectFacts
from longlook.explain.ledger.classes import PLACES, Decisions, LedgerClass
from longlook.explain.ledger.fallback import decide_fallback
from longlook.explain.ledger.handshake import decide_handshake
from longlook.explain.ledger.idle import decide_idle, decide_waiting
from longlook.explain.ledger.load import Load
from longlook.explain.ledger.middle import Behind, decide_middle
from longlook.explain.ledger.table import Ledger, ledger_table
from longlook.timeline import Timeline, doubts_of

ACCESS = "access delay"
"""The detail of `cpu` if the emulated processing time of packets at their sender passes (setting `access_delay`)."""


@dataclass(frozen=True)
class Service:
    """The times at which the bottleneck turns from one packet's part to the next; arrays of one value per packet."""

    start_ns: Integers
    overhead_end_ns: Integers
    useful_end_ns: Integers
    end_ns: Integers

    @classmethod
    def of(cls, facts: LinkFacts, wasted_bytes: Integers) -> "Service":
        """Divide each packet of the load: first its headers, then its useful data, then what is wasted."""
        own = np.flatnonzero(facts.ours & facts.delivered)
        own = own[np.argsort(facts.service_start_ns[own], kind="stable")]
        start, end = facts.service_start_ns[own], facts.service_end_ns[own]
        size = np.maximum(facts.size_bytes[own], 1)
        overhead, useful = facts.overhead_bytes[own], facts.useful_bytes[own] - wasted_bytes[own]
        lasts = end - start
        return cls(start, start + lasts * overhead // size, start + lasts * (overhead + useful) // size, end)

    @property
    def edges_ns(self) -> tuple[Integers, ...]:
        """All moments at which something begins or ends."""
        return self.start_ns, self.overhead_end_ns, self.useful_end_ns, self.end_ns


def decide_service(decisions: Decisions, times_ns: Integers, where: Booleans, load: Load, service: Service) -> None:
    """Decide the intervals in which the bottleneck serves the load, or others while the load waits, or nothing, and the
    intervals in which the load's packets are in their access delay.
    """
    for begins_ns, ends_ns, name in (
        (service.start_ns, service.overhead_end_ns, LedgerClass.LINK_OVERHEAD),
        (service.overhead_end_ns, service.useful_end_ns, LedgerClass.LINK_USEFUL),
        (service.useful_end_ns, service.end_ns, LedgerClass.LINK_WASTE),
    ):
        decisions.decide(where & between(times_ns, begins_ns, ends_ns), name)
    own = load.data.ours & load.data.delivered
    access = where & between(times_ns, load.data.arrival_ns[own], load.data.reached_ns[own])
    waiting = where & waits(load.data, times_ns)
    others = ~load.data.ours & load.data.delivered
    busy = between(times_ns, load.data.service_start_ns[others], load.data.service_end_ns[others])
    decisions.decide(waiting & busy, LedgerClass.LINK_OTHERS)
    decisions.decide(waiting, LedgerClass.LINK_DOWN)
    decisions.decide(access, LedgerClass.CPU, ACCESS)


def waits(data: LinkFacts, times_ns: Integers) -> Booleans:
    """Return at which times a packet of the load that will be served waits for it."""
    own = data.ours & data.delivered
    return between(times_ns, data.reached_ns[own], data.service_start_ns[own])


def wasted_bytes(load: Load) -> Integers:
    """Return the useful bytes of each packet of the data's direction that were sent again for nothing.

    TCP's sequence numbers show them, and they are not useful then. QUIC has a rule: if a packet was declared lost and
    arrived, its data is in the next packets that the sender sent, up to its size.
    """
    data, wasted = load.data, np.zeros(len(load.data.sequence), np.int64)
    for sender in load.senders:
        if sender.source == "tcp":
            continue
        own = np.flatnonzero(data.of_flow(sender.flow) & data.delivered & (data.useful_bytes > 0))
        for arrived in (sender.spurious, sender.refused):
            place = np.searchsorted(data.arrival_ns[own], arrived.time_ns, side="left")
            _spend(wasted, own, data.useful_bytes, place, arrived.size_bytes)
    return wasted


def _spend(wasted: Integers, own: Integers, useful: Integers, place: Integers, sizes: Integers) -> None:
    """Take bytes of declared packets out of the packets that came next, each byte once."""
    for first, size in zip(place.tolist(), sizes.tolist(), strict=True):
        left = size
        for packet in own[first:].tolist():
            taken = min(left, int(useful[packet] - wasted[packet]))
            wasted[packet] += taken
            left -= taken
            if left <= 0:
                break


def make_ledger(timeline: Timeline, trial: Trial, *, live: bool = False) -> Ledger | None:
    """Return where the time of a trial's load went, or None if it has no load or the link saw none of its packets.

    `live` says that the trial ran in real time, in which computing takes time. Without events the rules read the link's
    log alone, and `detail` names them. With competing flows the load is the first group's. An upload has
    none, because the rules are about answers.
    """
    if timeline.sender is Vantage.CLIENT:
        return None
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
