"""Time in which the link towards the client has nothing of the load, on a path with a link behind its middle. Pure.

A packet that reaches the middle left the bottleneck behind it one delay before. A moment in which the bottleneck
towards the client is idle is therefore explained by the bottleneck behind, one delay earlier. The bottleneck behind
served packets of the load, or it waited for the server's next packet, for the reason that the server had. A proxy can
also hold back data by itself, as any sender can.
"""

from dataclasses import dataclass

import numpy as np

from longlook.explain.facts.columns import NEVER, Booleans, Integers
from longlook.explain.ledger.classes import LINK_CLASSES, PLACES, Decisions, LedgerClass
from longlook.explain.ledger.idle import BY_CLIENT, decide_idle, decide_waiting
from longlook.explain.ledger.load import Load
from longlook.explain.ledger.moments import PROCESSING_NS, Moments

BEHIND_MIDDLE, BEHIND_PROXY, OF_PROXY = "behind the middle", "behind the proxy", "the proxy"
"""The beginnings of the detail: the link behind the middle is busy, a proxy opens its own connection to the server, or
the proxy is the sender that waits.
"""

_LINKS = frozenset(PLACES[name] for name in LINK_CLASSES)


@dataclass(frozen=True)
class Behind:
    """The decisions about the link behind the middle, for the intervals between its edges."""

    edges_ns: Integers
    decisions: Decisions
    delay_ns: int  # from its bottleneck to the middle
    proxied: bool

    @property
    def seen_ns(self) -> Integers:
        """The edges, as late as they reach the link towards the client."""
        return self.edges_ns + self.delay_ns

    def at(self, times_ns: Integers) -> Decisions:
        """Return what holds at some moments of the link towards the client."""
        last = len(self.edges_ns) - 2
        place = np.clip(np.searchsorted(self.seen_ns, times_ns, side="right") - 1, 0, last)
        names, details = self.decisions.name[place], self.decisions.detail[place]
        found = Decisions(names, np.zeros(len(place), np.int64))
        for name, detail in {*zip(names.tolist(), details.tolist(), strict=True)}:
            text = self._said(name, self.decisions.texts[detail])
            found.detail[(names == name) & (details == detail)] = found.place(text)
        return found

    def _said(self, name: int, detail: str | None) -> str | None:
        if name in _LINKS:
            return BEHIND_MIDDLE
        if self.proxied and name == PLACES[LedgerClass.HANDSHAKE]:
            return BEHIND_PROXY if detail is None else f"{BEHIND_PROXY}: {detail}"
        return detail


def decide_middle(decisions: Decisions, times_ns: Integers, active: Booleans, load: Load, behind: Behind) -> None:
    """Decide the intervals that are undecided once the link towards the client has had its say.

    `active` are the intervals in which an answer has begun to arrive at that link and not passed it.
    """
    chosen = np.flatnonzero(decisions.undecided & active & _held_by_proxy(times_ns, load))
    if len(chosen):
        own = Decisions.open(len(chosen))
        decide_idle(own, times_ns[chosen], np.ones(len(chosen), np.bool_), load)
        own.texts = [OF_PROXY if text is None else f"{OF_PROXY}: {text}" for text in own.texts]
        decisions.adopt(chosen, own)
    decide_waiting(decisions, times_ns, ~active, load, BY_CLIENT)
    rest = np.flatnonzero(decisions.undecided)
    decisions.adopt(rest, behind.at(times_ns[rest]))


def _held_by_proxy(times_ns: Integers, load: Load) -> Booleans:
    """Return at which times a proxy has what it sends next already, and something else than the server keeps it.

    It sends because of what reached it last: a packet with data from the server, or one from the client. If neither did
    since it sent before, it sends unasked.
    """
    if load.behind is None or load.trial.proxy is None:
        return np.zeros(len(times_ns), np.bool_)
    moments, data = Moments.of(times_ns, load), load.behind.data
    reached = np.sort(data.departure_ns[data.ours & data.delivered & data.carries_data])
    brought = np.append(reached, -1)[np.searchsorted(reached, moments.next_ns, side="right") - 1]
    by_server = (moments.next_ns - brought <= PROCESSING_NS) & (brought >= moments.trigger_ns)
    by_itself = brought <= moments.previous_ns
    return np.asarray((moments.next_ns < NEVER) & ~by_server & (moments.triggered | by_itself), np.bool_)
