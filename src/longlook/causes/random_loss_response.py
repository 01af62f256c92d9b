"""The sender takes losses of the path for congestion and shrinks its window."""

from collections.abc import Sequence

from longlook.explain import changes
from longlook.explain.cause import Cause, Finding, Intervention, Says, Sign, Target, Touches, Untestable
from longlook.explain.ledger import LedgerClass
from longlook.explain.pair import Pair
from longlook.explain.signs import RANDOM_REASONS, losses_on_path

_CLASSES = (LedgerClass.CONGESTION_WINDOW, LedgerClass.TIMER, LedgerClass.LOSS_DETECTION, LedgerClass.ACK_WAIT)


def detect(pair: Pair) -> Sign | None:
    """Return a sign where packets to the client were dropped at random and the loser waits longer than the winner."""
    shown, count = losses_on_path(pair.loser, "a packet to the client is dropped at random", *RANDOM_REASONS)
    if not count:
        return None
    return Sign(pair.excess_ns(*_CLASSES), shown, dose=float(count))


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return a path without random loss for both arms."""
    return [
        changes.cure(Touches.OCCASION, Target.BOTH, changes.path({"loss": "0%"}, "no random loss", pair.loser.trial))
    ]


CAUSE = Cause(
    name="random_loss_response",
    title="Random losses",
    sentence="at random losses (about {dose:.0f} a load) and in what its sender does about them",
    source="Kakhki et al., IMC 2017, 5.2; RFC 9002, 7.3.2",
    role="server",
    classes=_CLASSES,
    needs=(),
    detect=detect,
    interventions=interventions,
    cured_by="no random loss on the path",
    says=Says.WHERE,
)
