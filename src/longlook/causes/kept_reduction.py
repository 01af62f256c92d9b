"""The sender keeps its window reduced when a packet that it declared lost arrives after all."""

from collections.abc import Sequence

from longlook.explain import changes, remedies
from longlook.explain.cause import Cause, Change, Finding, Intervention, Sign, Target, Touches, Untestable
from longlook.explain.ledger import LedgerClass
from longlook.explain.pair import Pair, Side
from longlook.explain.signs import false_losses

_CLASSES = (LedgerClass.CONGESTION_WINDOW, LedgerClass.ACK_WAIT)


def detect(pair: Pair) -> Sign | None:
    """Return a sign where the loser's server declared packets lost that arrived, and then waited for its window."""
    shown, count = false_losses(pair.loser, "the window was reduced for a packet that arrives")
    return None if count == 0 else Sign(pair.excess_ns(*_CLASSES), shown, dose=float(count))


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return a loser that takes such reductions back, and a winner that does not."""
    return [
        changes.cure(Touches.MECHANISM, Target.LOSER, _undoing(pair.loser, True)),
        changes.transplant(Touches.MECHANISM, _undoing(pair.winner, False)),
    ]


def _undoing(side: Side, on: bool) -> Change | str:
    label = "reductions for packets that arrive are taken back" if on else "reductions are kept"
    heard = {"tcp_timestamps": on, "tcp_dsack": on}  # without them the kernel never learns that a packet had arrived
    return remedies.tuned(side.trial, "server", {"undo_spurious_losses": on}, heard, label)


CAUSE = Cause(
    name="kept_reduction",
    title="Reductions kept after spurious losses",
    sentence="it keeps the window reduced for packets that arrive after all (about {dose:.0f} a load)",
    source="RFC 4015 (Eifel response); RFC 3522; Linux tcp_try_undo_recovery; quic-go 0.65, Reno alone",
    role="server",
    classes=_CLASSES,
    needs=("packet_spurious",),
    detect=detect,
    interventions=interventions,
    cured_by="a window that is given back when the losses prove to be none",
)
