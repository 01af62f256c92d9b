"""The sender declares packets lost that are only late."""

from collections.abc import Sequence

from longlook.explain import changes, remedies
from longlook.explain.cause import Cause, Change, Finding, Intervention, Sign, Target, Untestable
from longlook.explain.ledger import LedgerClass
from longlook.explain.side import Pair, Side
from longlook.explain.signs import false_losses

_CLASSES = (LedgerClass.CONGESTION_WINDOW, LedgerClass.ACK_WAIT, LedgerClass.LINK_WASTE, LedgerClass.TIMER)
_THRESHOLDS = (10, 30, 100, 300)
_WITHOUT: dict[str, str | int | float | bool] = {"reorder": "0%", "jitter_reorders": False}


def detect(pair: Pair) -> Sign | None:
    """Return a sign where the loser's server declared packets lost that the link or the client saw arrive."""
    shown, count = false_losses(pair.loser, "a packet is declared lost that arrives")
    return None if count == 0 else Sign(pair.excess_ns(*_CLASSES), shown, dose=float(count))


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return a path that keeps the order for both arms, and higher thresholds for the loser as doses."""
    side = pair.loser
    found: list[Intervention | Untestable] = [
        changes.cure(Target.BOTH, changes.path(_WITHOUT, "no reordering")),
        changes.cure(Target.LOSER, _threshold(side, _THRESHOLDS[-1])),
    ]
    doses = [(float(count), _threshold(side, count)) for count in _THRESHOLDS]
    return [*found, *changes.doses(Target.LOSER, doses)]


def _threshold(side: Side, count: int) -> Change | str:
    label = f"a loss declared after {count} later packets"
    return remedies.tuned(side.trial, "server", {"packet_threshold": count}, {"tcp_reordering": count}, label)


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
    cured_by="a path without reordering; a larger packet threshold",
)
