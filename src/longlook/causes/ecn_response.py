"""The sender shrinks its window for marks of the queue (ECN), where the winner had none or fewer."""

from collections.abc import Sequence

import numpy as np

from longlook.core import units
from longlook.explain import changes, remedies
from longlook.explain.cause import Cause, Change, Finding, Intervention, Sign, Target, Touches, Untestable
from longlook.explain.facts import Booleans
from longlook.explain.ledger import LedgerClass
from longlook.explain.pair import Pair, Side
from longlook.explain.signs import drops_shown

_CLASSES = (
    LedgerClass.CONGESTION_WINDOW,
    LedgerClass.PACING,
    LedgerClass.ACK_WAIT,
    LedgerClass.LINK_WASTE,
)
_TIMES = (2, 4, 8)
_STEPS = {"step": ("threshold_ns", "step_threshold"), "dualpi2": ("step_ns", "dualpi2_step")}
"""Discipline → parameter and setting of the wait above which it marks."""
_STEP_NS = 1_000_000


def detect(pair: Pair) -> Sign | None:
    """Return a sign where the link marked more packets of the load than the winner's, and the loser waits longer."""
    marked = _marked(pair.loser)
    more = int(marked.sum()) - int(_marked(pair.winner).sum())
    if more <= 0:
        return None
    shown = drops_shown(pair.loser, pair.loser.down, marked, "the queue marks a packet to the client")
    return Sign(pair.excess_ns(*_CLASSES), shown, dose=float(marked.sum()))


def _marked(side: Side) -> Booleans:
    first_ns, last_ns = side.ledger.span_ns
    link = side.down
    return np.asarray(link.ours & link.marked & (link.arrival_ns >= first_ns) & (link.arrival_ns <= last_ns), np.bool_)


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return packets that cannot be marked, where the winner's were not; later marks; and marks for the winner."""
    off = remedies.tuned(
        pair.loser.trial, "server", {"ecn": False}, {"tcp_ecn": False}, "packets that the queue cannot mark"
    )
    made = [] if _marked(pair.winner).any() else [changes.cure(Touches.MECHANISM, Target.LOSER, off)]
    later = _later(pair.loser)
    on = remedies.tuned(
        pair.winner.trial, "server", {"ecn": True}, {"tcp_ecn": True}, "packets that the queue can mark"
    )
    return [*made, *later, changes.transplant(Touches.MECHANISM, on)]


def _later(side: Side) -> Sequence[Intervention | Untestable]:
    """Return higher thresholds of the queue for both arms, the highest as cure, all as doses."""
    found = next((stage for stage in side.trial.link.down if stage.kind in _STEPS), None)
    if found is None:
        return [changes.cure(Touches.OCCASION, Target.BOTH, "no setting moves the threshold of this queue")]
    parameter, setting = _STEPS[found.kind]
    now_ns = found.parameters.get(parameter, 0 if found.kind == "step" else _STEP_NS)
    if not isinstance(now_ns, int) or now_ns == 0:
        return [changes.cure(Touches.OCCASION, Target.BOTH, "the queue's threshold is not a time")]
    doses = [(float(times), _threshold(setting, now_ns * times)) for times in _TIMES]
    return [
        changes.cure(Touches.OCCASION, Target.BOTH, doses[-1][1], doses[-1][0]),
        *changes.doses(Touches.OCCASION, Target.BOTH, doses[:-1]),
    ]


def _threshold(setting: str, wait_ns: int) -> Change:
    wait = units.print_time(wait_ns)
    return changes.path({setting: wait}, f"marks above a wait of {wait}")


CAUSE = Cause(
    name="ecn_response",
    title="Response to marks (ECN)",
    sentence="the queue marks its packets (about {dose:.0f} a load), and it shrinks its window for that",
    source="RFC 3168; RFC 9002, 7.1; RFC 8257, 3.3",
    role="server",
    classes=_CLASSES,
    needs=(),
    detect=detect,
    interventions=interventions,
    cured_by="packets that cannot be marked, or a threshold eight times as high",
    where="at marks of the queue (ECN)",
)
