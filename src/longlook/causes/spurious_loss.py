"""The sender declares packets lost that are only late."""

from collections.abc import Sequence

from longlook.explain import changes
from longlook.explain.cause import Cause, Finding, Intervention, Sign, Target, Touches, Untestable
from longlook.explain.ledger import LedgerClass
from longlook.explain.pair import Pair
from longlook.explain.signs import false_losses
from longlook.explain.thresholds import later_losses

_CLASSES = (LedgerClass.CONGESTION_WINDOW, LedgerClass.ACK_WAIT, LedgerClass.LINK_WASTE, LedgerClass.TIMER)
_WITHOUT: dict[str, str | int | float | bool] = {"reorder": "0%", "jitter_reorders": False}


def detect(pair: Pair) -> Sign | None:
    """Return a sign where the loser's server declared packets lost that the link or the client saw arrive."""
    shown, count = false_losses(pair.loser, "a packet is declared lost that arrives")
    return None if count == 0 else Sign(pair.excess_ns(*_CLASSES), shown, dose=float(count))


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return higher thresholds than the loser has, also in steps, and a path that keeps the order for both arms."""
    in_order = changes.cure(Touches.OCCASION, Target.BOTH, changes.path(_WITHOUT, "no reordering"))
    return [*later_losses(pair.loser), in_order]


CAUSE = Cause(
    name="spurious_loss",
    title="Spurious losses",
    sentence="it takes late packets for lost ones (about {dose:.0f} a load), sends them again and shrinks its window",
    source="Kakhki et al., IMC 2017, 5.2 and fig. 10; quinn#2711; quic-go#5734",
    role="server",
    classes=_CLASSES,
    needs=("packet_spurious",),
    detect=detect,
    interventions=interventions,
    cured_by="a larger threshold of packets or of age",
    where="where the path delivers packets out of order",
)
