"""A loss comes while so little is in flight that no acknowledgement can show it, and a timer has to."""

from collections.abc import Sequence

import numpy as np

from longlook.explain import changes, remedies
from longlook.explain.cause import Cause, Change, Finding, Intervention, Sign, Target, Touches, Untestable
from longlook.explain.facts import Booleans
from longlook.explain.ledger import LedgerClass
from longlook.explain.moments import Stretches, bounded_ns, datagram_bytes, drops, numbers, stretches
from longlook.explain.pair import Pair, Side
from longlook.explain.signs import drops_shown

_CLASSES = (LedgerClass.TIMER,)
_FEW_PACKETS = 4
_WINDOWS = (4, 10, 20)


def detect(pair: Pair) -> Sign | None:
    """Return a sign where the loser waits for a timer after drops at which its window held fewer than four packets."""
    side = pair.loser
    lost, waits = few_in_flight(side)
    if not lost.any():
        return None
    shown = drops_shown(side, side.down, lost, f"a packet is dropped while the window is below {_FEW_PACKETS} packets")
    return Sign(
        bounded_ns(pair, waits.total_ns, *_CLASSES), shown, dose=float(lost.sum()), packets=numbers(side.down, lost)
    )


def few_in_flight(side: Side) -> tuple[Booleans, Stretches]:
    """Return the drops at which the server's window was small, and the waits for a timer that followed them."""
    link, waits, sender = side.down, stretches(side, *_CLASSES), side.server
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


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return these losses forgiven, and larger smallest and first windows for the loser."""
    doses = [(float(count), _least(pair.loser, count)) for count in _WINDOWS]
    return [
        changes.cure(Touches.OCCASION, Target.LOSER, changes.forgiven(finding, "the losses at small windows forgiven")),
        changes.cure(Touches.MECHANISM, Target.LOSER, doses[1][1]),
        *changes.doses(Touches.MECHANISM, Target.LOSER, doses),
    ]


def _least(side: Side, count: int) -> Change | str:
    knobs = {"min_window": count}
    return remedies.tuned(side.trial, "server", knobs, {"tcp_initial_window": count}, f"windows of {count} packets")


CAUSE = Cause(
    name="small_window_timeout",
    title="Timeout at a small window",
    sentence="losses at windows below four packets (about {dose:.0f} a load) have to be found by a timer",
    source="Zhou et al., TAPO, CoNEXT 2015 (small window); RFC 5827",
    role="server",
    classes=_CLASSES,
    needs=("metrics",),
    detect=detect,
    interventions=interventions,
    cured_by="these packets forgiven; larger windows",
    where="at losses at small windows",
)
