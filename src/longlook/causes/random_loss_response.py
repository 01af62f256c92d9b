"""The sender takes losses of the path for congestion and shrinks its window."""

from collections.abc import Sequence

from longlook.explain import changes
from longlook.explain.cause import Cause, Finding, Intervention, Sign, Target, Untestable
from longlook.explain.ledger import LedgerClass
from longlook.explain.side import Pair
from longlook.explain.signs import RANDOM_REASONS, dropped_for, drops_shown

_CLASSES = (LedgerClass.CONGESTION_WINDOW, LedgerClass.TIMER, LedgerClass.LOSS_DETECTION, LedgerClass.ACK_WAIT)


def detect(pair: Pair) -> Sign | None:
    """Return a sign where packets to the client were dropped at random and the loser waits longer than the winner."""
    side = pair.loser
    dropped = dropped_for(side, side.down, *RANDOM_REASONS)
    if not dropped.any():
        return None
    shown = drops_shown(side, side.down, dropped, "a packet to the client is dropped at random")
    return Sign(pair.excess_ns(*_CLASSES), shown, dose=float(dropped.sum()))


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return a path without random loss for both arms."""
    return [changes.cure(Target.BOTH, changes.path({"loss": "0%"}, "no random loss"))]


CAUSE = Cause(
    name="random_loss_response",
    title="Response to random loss",
    sentence="at random losses (about {dose:.0f} a load) it shrinks its window or waits for a timer",
    source="Kakhki et al., IMC 2017, 5.2; RFC 9002, 7.3.2",
    role="server",
    classes=_CLASSES,
    needs=(),
    detect=detect,
    interventions=interventions,
    cured_by="no random loss on the path",
)
