"""The bottleneck serves others while the load has packets waiting."""

from collections.abc import Sequence

from longlook.explain import changes
from longlook.explain.cause import Cause, Finding, Intervention, Says, Sign, Target, Touches, Untestable
from longlook.explain.ledger import LedgerClass
from longlook.explain.moments import stretches, stretches_shown
from longlook.explain.pair import Pair

_CLASSES = (LedgerClass.LINK_OTHERS,)


def detect(pair: Pair) -> Sign | None:
    """Return a sign where others take more of the bottleneck's time from the loser than from the winner."""
    more_ns, side = pair.excess_ns(*_CLASSES), pair.loser
    if more_ns <= 0:
        return None
    found = stretches(side, *_CLASSES)
    shown = stretches_shown(side, found, "the bottleneck serves others while packets of the load wait")
    return Sign(more_ns, shown, dose=found.total_ns / 1e6)


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return a queue of its own for each flow, which gives all the same share, for both arms."""
    fair = changes.path({"aqm": "fq_codel", "queue": "10240packets"}, "FQ-CoDel, which shares between flows")
    return [changes.cure(Touches.OCCASION, Target.BOTH, fair)]


CAUSE = Cause(
    name="competition",
    title="Others at the bottleneck",
    sentence="while the bottleneck serves other traffic, for {dose:.0f} ms in which its packets wait",
    source="Ware et al., HotNets 2019; RFC 8290",
    role="path",
    classes=_CLASSES,
    needs=(),
    detect=detect,
    interventions=interventions,
    cured_by="FQ-CoDel",
    says=Says.WHERE,
)
