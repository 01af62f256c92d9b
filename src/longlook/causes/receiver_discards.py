"""The receiver throws packets away because more of them wait to be processed than it keeps."""

from collections.abc import Sequence

from longlook.explain import changes, remedies
from longlook.explain.cause import Cause, Change, Finding, Intervention, Sign, Target, Touches, Untestable
from longlook.explain.ledger import LedgerClass
from longlook.explain.side import Pair, Side
from longlook.explain.signs import thrown_away

_CLASSES = (LedgerClass.CONGESTION_WINDOW, LedgerClass.ACK_WAIT, LedgerClass.LINK_WASTE, LedgerClass.TIMER)
_LONG = 100_000
_DOSES = (64, 256, 1_024, 4_096)


def detect(pair: Pair) -> Sign | None:
    """Return a sign where the loser's client says that it threw packets away for which it had no room."""
    shown, count = thrown_away(pair.loser, "a packet that arrived is thrown away unread")
    return None if count == 0 else Sign(pair.excess_ns(*_CLASSES), shown, dose=float(count))


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return a longer queue for the loser, also in steps, and the loser's for the winner."""
    own = changes.in_effect(pair.loser.trial, "client", "receive_queue")
    short: Change | str = "it is not known how many packets may wait in the loser's client"
    if own is not None:
        short = _queue(pair.winner, int(own))
    doses = [(float(packets), _queue(pair.loser, packets)) for packets in _DOSES]
    return [
        changes.cure(Touches.MECHANISM, Target.LOSER, _queue(pair.loser, _LONG)),
        changes.transplant(Touches.MECHANISM, short),
        *changes.doses(Touches.MECHANISM, Target.LOSER, doses),
    ]


def _queue(side: Side, packets: int) -> Change | str:
    return remedies.tuned(
        side.trial, "client", {"receive_queue": packets}, {}, f"{packets} packets may wait to be processed"
    )


CAUSE = Cause(
    name="receiver_discards",
    title="Packets thrown away by the receiver",
    sentence="its client throws away about {dose:.0f} packets a load that it has no room for, and they count as lost",
    source="quic-go, MaxConnUnprocessedPackets; Zhang et al., WWW 2024 (receivers on fast links)",
    role="client",
    classes=_CLASSES,
    needs=("packet_discarded",),
    detect=detect,
    interventions=interventions,
    cured_by="a longer queue before the receiver's own processing; a receiver that is never late",
)
