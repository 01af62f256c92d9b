"""The last packets of a flight are lost, so that nothing behind them shows it and the sender waits for a timer."""

from collections.abc import Sequence

import numpy as np

from longlook.explain import changes, remedies
from longlook.explain.cause import Cause, Finding, Intervention, Says, Sign, Surgery, Target, Touches, Untestable
from longlook.explain.facts import Booleans
from longlook.explain.ledger import LedgerClass
from longlook.explain.moments import PACKET_THRESHOLD, Stretches, bounded_ns, drops, numbers, stretches
from longlook.explain.pair import Pair, Side
from longlook.explain.signs import drops_shown

_CLASSES = (LedgerClass.TIMER, LedgerClass.LOSS_DETECTION)
_MOST_PACKETS = 16
"""Where more are lost in a row, a path was down or a queue overflowed, and not the tail is the cause."""


def detect(pair: Pair) -> Sign | None:
    """Return a sign where the loser waits after drops that too few packets followed to reveal them."""
    lost, waits = tail_drops(pair.loser)
    if not lost.any():
        return None
    shown = drops_shown(pair.loser, pair.loser.down, lost, "one of the last packets of a flight is dropped")
    return Sign(
        bounded_ns(pair, waits.total_ns, *_CLASSES),
        shown,
        dose=float(lost.sum()),
        packets=numbers(pair.loser.down, lost),
        transplant=_last_dropped(pair.winner, int(lost.sum())),
    )


def tail_drops(side: Side) -> tuple[Booleans, Stretches]:
    """Return the drops behind which fewer packets passed than show a loss, and the waits that followed them."""
    link, waits = side.down, stretches(side, *_CLASSES)
    lost = np.flatnonzero(drops(side, link) & link.carries_data & ~link.copy)
    passed = np.flatnonzero(link.ours & link.delivered & link.carries_data & ~link.copy)
    found, behind = np.zeros(len(link.sequence), np.bool_), np.zeros(len(waits), np.bool_)
    for number, begin_ns in enumerate(waits.begin_ns.tolist()):
        until = int(np.searchsorted(link.arrival_ns[passed], begin_ns, side="right"))
        since = passed[until - PACKET_THRESHOLD] if until >= PACKET_THRESHOLD else -1
        own = lost[(lost > since) & (link.arrival_ns[lost] <= begin_ns)]
        behind[number] = 0 < len(own) <= _MOST_PACKETS
        found[own] |= behind[number]
    return found, waits.where(behind)


def _last_dropped(side: Side, count: int) -> Surgery | None:
    """Return surgery that drops the last packets with data of a load, where none of them is lost anyway."""
    link = side.down
    sent = np.flatnonzero(link.ours & link.carries_data & ~link.copy)[-count:]
    if len(sent) == 0 or not link.delivered[sent].all():
        return None
    return Surgery(down=f"drop {', '.join(map(str, numbers(link, sent)))}")


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return the tail without its losses for the loser, and the winner's last packets dropped as often."""
    return [
        changes.cure(
            Touches.OCCASION, Target.LOSER, changes.forgiven(finding, "the losses at the end of flights forgiven")
        ),
        changes.transplant(
            Touches.OCCASION,
            remedies.inflicted(
                finding, "as many of its last packets dropped", "the winner's last packets are lost as well"
            ),
        ),
    ]


CAUSE = Cause(
    name="tail_loss",
    title="Loss at the end of a flight",
    sentence="at losses of the last packets of its flights (about {dose:.0f} a load), which only a timer shows",
    source="Flach et al., SIGCOMM 2013; RFC 8985, 7 (tail loss probe); RFC 9002, 6.2",
    role="path",
    classes=_CLASSES,
    needs=(),
    detect=detect,
    interventions=interventions,
    cured_by="these packets forgiven; as many of the winner's last packets dropped",
    says=Says.WHERE,
)
