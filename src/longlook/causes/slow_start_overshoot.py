"""Slow start goes on until the queue overflows, and a large part of the flight is lost at once."""

from collections.abc import Sequence

import numpy as np

from longlook.explain import changes, remedies
from longlook.explain.cause import Cause, Finding, Intervention, Sign, Target, Touches, Untestable
from longlook.explain.effective_settings import longer_queues
from longlook.explain.facts import Booleans
from longlook.explain.ledger import LedgerClass
from longlook.explain.moments import slow_start_exit
from longlook.explain.pair import Pair, Side
from longlook.explain.signs import QUEUE_REASONS, bdp_bytes, dropped_for, drops_shown

_CLASSES = (
    LedgerClass.TIMER,
    LedgerClass.LOSS_DETECTION,
    LedgerClass.ACK_WAIT,
    LedgerClass.CONGESTION_WINDOW,
    LedgerClass.PACING,
    LedgerClass.LINK_WASTE,
)
_LEAST_SHARE = 0.1
_TIMES = (2, 4, 8)


def detect(pair: Pair) -> Sign | None:
    """Return a sign where the queue drops a tenth of the loser's flight or more when its slow start ends, and fewer of
    the winner's packets.
    """
    side = pair.loser
    lost = overshoot(side)
    others = overshoot(pair.winner)
    if lost is None or (others is not None and others.sum() >= lost.sum()):
        return None
    shown = drops_shown(side, side.down, lost, "the queue is full while slow start goes on")
    return Sign(pair.excess_ns(*_CLASSES), shown, dose=float(lost.sum()))


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


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return HyStart or an end of slow start at the bandwidth-delay product for the loser, longer queues for both arms,
    and no HyStart for the winner.
    """
    side = pair.loser
    longer = longer_queues(side, _TIMES)
    found = [changes.cure(Touches.MECHANISM, Target.LOSER, remedies.with_hystart(side, on=True))]
    product = bdp_bytes(side)
    if product is not None:
        found.append(changes.cure(Touches.MECHANISM, Target.LOSER, remedies.slow_start_until(side, product)))
    return [
        *found,
        changes.cure(Touches.OCCASION, Target.BOTH, longer[-1][1]),
        changes.transplant(Touches.MECHANISM, remedies.with_hystart(pair.winner, on=False)),
        *changes.doses(Touches.OCCASION, Target.BOTH, longer),
    ]


CAUSE = Cause(
    name="slow_start_overshoot",
    title="Slow start overflows the queue",
    sentence="its slow start overflows the queue, which drops about {dose:.0f} packets at once",
    source="Ha and Rhee, Computer Networks 2011; RFC 9406; neqo#2858",
    role="server",
    classes=_CLASSES,
    needs=("metrics", "state"),
    detect=detect,
    interventions=interventions,
    cured_by="HyStart; an end of slow start at the bandwidth-delay product; a longer queue",
    where="at the queue's drops when slow start ends",
)
