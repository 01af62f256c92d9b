"""Losses over so long a time that the sender starts again with its smallest window."""

from collections.abc import Sequence

import numpy as np

from longlook.explain import changes
from longlook.explain.cause import Cause, Change, Evidence, Finding, Intervention, Sign, Target, Touches, Untestable
from longlook.explain.effective_settings import effective_value
from longlook.explain.facts import Integers
from longlook.explain.ledger import LedgerClass
from longlook.explain.moments import datagram_bytes, drops, numbers
from longlook.explain.pair import Pair, Side
from longlook.explain.signs import MOST_EVIDENCE, within

_CLASSES = (LedgerClass.CONGESTION_WINDOW, LedgerClass.ACK_WAIT, LedgerClass.TIMER)
_SMALLEST_PACKETS, _FROM_TIMES = 2, 3
_BACK_ROUND_TRIPS = 20
_KNOB, _LATER = "persistent_congestion_threshold", 10


def detect(pair: Pair) -> Sign | None:
    """Return a sign where the loser's window falls to its smallest in one step, more often than the winner's."""
    side, times = pair.loser, collapses(pair.loser)
    if len(times) == 0 or len(times) <= len(collapses(pair.winner)):
        return None
    shown = tuple(
        Evidence(time_ns - side.start_ns, "the window falls to its smallest at once")
        for time_ns in times[:MOST_EVIDENCE].tolist()
    )
    link, back_ns = side.down, _BACK_ROUND_TRIPS * max(side.round_trip_ns, 1)
    near = [(link.arrival_ns <= time_ns) & (link.arrival_ns > time_ns - back_ns) for time_ns in times.tolist()]
    spared = drops(side, link) & np.logical_or.reduce(near)
    return Sign(pair.excess_ns(*_CLASSES), shown, dose=float(len(times)), packets=numbers(link, spared))


def collapses(side: Side) -> Integers:
    """Return when the server's window fell at once from several times its smallest size to that, after a timeout."""
    sender, packet = side.server, datagram_bytes(side)
    if sender is None or sender.window is None or packet == 0:
        return np.zeros(0, np.int64)
    window = within(side, sender.window)
    smallest = _SMALLEST_PACKETS * (packet + 100)  # a window counts headers that a datagram's payload leaves out
    fell = (window.value[1:] <= smallest) & (window.value[:-1] >= _FROM_TIMES * smallest)
    times = window.time_ns[1:][fell]
    # Without a timeout before it, it is an ordinary cut of a window that was small already.
    first = np.searchsorted(sender.timeouts.time_ns, times - _BACK_ROUND_TRIPS * max(side.round_trip_ns, 1))
    after_timeouts = np.searchsorted(sender.timeouts.time_ns, times, side="right") > first
    return np.asarray(times[after_timeouts], np.int64)


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return the losses before it forgiven, a later fall and, as doses, larger smallest windows for the loser."""
    own = effective_value(pair.loser, "server", _KNOB)
    later: Change | str = "it is not known after how many probe timeouts of losses its sender starts again"
    if own is not None:
        count = round(_LATER * own)
        later = changes.knob(
            pair.loser.trial, "server", _KNOB, count, f"a fall to the smallest window after {count} probe timeouts"
        )
    doses = [
        (
            float(count),
            changes.knob(pair.loser.trial, "server", "min_window", count, f"a window of {count} packets at least"),
        )
        for count in (4, 10, 20)
    ]
    return [
        changes.cure(
            Touches.OCCASION, Target.LOSER, changes.forgiven(finding, "the losses before the window fell forgiven")
        ),
        changes.cure(Touches.MECHANISM, Target.LOSER, later),
        *changes.doses(Touches.MECHANISM, Target.LOSER, doses),
    ]


CAUSE = Cause(
    name="persistent_congestion",
    title="Persistent congestion",
    sentence="timeouts (about {dose:.0f} a load) throw its window back to the smallest, as in persistent congestion",
    source="RFC 9002, 7.6; RFC 5681, 3.1",
    role="path",
    classes=_CLASSES,
    needs=("metrics",),
    detect=detect,
    interventions=interventions,
    cured_by="the losses before it forgiven",
    where="at losses before its window falls to its smallest size",
)
