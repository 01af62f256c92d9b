"""The sender cuts its window more than once within a round trip."""

from collections.abc import Sequence

import numpy as np

from longlook.explain import changes, remedies
from longlook.explain.cause import Cause, Evidence, Finding, Intervention, Says, Sign, Target, Touches, Untestable
from longlook.explain.facts import Integers, Steps
from longlook.explain.ledger import LedgerClass
from longlook.explain.moments import drops, numbers
from longlook.explain.pair import Pair, Side
from longlook.explain.signs import MOST_EVIDENCE, within

_CLASSES = (LedgerClass.CONGESTION_WINDOW, LedgerClass.ACK_WAIT, LedgerClass.PACING)
_CUT = 0.9


def detect(pair: Pair) -> Sign | None:
    """Return a sign where the loser cuts its window again within a round trip, more often than the winner."""
    side, again = pair.loser, repeated_cuts(pair.loser)
    if len(again) == 0 or len(again) <= len(repeated_cuts(pair.winner)):
        return None
    shown = tuple(
        Evidence(time_ns - side.start_ns, "the window is cut for the second time within a round trip")
        for time_ns in again[:MOST_EVIDENCE].tolist()
    )
    link, round_trip_ns = side.down, 2 * max(side.round_trip_ns, 1)
    near = [(link.arrival_ns <= time_ns) & (link.arrival_ns > time_ns - round_trip_ns) for time_ns in again.tolist()]
    spared = drops(side, link) & np.logical_or.reduce(near)
    return Sign(pair.excess_ns(*_CLASSES), shown, dose=float(len(again)), packets=numbers(link, spared)[1:])


def repeated_cuts(side: Side) -> Integers:
    """Return when the server's window was cut within a round trip of a cut before.

    The threshold of slow start shows cuts where it is logged, else the window does. The kernel's TCP is left out: its
    window shrinks packet by packet (RFC 6937), and the threshold that it reports moves with the window between cuts.
    """
    sender = side.server
    steps = None if sender is None else sender.threshold if sender.threshold is not None else sender.window
    if sender is None or steps is None or sender.source == "tcp":
        return np.zeros(0, np.int64)
    cut = _cuts(within(side, steps))
    rtt_ns = np.full(len(cut), side.round_trip_ns)
    if sender.smoothed_rtt is not None:
        rtt_ns = sender.smoothed_rtt.at(cut, side.round_trip_ns)
    return np.asarray(cut[1:][np.diff(cut) < rtt_ns[1:]], np.int64)


def _cuts(steps: Steps) -> Integers:
    value = steps.value.astype(np.float64)
    return np.asarray(steps.time_ns[1:][value[1:] < _CUT * value[:-1]], np.int64)


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return the loser with one loss in the place of several, and another version of its stack."""
    forgiven = changes.forgiven(finding, "of the losses of a round trip all but the first forgiven")
    return [
        changes.cure(Touches.OCCASION, Target.LOSER, forgiven),
        changes.cure(Touches.PROGRAM, Target.LOSER, remedies.other_version(pair.loser, "server")),
    ]


CAUSE = Cause(
    name="multiple_reductions",
    title="Several cuts within a round trip",
    sentence="at second cuts of its window within a round trip of the first (about {dose:.0f} a load)",
    source="RFC 9002, 7.3.2; RFC 5681; RFC 6582",
    role="server",
    classes=_CLASSES,
    needs=("metrics",),
    detect=detect,
    interventions=interventions,
    cured_by="one loss in the place of several; another version",
    says=Says.WHERE,
)
