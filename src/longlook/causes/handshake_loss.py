"""A packet of the handshake is lost, and its timer is long because no round trip has been measured."""

from collections.abc import Sequence

import numpy as np

from longlook.explain import changes, remedies
from longlook.explain.cause import Cause, Finding, Intervention, Says, Sign, Surgery, Target, Touches, Untestable
from longlook.explain.facts import LinkFacts
from longlook.explain.ledger import LedgerClass
from longlook.explain.ledger.handshake import LOSS
from longlook.explain.moments import bounded_ns, drops, numbers, stretches
from longlook.explain.pair import Pair, Side
from longlook.explain.signs import drops_shown

_CLASSES = (LedgerClass.HANDSHAKE,)


def detect(pair: Pair) -> Sign | None:
    """Return a sign where a packet of the loser's handshake was dropped and the handshake waits for it."""
    side = pair.loser
    waits, whole = stretches(side, *_CLASSES, detail=LOSS), stretches(side, *_CLASSES)
    if len(waits) == 0:
        return None
    lost = {link.direction: drops(side, link) & (link.arrival_ns < whole.end_ns[-1]) for link in (side.up, side.down)}
    link = max((side.up, side.down), key=lambda link: int(lost[link.direction].sum()))
    which = lost[link.direction]
    if not which.any():
        return None
    shown = drops_shown(side, link, which, "a packet of the handshake is dropped")
    first = numbers(link, which)[0] - _first(side, link)
    return Sign(
        bounded_ns(pair, waits.total_ns, *_CLASSES),
        shown,
        dose=waits.total_ns / 1e6,
        packets=numbers(link, which),
        direction=link.direction,
        transplant=_dropped(pair.winner, link.direction, first),
    )


def _first(side: Side, link: LinkFacts) -> int:
    """Return the link's number of the load's first packet in a direction."""
    during = np.flatnonzero(link.ours & (link.arrival_ns >= side.start_ns))
    return int(link.sequence[during[0]]) if len(during) else 0


def _dropped(side: Side, direction: str, place: int) -> Surgery | None:
    """Return surgery that drops the winner's packet at the same place, where it is one of the handshake that passed."""
    link = side.up if direction == "up" else side.down
    whole = stretches(side, *_CLASSES)
    number = _first(side, link) + place
    same = (link.sequence == number) & link.delivered
    if len(whole) == 0 or not same.any() or int(link.arrival_ns[same][0]) >= whole.end_ns[-1]:
        return None
    return Surgery(up=f"drop {number}") if direction == "up" else Surgery(down=f"drop {number}")


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return the handshake without its losses for the loser, and the same packet of the winner's handshake dropped."""
    return [
        changes.cure(Touches.OCCASION, Target.LOSER, changes.forgiven(finding, "the losses of the handshake forgiven")),
        changes.transplant(
            Touches.OCCASION,
            remedies.inflicted(
                finding, "the same packet of its handshake dropped", "the winner's handshake has no such packet"
            ),
        ),
    ]


CAUSE = Cause(
    name="handshake_loss",
    title="Loss in the handshake",
    sentence="at a lost packet of its handshake, which a timer sends again after about {dose:.0f} ms",
    source="RFC 6298, 2.1; RFC 9002, 6.2.2",
    role="path",
    classes=_CLASSES,
    needs=(),
    detect=detect,
    interventions=interventions,
    cured_by="these packets forgiven; the same packet of the winner's dropped",
    says=Says.WHERE,
)
