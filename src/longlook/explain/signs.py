"""Stretches of ledgers, moments of logs and other signs that several detectors look for, each stated once. Pure."""

from dataclasses import dataclass

import numpy as np

from longlook.explain.cause import Evidence
from longlook.explain.facts import DROPPED, UNNUMBERED, Booleans, Integers, LinkFacts, LoggedMoments, SenderFacts, Steps
from longlook.explain.facts.columns import are
from longlook.explain.ledger import LedgerClass
from longlook.explain.pair import Pair, Side
from longlook.timeline import State

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


QUEUE_REASONS = ("queue", "aqm")
"""Reasons of drops that a sender's own window can bring about."""
RANDOM_REASONS = ("loss", "gilbert_elliott", "burst_loss", "loss_index", "loss_trace")
"""Reasons of drops that have nothing to do with the sender."""

MOST_EVIDENCE = 3
"""As many places as a reader looks at; the rest is counted."""


def dropped_for(side: Side, link: LinkFacts, *reasons: str) -> Booleans:
    """Return which packets of the load, in one direction, were dropped for some reasons while it lasted."""
    first_ns, last_ns = side.ledger.span_ns
    chosen = np.array([reason in reasons for reason in link.reasons] + [False], np.bool_)
    in_load = (link.arrival_ns >= first_ns) & (link.arrival_ns <= last_ns)
    found: Booleans = link.ours & (link.fate == DROPPED) & chosen[link.reason] & in_load
    return found


def drops_shown(side: Side, link: LinkFacts, which: Booleans, what: str) -> tuple[Evidence, ...]:
    """Return the first drops as evidence, with the link's numbers of the packets, and how many there are."""
    places = np.flatnonzero(which)
    if len(places) == 0:
        return ()
    shown = [
        Evidence(int(link.arrival_ns[place]) - side.start_ns, what, (int(link.sequence[place]),))
        for place in places[:MOST_EVIDENCE]
    ]
    more = len(places) - len(shown)
    return (
        (*shown, Evidence(int(link.arrival_ns[places[-1]]) - side.start_ns, f"and {more} more")) if more else (*shown,)
    )


def resent(side: Side) -> Booleans:
    """Return which packets with data to the client its server had sent before, byte for byte, while the load lasted.

    A Retry and the end of a connection (CONNECTION_CLOSE) may be sent again as they are (RFC 9000, 10.2.1); they are
    long headers, or small, and carry no data.
    Behind a middle the packets are those at the link next to the server, which has seen no other link's copies.
    """
    link = side.down_all[-1]
    first_ns, last_ns = side.ledger.span_ns
    in_load = (link.arrival_ns >= first_ns) & (link.arrival_ns <= last_ns)
    found: Booleans = link.ours & link.carries_data & (link.same_as >= 0) & ~link.copy & in_load
    return found


def resent_shown(side: Side, what: str) -> tuple[Evidence, ...]:
    """Return the first datagrams that were sent again as they were, as evidence, and how many there are."""
    return drops_shown(side, side.down_all[-1], resent(side), what)


def losses_on_path(side: Side, what: str, *reasons: str) -> tuple[tuple[Evidence, ...], int]:
    """Return the first packets to the client that each link of the path dropped for some reasons, and their number.

    Evidence names packets by the numbers of their link.
    """
    shown, count = tuple[Evidence, ...](), 0
    for link, where in zip(side.down_all, ("", " behind the middle"), strict=False):
        dropped = dropped_for(side, link, *reasons)
        shown += drops_shown(side, link, dropped, f"{what}{where}")
        count += int(dropped.sum())
    return shown, count


def false_losses(side: Side, what: str) -> tuple[tuple[Evidence, ...], int]:
    """Return the first packets that the server declared lost and that arrived, as evidence, and how many there are."""
    return ((), 0) if side.server is None else _marked(side, side.server.spurious, what)


def refused(side: Side, what: str) -> tuple[tuple[Evidence, ...], int]:
    """Return the first packets that reached the client and of which it gave no sign, and how many there are."""
    return ((), 0) if side.server is None else _marked(side, side.server.refused, what)


def thrown_away(side: Side, what: str) -> tuple[tuple[Evidence, ...], int]:
    """Return the first packets that reached the client and that it had no room for, and how many there are."""
    return ((), 0) if side.client is None else _marked(side, side.client.discarded, what)


def _marked(side: Side, marks: LoggedMoments, what: str) -> tuple[tuple[Evidence, ...], int]:
    """Return the first of some marks during the load as evidence, and how many there are."""
    first_ns, last_ns = side.ledger.span_ns
    times = marks.time_ns
    in_load = (times >= first_ns) & (times <= last_ns)
    shown = zip(times[in_load][:MOST_EVIDENCE], marks.packet_number[in_load][:MOST_EVIDENCE], strict=True)
    found = tuple(
        Evidence(int(at_ns) - first_ns, what, (int(number),) if number != UNNUMBERED else ()) for at_ns, number in shown
    )
    return found, int(in_load.sum())


def first_window_bytes(sender: SenderFacts | None) -> int | None:
    """Return the congestion window that a sender's log begins with; None if it logs none."""
    return None if sender is None or sender.window is None else int(sender.window.value[0])


def largest_window_bytes(sender: SenderFacts | None) -> int | None:
    """Return the largest congestion window of a sender's log; None if it logs none."""
    return None if sender is None or sender.window is None else int(sender.window.value.max())


def within(side: Side, steps: Steps) -> Steps:
    """Return the values of a series that it took while the load lasted."""
    first_ns, last_ns = side.ledger.span_ns
    inside = (steps.time_ns >= first_ns) & (steps.time_ns <= last_ns)
    return Steps(steps.time_ns[inside], steps.value[inside])


def bdp_bytes(side: Side) -> float | None:
    """Return the path's bandwidth-delay product; None if its rate varies or it has none."""
    rate_bps = side.down.rate_bps
    return None if rate_bps is None else rate_bps * side.round_trip_ns / 8e9


def windows_kept(side: Side) -> list[float]:
    """Return for each recovery of the load the share of the congestion window that is left one and a half round trips
    later. A sender that takes its cut back has done so by then (quiche does a round trip after it).

    Empty if the server's log has no window or no states.
    """
    sender = side.server
    if sender is None or sender.window is None or sender.state is None or "recovery" not in sender.states:
        return []
    code = sender.states.index("recovery")
    entered = sender.state.time_ns[sender.state.value == code]
    first_ns, last_ns = side.ledger.span_ns
    entered = entered[(entered > first_ns) & (entered < last_ns)]
    before = sender.window.at(entered - 1, 0)
    later = sender.window.at(entered + max(3 * side.round_trip_ns // 2, 1), 0)
    return [left / full for full, left in zip(before.tolist(), later.tolist(), strict=True) if full > 0]
