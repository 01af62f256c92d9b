"""Causes: congestion windows that begin too small, stop growing or stay at their minimum."""

from collections.abc import Sequence

import numpy as np

from longlook.explain import (
    Booleans,
    Cause,
    Change,
    Evidence,
    Finding,
    Intervention,
    LedgerClass,
    Pair,
    Purpose,
    Side,
    Sign,
    Stretches,
    Target,
    Touches,
    Untestable,
    bdp_bytes,
    bounded_ns,
    changes,
    datagram_bytes,
    drops,
    drops_shown,
    first_window_bytes,
    largest_window_bytes,
    numbers,
    stretches,
    stretches_shown,
    within,
)

_PACKETS = 10  # of a log without windows (RFC 6928)
_FIRST_PACKETS = 8
_SMALLER = 0.9
"""Windows that differ by less are the same number of packets of other sizes."""


def initial_window_sign(pair: Pair) -> Sign | None:
    """Return a sign if the loser's first window is the smaller one and it waits for its window for longer."""
    own, other = first_window_bytes(pair.loser.server), first_window_bytes(pair.winner.server)
    if own is None or other is None or own > _SMALLER * other:
        return None
    shown = Evidence(0, f"the window begins with {own} bytes, the other arm's with {other}")
    return Sign(pair.excess_ns(LedgerClass.CONGESTION_WINDOW, LedgerClass.ACK_WAIT), (shown,), dose=float(own))


def initial_window_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return the winner's first window for the loser, the loser's for the winner, and values between and beyond."""
    own, other = (packets(side) for side in (pair.loser, pair.winner))
    found = [
        changes.cure(Touches.MECHANISM, Target.LOSER, _window(pair.loser, other), float(other)),
        changes.transplant(Touches.MECHANISM, _window(pair.winner, own)),
    ]
    steps = sorted({max(own + 1, (own + other) // 2), 2 * other})
    doses = [(float(count), _window(pair.loser, count)) for count in steps if count not in (own, other)]
    return [
        *found,
        *[item for item in changes.doses(Touches.MECHANISM, Target.LOSER, doses) if item.kind is Purpose.DOSE],
    ]


def packets(side: Side) -> int:
    """Return a sender's first window in packets of the size that it sends first."""
    link = side.down
    sizes = link.payload_bytes[link.ours & link.carries_data & ~link.handshake][:_FIRST_PACKETS]
    size_bytes = int(sizes.max()) if len(sizes) else changes.PACKET_BYTES
    return max(1, round((first_window_bytes(side.server) or _PACKETS * changes.PACKET_BYTES) / size_bytes))


def _window(side: Side, count: int) -> Change | str:
    settings = {"initial_window": count}, {"tcp_initial_window": count}
    return changes.tuned(side.trial, "server", *settings, f"an initial window of {count} packets", packets(side))


INITIAL_WINDOW = Cause(
    name="initial_window",
    title="Smaller initial window",
    sentence="its first window is smaller ({size}), so that it takes more round trips to fill the path",
    source="Kakhki et al., IMC 2017, 4.1; RFC 6928",
    role="server",
    classes=(LedgerClass.CONGESTION_WINDOW, LedgerClass.ACK_WAIT),
    needs=("metrics",),
    detect=initial_window_sign,
    interventions=initial_window_changes,
    cured_by="the winner's initial window",
)
"""The sender begins with a smaller window than the other one."""


_WINDOW_CAPPED_ROUND_TRIPS = 10
_FLAT, _MOST_LEVELS = 0.8, 3
"""A cap that counts packets rises with the path MTU that is found, from 1200 bytes to 1452 in a few steps."""


def window_capped_sign(pair: Pair) -> Sign | None:
    """Return a sign if the loser's window stays at its largest value, below the bandwidth-delay product, for ten
    round trips without a loss, and the loser waits longer for it.

    It may rise with the path MTU, which few steps show.
    """
    side = pair.loser
    product, largest = bdp_bytes(side), largest_window_bytes(side.server)
    if side.server is None or side.server.window is None or product is None or largest is None:
        return None
    window = within(side, side.server.window)
    begun = np.flatnonzero(np.diff(window.value, prepend=-1))[-_MOST_LEVELS:]
    lower = np.flatnonzero(window.value[begun] < largest * _FLAT)
    begun = begun[lower[-1] + 1 :] if len(lower) else begun
    if len(begun) == 0 or largest >= product:
        return None
    since_ns = int(window.time_ns[begun[0]])
    lost = (side.server.lost.time_ns >= since_ns).any()
    flat_ns = side.ledger.span_ns[1] - since_ns
    if lost or flat_ns < _WINDOW_CAPPED_ROUND_TRIPS * max(side.round_trip_ns, 1):
        return None
    shown = Evidence(since_ns - side.start_ns, f"the window reaches {largest} bytes and stays there without a loss")
    return Sign(pair.excess_ns(LedgerClass.CONGESTION_WINDOW, LedgerClass.ACK_WAIT), (shown,), dose=float(largest))


def window_capped_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return a cap eight times as large for the loser, twice and four times as doses, and the cap for the winner."""
    cap = int(finding.dose or 0)
    doses = [(float(factor), _cap(pair.loser, cap * factor)) for factor in (2, 4)]
    return [
        changes.cure(Touches.MECHANISM, Target.LOSER, _cap(pair.loser, cap * 8), 8.0),
        changes.transplant(Touches.MECHANISM, _cap(pair.winner, cap)),
        *changes.doses(Touches.MECHANISM, Target.LOSER, doses),
    ]


def _cap(side: Side, cap_bytes: int) -> Change | str:
    """Return the change to a largest window; a declared one is not trusted if the window was seen to stop below."""
    count, reached = max(1, round(cap_bytes / changes.PACKET_BYTES)), largest_window_bytes(side.server)
    seen = None if reached is None else max(1, round(reached / changes.PACKET_BYTES))
    label = f"a largest window of {count} packets"
    return changes.tuned(side.trial, "server", {"max_window": count}, {"tcp_max_window": count}, label, seen)


WINDOW_CAPPED = Cause(
    name="window_capped",
    title="Capped congestion window",
    sentence="its congestion window stops growing at {size}, less than the path can hold",
    source="Kakhki et al., IMC 2017, 5.1 (MACW)",
    role="server",
    classes=(LedgerClass.CONGESTION_WINDOW, LedgerClass.ACK_WAIT),
    needs=("metrics",),
    detect=window_capped_sign,
    interventions=window_capped_changes,
    cured_by="a larger maximum window",
)
"""The congestion window stops growing at a cap of the sender's own."""


_WINDOW_PINNED_CLASSES = (LedgerClass.CONGESTION_WINDOW, LedgerClass.PACING, LedgerClass.ACK_WAIT)
_WINDOW_PINNED_ROUND_TRIPS = 10
_SMALLEST_PACKETS = 4


def window_pinned_sign(pair: Pair) -> Sign | None:
    """Return a sign if the loser's window stays below four packets for ten round trips without a loss."""
    found = pinned(pair.loser)
    if found is None or len(found) == 0:
        return None
    shown = stretches_shown(pair.loser, found, "the window stays at its minimum, and packets are acknowledged")
    return Sign(bounded_ns(pair, found.total_ns, *_WINDOW_PINNED_CLASSES), shown, dose=found.total_ns / 1e6)


def pinned(side: Side) -> Stretches | None:
    """Return the times at which the server's window stays at its minimum for no reason; None without a log of it."""
    sender = side.server
    if sender is None or sender.window is None:
        return None
    first_ns, last_ns = side.ledger.span_ns
    changed = np.concatenate([[True], np.diff(sender.window.value) != 0])
    begins, values = sender.window.time_ns[changed], sender.window.value[changed]
    ends = np.append(begins[1:], last_ns)
    begins, ends = np.maximum(begins, first_ns), np.minimum(ends, last_ns)
    small = (values <= _SMALLEST_PACKETS * datagram_bytes(side)) & (
        ends - begins >= _WINDOW_PINNED_ROUND_TRIPS * side.round_trip_ns
    )
    small &= _count(sender.lost.time_ns, begins, ends) == 0
    small &= _count(sender.acked.time_ns, begins, ends) > _WINDOW_PINNED_ROUND_TRIPS
    return Stretches(begins[small], ends[small])


def _count(times_ns: np.ndarray, begins_ns: np.ndarray, ends_ns: np.ndarray) -> np.ndarray:
    ordered = np.sort(times_ns)
    return np.searchsorted(ordered, ends_ns, side="left") - np.searchsorted(ordered, begins_ns, side="right")


def window_pinned_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return a larger smallest window, another controller and another version for the loser."""
    side = pair.loser
    doses = [
        (float(count), changes.knob(side.trial, "server", "min_window", count, f"a window of {count} packets at least"))
        for count in (4, 10, 20)
    ]
    return [
        changes.cure(Touches.MECHANISM, Target.LOSER, doses[-1][1]),
        *(changes.cure(Touches.MECHANISM, Target.LOSER, change) for change in changes.other_controllers(side)[:1]),
        changes.cure(Touches.PROGRAM, Target.LOSER, changes.other_version(side, "server")),
        *changes.doses(Touches.MECHANISM, Target.LOSER, doses),
    ]


WINDOW_PINNED = Cause(
    name="window_pinned",
    title="Window stays at its minimum",
    sentence="its congestion window stays at its minimum for {dose:.0f} ms, although nothing is lost",
    source="a fault of quiche's Cubic, published in May 2026",
    role="server",
    classes=_WINDOW_PINNED_CLASSES,
    needs=("metrics", "packet_acked"),
    detect=window_pinned_sign,
    interventions=window_pinned_changes,
    cured_by="a larger minimum; another controller; another version",
)
"""The congestion window stays at its minimum though acknowledgements arrive and nothing is lost."""


_SMALL_WINDOW_TIMEOUT_CLASSES = (LedgerClass.TIMER,)
_FEW_PACKETS = 4
_WINDOWS = (4, 10, 20)


def small_window_timeout_sign(pair: Pair) -> Sign | None:
    """Return a sign if the loser waits for a timer after drops at which its window held fewer than four packets."""
    side = pair.loser
    lost, waits = few_in_flight(side)
    if not lost.any():
        return None
    shown = drops_shown(side, side.down, lost, f"a packet is dropped while the window is below {_FEW_PACKETS} packets")
    return Sign(
        bounded_ns(pair, waits.total_ns, *_SMALL_WINDOW_TIMEOUT_CLASSES),
        shown,
        dose=float(lost.sum()),
        packets=numbers(side.down, lost),
    )


def few_in_flight(side: Side) -> tuple[Booleans, Stretches]:
    """Return the drops at which the server's window was small, and the waits for a timer that followed them."""
    link, waits, sender = side.down, stretches(side, *_SMALL_WINDOW_TIMEOUT_CLASSES), side.server
    found, behind = np.zeros(len(link.sequence), np.bool_), np.zeros(len(waits), np.bool_)
    if sender is None or sender.window is None:
        return found, waits.where(behind)
    lost = np.flatnonzero(drops(side, link) & link.carries_data & ~link.copy)
    small = sender.window.at(link.arrival_ns[lost], 0)
    lost = lost[(small > 0) & (small < _FEW_PACKETS * datagram_bytes(side))]
    for number, begin_ns in enumerate(waits.begin_ns.tolist()):
        since_ns = begin_ns - 2 * max(side.round_trip_ns, 1)
        own = lost[(link.arrival_ns[lost] <= begin_ns) & (link.arrival_ns[lost] >= since_ns)]
        found[own] = True
        behind[number] = len(own) > 0
    return found, waits.where(behind)


def small_window_timeout_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return these losses forgiven, and larger smallest and first windows for the loser."""
    doses = [(float(count), _least(pair.loser, count)) for count in _WINDOWS]
    return [
        changes.cure(Touches.OCCASION, Target.LOSER, changes.forgiven(finding, "the losses at small windows forgiven")),
        changes.cure(Touches.MECHANISM, Target.LOSER, doses[1][1]),
        *changes.doses(Touches.MECHANISM, Target.LOSER, doses),
    ]


def _least(side: Side, count: int) -> Change | str:
    knobs = {"min_window": count}
    return changes.tuned(side.trial, "server", knobs, {"tcp_initial_window": count}, f"windows of {count} packets")


SMALL_WINDOW_TIMEOUT = Cause(
    name="small_window_timeout",
    title="Timeout at a small window",
    sentence="losses at windows below four packets (about {dose:.0f} a load) have to be found by a timer",
    source="Zhou et al., TAPO, CoNEXT 2015 (small window); RFC 5827",
    role="server",
    classes=_SMALL_WINDOW_TIMEOUT_CLASSES,
    needs=("metrics",),
    detect=small_window_timeout_sign,
    interventions=small_window_timeout_changes,
    cured_by="these packets forgiven; larger windows",
    where="at losses at small windows",
)
"""A loss comes while so little is in flight that no acknowledgement can show it, and a timer has to."""


CAUSES = (INITIAL_WINDOW, WINDOW_CAPPED, WINDOW_PINNED, SMALL_WINDOW_TIMEOUT)
