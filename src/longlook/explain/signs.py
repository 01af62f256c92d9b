"""What several detectors look for, each stated once. Pure."""

import numpy as np

from longlook.explain.cause import Evidence
from longlook.explain.facts import DROPPED, UNNUMBERED, Booleans, LinkFacts, LoggedMoments, SenderFacts, Steps
from longlook.explain.pair import Side

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
    during = (link.arrival_ns >= first_ns) & (link.arrival_ns <= last_ns)
    found: Booleans = link.ours & (link.fate == DROPPED) & chosen[link.reason] & during
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
    during = (link.arrival_ns >= first_ns) & (link.arrival_ns <= last_ns)
    found: Booleans = link.ours & link.carries_data & (link.same_as >= 0) & ~link.copy & during
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
    during = (times >= first_ns) & (times <= last_ns)
    shown = zip(times[during][:MOST_EVIDENCE], marks.packet_number[during][:MOST_EVIDENCE], strict=True)
    found = tuple(
        Evidence(int(at_ns) - first_ns, what, (int(number),) if number != UNNUMBERED else ()) for at_ns, number in shown
    )
    return found, int(during.sum())


def first_window_bytes(sender: SenderFacts | None) -> int | None:
    """Return the congestion window that a sender's log begins with; None where it logs none."""
    return None if sender is None or sender.window is None else int(sender.window.value[0])


def largest_window_bytes(sender: SenderFacts | None) -> int | None:
    """Return the largest congestion window of a sender's log; None where it logs none."""
    return None if sender is None or sender.window is None else int(sender.window.value.max())


def within(side: Side, steps: Steps) -> Steps:
    """Return the values of a series that it took while the load lasted."""
    first_ns, last_ns = side.ledger.span_ns
    inside = (steps.time_ns >= first_ns) & (steps.time_ns <= last_ns)
    return Steps(steps.time_ns[inside], steps.value[inside])


def bdp_bytes(side: Side) -> float | None:
    """Return the path's bandwidth-delay product; None where its rate varies or it has none."""
    rate_bps = side.down.rate_bps
    return None if rate_bps is None else rate_bps * side.round_trip_ns / 8e9


def windows_kept(side: Side) -> list[float]:
    """Return for each recovery of the load the share of the congestion window that is left one and a half round trips
    later, when a sender that takes its cut back has done so (quiche does a round trip after it).

    Empty where the server's log has no window or no states.
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
