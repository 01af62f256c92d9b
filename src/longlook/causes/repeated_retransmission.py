"""What was sent again is lost again."""

from collections.abc import Sequence

import numpy as np

from longlook.explain import changes
from longlook.explain.cause import Cause, Finding, Intervention, Says, Sign, Target, Touches, Untestable
from longlook.explain.facts import Booleans
from longlook.explain.ledger import LedgerClass
from longlook.explain.moments import drops, numbers
from longlook.explain.pair import Pair, Side
from longlook.explain.signs import drops_shown

_CLASSES = (LedgerClass.TIMER, LedgerClass.LOSS_DETECTION, LedgerClass.CONGESTION_WINDOW, LedgerClass.ACK_WAIT)
_AT_ONCE_NS = 1_000_000


def detect(pair: Pair) -> Sign | None:
    """Return a sign where retransmissions of the loser are dropped, more of them than of the winner's."""
    side, again = pair.loser, lost_again(pair.loser)
    if not again.any() or again.sum() <= lost_again(pair.winner).sum():
        return None
    shown = drops_shown(side, side.down, again, "what is sent again is dropped again")
    return Sign(pair.excess_ns(*_CLASSES), shown, dose=float(again.sum()), packets=numbers(side.down, again))


def lost_again(side: Side) -> Booleans:
    """Return which dropped packets were retransmissions.

    TCP's sequence numbers show them. Of QUIC it is a rule: a sender that declares losses sends as many packets with
    data at once, which hold what was lost.
    """
    link = side.down
    lost = drops(side, link) & link.carries_data & ~link.copy
    found = np.zeros(len(lost), np.bool_)
    tcp = np.flatnonzero(lost & link.is_tcp)
    if len(tcp):
        _, first = np.unique(link.flow[tcp] * 2**32 + link.transport_sequence[tcp], return_index=True)
        found[np.delete(tcp, first)] = True
    sender = side.server
    if sender is None or sender.source == "tcp":
        return found
    own = np.flatnonzero(link.of_flow(sender.flow) & link.carries_data & ~link.copy)
    declared, counts = np.unique(sender.lost.time_ns, return_counts=True)
    places = np.searchsorted(link.arrival_ns[own], declared, side="left")
    for time_ns, count, place in zip(declared.tolist(), counts.tolist(), places.tolist(), strict=True):
        repairs = own[place : place + count]
        repairs = repairs[link.arrival_ns[repairs] - time_ns <= _AT_ONCE_NS]
        found[repairs] |= lost[repairs]
    return found


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return the loser with its retransmissions forgiven."""
    return [
        changes.cure(
            Touches.OCCASION, Target.LOSER, changes.forgiven(finding, "the losses of retransmissions forgiven")
        ),
        changes.transplant(Touches.OCCASION, "which packet repairs which is decided as the trial goes on"),
    ]


CAUSE = Cause(
    name="repeated_retransmission",
    title="Retransmissions lost",
    sentence="where packets that send lost data again are lost as well (about {dose:.0f} a load)",
    source="Rewaskar, Kaur and Smith, 2006; Zhou et al., TAPO, CoNEXT 2015 (double retransmission)",
    role="path",
    classes=_CLASSES,
    needs=(),
    detect=detect,
    interventions=interventions,
    cured_by="these packets forgiven",
    says=Says.WHERE,
)
