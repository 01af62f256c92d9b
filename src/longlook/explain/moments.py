"""Stretches of ledgers and moments of logs that several detectors look for, each stated once. Pure."""

from dataclasses import dataclass

import numpy as np

from longlook.explain.cause import Evidence
from longlook.explain.facts import Booleans, Integers, LinkFacts, SenderFacts
from longlook.explain.facts.columns import are
from longlook.explain.ledger import LedgerClass
from longlook.explain.pair import Pair, Side
from longlook.explain.signs import MOST_EVIDENCE, dropped_for
from longlook.timeline.states import State

PACKET_THRESHOLD = 3
"""How many later packets must arrive until a missing one is taken for lost (RFC 9002, 6.1.1; RFC 5681)."""

SENDER_WAITS = (
    LedgerClass.CONGESTION_WINDOW,
    LedgerClass.PACING,
    LedgerClass.ACK_WAIT,
    LedgerClass.TIMER,
    LedgerClass.LOSS_DETECTION,
)
"""The classes in which a sender has data and waits for its own congestion control or loss recovery."""


@dataclass(frozen=True)
class Stretches:
    """Stretches of time in order, arrays of shape (N,), ns since the trial's start."""

    begin_ns: Integers
    end_ns: Integers

    @property
    def total_ns(self) -> int:
        """How long they last together."""
        return int((self.end_ns - self.begin_ns).sum())

    def where(self, chosen: Booleans) -> "Stretches":
        """Return some of them."""
        return Stretches(self.begin_ns[chosen], self.end_ns[chosen])

    def joined(self) -> "Stretches":
        """Return them, and join stretches that follow each other without a gap."""
        if len(self) == 0:
            return self
        apart = self.begin_ns[1:] > self.end_ns[:-1]
        return Stretches(self.begin_ns[np.append(True, apart)], self.end_ns[np.append(apart, True)])

    def __len__(self) -> int:
        return len(self.begin_ns)


def stretches(side: Side, *names: LedgerClass, detail: str | None = None) -> Stretches:
    """Return the stretches of some classes of a side's ledger, or only the stretches with one detail."""
    table = side.ledger.table
    chosen = are(table["class"], *names)
    if detail is not None:
        chosen = chosen & are(table["detail"], detail)
    return Stretches(table["start_ns"].to_numpy()[chosen], table["end_ns"].to_numpy()[chosen])


def stretches_shown(side: Side, found: Stretches, what: str) -> tuple[Evidence, ...]:
    """Return the longest stretches as evidence in order of time, and how many more there are."""
    lasts = found.end_ns - found.begin_ns
    longest = np.sort(np.argsort(-lasts, kind="stable")[:MOST_EVIDENCE])
    shown = [
        Evidence(int(found.begin_ns[place]) - side.start_ns, f"{what} for {lasts[place] / 1e6:.1f} ms")
        for place in longest
    ]
    more = len(found) - len(shown)
    if more:
        shown.append(Evidence(int(found.begin_ns[-1]) - side.start_ns, f"and {more} shorter times"))
    return tuple(shown)


def bounded_ns(pair: Pair, most_ns: int, *names: LedgerClass) -> int:
    """Return the loser's excess in some classes, at most `most_ns`: what a cause that explains so much could save."""
    return min(most_ns, pair.excess_ns(*names))


def during(side: Side, times_ns: Integers) -> Booleans:
    """Return which moments lie within the load."""
    first_ns, last_ns = side.ledger.span_ns
    inside: Booleans = (times_ns >= first_ns) & (times_ns <= last_ns)
    return inside


def drops(side: Side, link: LinkFacts) -> Booleans:
    """Return which packets of the load were dropped in one direction while it lasted, for whatever reason."""
    return dropped_for(side, link, *link.reasons)


def numbers(link: LinkFacts, which: Booleans | Integers) -> tuple[int, ...]:
    """Return the link's numbers of some packets, each once."""
    return tuple(np.unique(link.sequence[which]).tolist())


def datagram_bytes(side: Side) -> int:
    """Return the usual payload of the load's packets with data to the client; 0 if it has none."""
    sizes = side.down.payload_bytes[side.down.ours & side.down.carries_data]
    return int(np.median(sizes)) if len(sizes) else 0


def wait_ns(link: LinkFacts) -> Integers:
    """Return how long each packet of a direction waited for its service; 0 for packets that were not served."""
    left = link.delivered
    return np.where(left, link.service_start_ns - link.arrival_ns, 0)


@dataclass(frozen=True)
class SlowStartExit:
    """The first end of slow start: when, with what window in bytes, and into which state."""

    time_ns: int
    window_bytes: int
    state: str


def slow_start_exit(side: Side) -> SlowStartExit | None:
    """Return the first end of the server's slow start within the load; None if it did not end or no log says so.

    Pauses in which the application limits the sender do not end it.
    """
    sender = side.server
    if sender is None or sender.state is None or sender.window is None:
        return None
    begun = False
    for time_ns, code in zip(sender.state.time_ns.tolist(), sender.state.value.tolist(), strict=True):
        name = sender.states[code]
        if name == State.SLOW_START:
            begun = True
        elif begun and name not in (State.APPLICATION_LIMITED, State.INIT, State.UNKNOWN):
            if not side.start_ns <= time_ns <= side.ledger.span_ns[1]:
                return None
            window = int(sender.window.at(np.array([time_ns - 1]), 0)[0])
            return SlowStartExit(time_ns, window, name)
    return None


def has_state(sender: SenderFacts | None, *prefixes: str) -> bool:
    """Return whether a sender was in a state whose name begins so."""
    if sender is None or sender.state is None:
        return False
    return any(sender.states[code].startswith(prefixes) for code in np.unique(sender.state.value).tolist())


def hold(link: LinkFacts, which: Booleans | Integers, time_ns: int) -> str:
    """Return the operation that holds back for a time all packets from the first to the last of these."""
    chosen = link.sequence[which]
    return f"hold {int(chosen.min())}-{int(chosen.max())} {time_ns}ns"
