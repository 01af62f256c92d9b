"""The load's own packets fill the queue, and its next requests and answers wait behind them."""

from collections.abc import Sequence

import numpy as np

from longlook.explain import changes
from longlook.explain.cause import Cause, Evidence, Finding, Intervention, Says, Sign, Target, Touches, Untestable
from longlook.explain.facts.columns import NEVER
from longlook.explain.facts.objects import ObjectFacts
from longlook.explain.moments import wait_ns
from longlook.explain.pair import Pair, Side

_QUEUES_BDP = (0.25, 0.5, 1)


def detect(pair: Pair) -> Sign | None:
    """Return a sign where the first bytes of the loser's critical objects wait in the queue for more than a round trip,
    and for longer than the winner's.
    """
    own_ns, other_ns = waited_ns(pair.loser), waited_ns(pair.winner)
    if own_ns <= pair.loser.round_trip_ns or own_ns <= other_ns:
        return None
    text = f"the first packets of critical objects wait in the queue for {own_ns / 1e6:.1f} ms, in the other arm"
    shown = Evidence(0, f"{text} for {other_ns / 1e6:.1f} ms")
    more_ns = min(own_ns - other_ns, pair.loser.load_ns - pair.winner.load_ns)
    return Sign(more_ns, (shown,), dose=own_ns / 1e6)


def waited_ns(side: Side) -> int:
    """Return how long the first packets of all critical objects waited for the bottleneck together."""
    objects, link = ObjectFacts.of(side.timeline, side.trial), side.down
    arrivals = np.where(link.ours & link.delivered & link.carries_data, link.arrival_ns, NEVER)
    own = np.flatnonzero(arrivals < NEVER)
    if len(own) == 0:
        return 0
    answered = objects.answered_ns[objects.critical]
    place = np.searchsorted(arrivals[own], answered, side="left")
    return int(wait_ns(link)[own[place[place < len(own)]]].sum())


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return a queue for each flow and shorter queues, for both arms."""
    doses = [(bdp, changes.path({"queue": f"{bdp:g}bdp"}, f"a queue of {bdp:g} BDP")) for bdp in _QUEUES_BDP]
    fair = changes.path({"aqm": "fq_codel", "queue": "10240packets"}, "FQ-CoDel")
    return [
        changes.cure(Touches.OCCASION, Target.BOTH, fair),
        changes.cure(Touches.OCCASION, Target.BOTH, doses[0][1]),
        *changes.doses(Touches.OCCASION, Target.BOTH, doses),
    ]


CAUSE = Cause(
    name="self_queueing",
    title="Own queue",
    sentence="where the beginnings of its objects wait behind its own packets in the queue, for {dose:.0f} ms",
    source="Gettys and Nichols, 2011 (bufferbloat); RFC 7567",
    role="server",
    classes=(),
    needs=(),
    detect=detect,
    interventions=interventions,
    cured_by="FQ-CoDel; a shorter queue",
    says=Says.WHERE,
)
