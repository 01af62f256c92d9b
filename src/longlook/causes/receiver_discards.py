"""The receiver throws packets away: more wait to be processed than it keeps, or it takes late ones for copies."""

from collections.abc import Sequence

from longlook.explain import changes, remedies
from longlook.explain.cause import Cause, Change, Finding, Intervention, Sign, Target, Touches, Untestable
from longlook.explain.ledger import LedgerClass
from longlook.explain.pair import Pair, Side
from longlook.explain.signs import refused, thrown_away

_CLASSES = (LedgerClass.CONGESTION_WINDOW, LedgerClass.ACK_WAIT, LedgerClass.LINK_WASTE, LedgerClass.TIMER)
_LONG = 100_000
_DOSES = (64, 256, 1_024, 4_096)


def detect(pair: Pair) -> Sign | None:
    """Return a sign where the loser's client logged that it had no room for packets, or gave no sign of packets that
    the link delivered and its server declared lost, more often than the winner's.

    quinn refuses a packet more than 129 numbers behind the newest as a possible duplicate (quinn#2710).
    """
    full, no_room = thrown_away(pair.loser, "a packet that arrived is thrown away unread")
    silent, unseen = refused(pair.loser, "a packet that the link delivered is neither logged nor acknowledged")
    others = thrown_away(pair.winner, "")[1] + refused(pair.winner, "")[1]
    count = no_room + unseen
    return None if count <= others else Sign(pair.excess_ns(*_CLASSES), (*full, *silent), dose=float(count))


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return a longer queue for the loser, also in steps, and the loser's for the winner, if it was full, else the
    winner's client for the loser: what else refuses packets has no setting.
    """
    if thrown_away(pair.loser, "")[1] == 0:
        client = pair.loser.trial.client
        reason = (
            f"client {client.stack}@{client.version} refused packets that arrived, and no knob sets how late a packet "
            "may be (quinn: its window for duplicates); a patched build of it would be needed"
        )
        return [
            changes.cure(Touches.MECHANISM, Target.LOSER, reason),
            changes.cure(Touches.PROGRAM, Target.LOSER, remedies.winners_program(pair, "client")),
            changes.transplant(Touches.MECHANISM, reason),
        ]
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
    sentence="its client throws away about {dose:.0f} packets a load that reached it, and they count as lost",
    source="quic-go, MaxConnUnprocessedPackets; quinn#2710; Zhang et al., WWW 2024 (receivers on fast links)",
    role="client",
    classes=_CLASSES,
    needs=("packet_discarded", "packet_refused"),
    detect=detect,
    interventions=interventions,
    cured_by="a longer queue before the receiver's own processing; a receiver of late packets; the winner's client",
)
