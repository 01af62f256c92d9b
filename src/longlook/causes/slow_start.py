"""Causes: slow start that ends too early or too late, and windows that shrink while a sender is idle."""

from collections.abc import Sequence

import numpy as np

from longlook.explain import (
    MOST_EVIDENCE,
    QUEUE_REASONS,
    Booleans,
    Cause,
    Change,
    Evidence,
    Finding,
    Integers,
    Intervention,
    LedgerClass,
    Pair,
    Side,
    Sign,
    SlowStartExit,
    Target,
    Touches,
    Untestable,
    bdp_bytes,
    changes,
    dropped_for,
    drops,
    drops_shown,
    largest_window_bytes,
    longer_queues,
    slow_start_exit,
    within,
)
from longlook.timeline import State

_SLOW_START_EARLY_EXIT_CLASSES = (LedgerClass.CONGESTION_WINDOW, LedgerClass.ACK_WAIT, LedgerClass.PACING)
_FULL = 0.8
_STEADY = {"jitter": "0ms"}


def slow_start_early_exit_sign(pair: Pair) -> Sign | None:
    """Return a sign if the loser's slow start ends below 0.8 of the bandwidth-delay product with no drop
    before.
    """
    side = pair.loser
    left, product = early_exit(side), bdp_bytes(side)
    if left is None or product is None:
        return None
    text = f"slow start ends at {left.window_bytes} bytes, {left.window_bytes / product:.2f} of what the path holds"
    shown = Evidence(left.time_ns - side.start_ns, f"{text}, with nothing lost")
    return Sign(pair.excess_ns(*_SLOW_START_EARLY_EXIT_CLASSES), (shown,), dose=float(left.window_bytes))


def early_exit(side: Side) -> SlowStartExit | None:
    """Return the end of slow start if it came too early, else None."""
    left, product = slow_start_exit(side), bdp_bytes(side)
    if left is None or product is None or side.server is None or left.state != State.CONGESTION_AVOIDANCE:
        return None
    if (largest_window_bytes(side.server) or 0) <= left.window_bytes:
        return None  # it cannot grow: the window is capped
    lost = (side.down.arrival_ns[drops(side, side.down)] <= left.time_ns).any()
    declared = (side.server.lost.time_ns <= left.time_ns).any()
    return None if lost or declared or not 0 < left.window_bytes < _FULL * product else left


def slow_start_early_exit_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return slow start without HyStart, or until twice the path's product, for the loser; a path without jitter;
    earlier ends of slow start as doses; an end as early for the winner.
    """
    side = pair.loser
    product = bdp_bytes(side) or 0.0
    found = [
        changes.cure(Touches.MECHANISM, Target.LOSER, changes.with_hystart(side, on=False)),
        changes.cure(Touches.MECHANISM, Target.LOSER, changes.slow_start_until(side, 2 * product), 2.0),
        changes.transplant(Touches.MECHANISM, changes.slow_start_until(pair.winner, finding.dose or 0.0)),
    ]
    if changes.has_stage(side, "jitter"):
        found.append(changes.cure(Touches.OCCASION, Target.BOTH, changes.path(_STEADY, "no jitter")))
    doses = [(share, changes.slow_start_until(side, share * product)) for share in (0.5, 1.0)]
    return [*found, *changes.doses(Touches.MECHANISM, Target.LOSER, doses)]


SLOW_START_EARLY_EXIT = Cause(
    name="slow_start_early_exit",
    title="Slow start ends too early",
    sentence="it leaves slow start at {size} without a loss, long before it fills the path",
    source="Ha and Rhee, Computer Networks 2011 (HyStart); RFC 9406, 4.3; Balasubramanian et al., 2020",
    role="server",
    classes=_SLOW_START_EARLY_EXIT_CLASSES,
    needs=("metrics", "state"),
    detect=slow_start_early_exit_sign,
    interventions=slow_start_early_exit_changes,
    cured_by="HyStart off; slow start until two bandwidth-delay products; no jitter",
    where="where the round trip time of the path varies",
)
"""The sender leaves slow start long before it fills the path, although nothing was lost."""


_SLOW_START_OVERSHOOT_CLASSES = (
    LedgerClass.TIMER,
    LedgerClass.LOSS_DETECTION,
    LedgerClass.ACK_WAIT,
    LedgerClass.CONGESTION_WINDOW,
    LedgerClass.PACING,
    LedgerClass.LINK_WASTE,
)
_LEAST_SHARE = 0.1
_TIMES = (2, 4, 8)


def slow_start_overshoot_sign(pair: Pair) -> Sign | None:
    """Return a sign if the queue drops a tenth of the loser's flight or more when its slow start ends, and fewer of
    the winner's packets.
    """
    side = pair.loser
    lost = overshoot(side)
    others = overshoot(pair.winner)
    if lost is None or (others is not None and others.sum() >= lost.sum()):
        return None
    shown = drops_shown(side, side.down, lost, "the queue is full while slow start goes on")
    return Sign(pair.excess_ns(*_SLOW_START_OVERSHOOT_CLASSES), shown, dose=float(lost.sum()))


def overshoot(side: Side) -> Booleans | None:
    """Return the queue's drops of the first overflow if slow start made it and they are a tenth of the flight."""
    link, left = side.down, slow_start_exit(side)
    lost = dropped_for(side, link, *QUEUE_REASONS)
    if left is None or not lost.any():
        return None
    first_ns = int(link.arrival_ns[lost].min())
    served_ns = np.where(link.delivered, link.departure_ns - link.arrival_ns, 0)
    round_trip_ns = side.up.delay_ns + int(served_ns[link.ours].max(initial=0))
    if first_ns > left.time_ns or left.time_ns - first_ns > 2 * round_trip_ns:
        return None
    lost = lost & (link.arrival_ns <= first_ns + round_trip_ns)
    return lost if int(link.payload_bytes[lost].sum()) >= _LEAST_SHARE * left.window_bytes > 0 else None


def slow_start_overshoot_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return HyStart or an end of slow start at the bandwidth-delay product for the loser, longer queues for both arms,
    and no HyStart for the winner.
    """
    side = pair.loser
    longer = longer_queues(side, _TIMES)
    found = [changes.cure(Touches.MECHANISM, Target.LOSER, changes.with_hystart(side, on=True))]
    product = bdp_bytes(side)
    if product is not None:
        found.append(changes.cure(Touches.MECHANISM, Target.LOSER, changes.slow_start_until(side, product)))
    return [
        *found,
        changes.cure(Touches.OCCASION, Target.BOTH, longer[-1][1]),
        changes.transplant(Touches.MECHANISM, changes.with_hystart(pair.winner, on=False)),
        *changes.doses(Touches.OCCASION, Target.BOTH, longer),
    ]


SLOW_START_OVERSHOOT = Cause(
    name="slow_start_overshoot",
    title="Slow start overflows the queue",
    sentence="its slow start overflows the queue, which drops about {dose:.0f} packets at once",
    source="Ha and Rhee, Computer Networks 2011; RFC 9406; neqo#2858",
    role="server",
    classes=_SLOW_START_OVERSHOOT_CLASSES,
    needs=("metrics", "state"),
    detect=slow_start_overshoot_sign,
    interventions=slow_start_overshoot_changes,
    cured_by="HyStart; an end of slow start at the bandwidth-delay product; a longer queue",
    where="at the queue's drops when slow start ends",
)
"""Slow start goes on until the queue overflows, and a large part of the flight is lost at once."""


_IDLE_RESTART_CLASSES = (LedgerClass.CONGESTION_WINDOW, LedgerClass.ACK_WAIT)
_LEFT = 0.8


def idle_restart_sign(pair: Pair) -> Sign | None:
    """Return a sign if the loser's window shrinks after a pause without a loss, more often than the winner's."""
    side, times = pair.loser, shrunk_idle(pair.loser)
    if len(times) == 0 or len(times) <= len(shrunk_idle(pair.winner)):
        return None
    shown = tuple(
        Evidence(time_ns - side.start_ns, "the window is smaller after a pause, and nothing was lost")
        for time_ns in times[:MOST_EVIDENCE].tolist()
    )
    return Sign(pair.excess_ns(*_IDLE_RESTART_CLASSES), shown, dose=float(len(times)))


def shrunk_idle(side: Side) -> Integers:
    """Return when the server's window was a fifth smaller than before a pause of more than a round trip."""
    sender, link = side.server, side.down
    if sender is None or sender.window is None:
        return np.zeros(0, np.int64)
    window = within(side, sender.window)
    sent = link.arrival_ns[link.of_flow(sender.flow)]
    pauses = np.flatnonzero(np.diff(sent) > max(side.round_trip_ns, 1))
    begins, ends = sent[pauses], sent[pauses + 1]
    before = window.at(begins, 0)
    after = window.at(ends + side.round_trip_ns // 2, 0)
    lost = np.sort(np.concatenate([sender.lost.time_ns, sender.timeouts.time_ns]))
    quiet = np.searchsorted(lost, ends + side.round_trip_ns, side="right") == np.searchsorted(
        lost, begins - side.round_trip_ns, side="left"
    )
    return np.asarray(ends[(after > 0) & (after < _LEFT * before) & quiet], np.int64)


def idle_restart_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return a window that stays for the loser, and one that falls back for the winner."""
    return [
        changes.cure(Touches.MECHANISM, Target.LOSER, _restarting(pair.loser, False)),
        changes.transplant(Touches.MECHANISM, _restarting(pair.winner, True)),
    ]


def _restarting(side: Side, on: bool) -> Change | str:
    label = "a window that falls back after a pause" if on else "a window that stays after a pause"
    return changes.tuned(side.trial, "server", {"idle_restart": on}, {"tcp_idle_restart": on}, label)


IDLE_RESTART = Cause(
    name="idle_restart",
    title="Smaller window after a pause",
    sentence="its window falls back after pauses (about {dose:.0f} a load), although nothing was lost",
    source="RFC 2861; RFC 7661; RFC 9002, 7.8",
    role="server",
    classes=_IDLE_RESTART_CLASSES,
    needs=("metrics",),
    detect=idle_restart_sign,
    interventions=idle_restart_changes,
    cured_by="a window that stays after a pause",
)
"""The sender shrinks its window after a pause, although nothing was lost."""


CAUSES = (SLOW_START_EARLY_EXIT, SLOW_START_OVERSHOOT, IDLE_RESTART)
