"""The sender overflows the bottleneck's queue, and shrinks its window for it."""

from collections.abc import Sequence

from longlook.explain import changes
from longlook.explain.cause import Cause, Finding, Intervention, Says, Sign, Target, Touches, Untestable
from longlook.explain.effective_settings import longer_queues
from longlook.explain.ledger import LedgerClass
from longlook.explain.pair import Pair
from longlook.explain.signs import QUEUE_REASONS, dropped_for, losses_on_path

_CLASSES = (
    LedgerClass.CONGESTION_WINDOW,
    LedgerClass.TIMER,
    LedgerClass.LOSS_DETECTION,
    LedgerClass.ACK_WAIT,
    LedgerClass.LINK_WASTE,
)
_TIMES = (2, 4, 8)


def detect(pair: Pair) -> Sign | None:
    """Return a sign where the queue dropped packets of the load and the loser waits longer than the winner."""
    shown, count = losses_on_path(pair.loser, "the queue has no room for a packet to the client", *QUEUE_REASONS)
    if not count:
        return None
    return Sign(pair.excess_ns(*_CLASSES), shown, dose=float(count))


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return queues up to eight times as long for both arms, also behind a middle where one overflowed."""
    side = pair.loser
    overflowed = any(dropped_for(side, link, *QUEUE_REASONS).any() for link in side.down_all[1:])
    trial = side.trial if overflowed else None
    longer = longer_queues(side, _TIMES, trial)
    return [
        changes.cure(Touches.OCCASION, Target.BOTH, longer[-1][1], longer[-1][0]),
        *changes.doses(Touches.OCCASION, Target.BOTH, longer[:-1]),
    ]


CAUSE = Cause(
    name="queue_loss_response",
    title="Drops of a full queue",
    sentence="at drops of the full queue (about {dose:.0f} a load) and in what its sender does about them",
    source="Siekkinen et al., Computer Networks 2008 (congestion); RFC 9002, 7.3.2",
    role="server",
    classes=_CLASSES,
    needs=(),
    detect=detect,
    interventions=interventions,
    cured_by="a queue eight times as long",
    says=Says.WHERE,
)
