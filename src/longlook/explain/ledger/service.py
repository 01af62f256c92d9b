"""Time in which the bottleneck serves or holds packets of the load. Pure."""

from dataclasses import dataclass

import numpy as np

from longlook.explain.facts.columns import Booleans, Integers, between
from longlook.explain.facts.link import LinkFacts
from longlook.explain.ledger.classes import Decisions, LedgerClass
from longlook.explain.ledger.load import Load

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
