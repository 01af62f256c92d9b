"""The client asks for the next object later than the last one came."""

from collections.abc import Sequence

from longlook.explain import changes, remedies
from longlook.explain.cause import Cause, Finding, Intervention, Sign, Target, Touches, Untestable
from longlook.explain.ledger import LedgerClass
from longlook.explain.moments import stretches, stretches_shown
from longlook.explain.pair import Pair

_CLASSES = (LedgerClass.CLIENT_IDLE,)


def detect(pair: Pair) -> Sign | None:
    """Return a sign where the loser's client has nothing on its way for longer."""
    more_ns, side = pair.excess_ns(*_CLASSES), pair.loser
    if more_ns <= 0:
        return None
    found = stretches(side, *_CLASSES)
    shown = stretches_shown(side, found, "everything asked for has arrived, and nothing more is asked for")
    return Sign(more_ns, shown, dose=found.total_ns / 1e6)


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return the winner's client for the loser, and one that computes as fast as it can."""
    found = [remedies.winners_program(pair, "client"), *remedies.freed(pair.loser.trial, "client")]
    return [changes.cure(Touches.MECHANISM, Target.LOSER, change) for change in found]


CAUSE = Cause(
    name="client_idle",
    title="Idle client",
    sentence="its client has nothing asked for and nothing on its way for {dose:.0f} ms between objects",
    source="Wang et al., WProf, NSDI 2013",
    role="client",
    classes=_CLASSES,
    needs=(),
    detect=detect,
    interventions=interventions,
    cured_by="the winner's client; more of a CPU for it",
)
