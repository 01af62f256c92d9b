"""The server may send no more to an address that is not validated yet, and waits for the client."""

from collections.abc import Sequence

from longlook.core.model import ConnectionState
from longlook.explain import changes
from longlook.explain.cause import Cause, Change, Finding, Intervention, Sign, Target, Untestable
from longlook.explain.ledger import LedgerClass
from longlook.explain.ledger.handshake import AMPLIFICATION
from longlook.explain.moments import stretches, stretches_shown
from longlook.explain.side import Pair

_CLASSES = (LedgerClass.HANDSHAKE,)


def detect(pair: Pair) -> Sign | None:
    """Return a sign where the loser's server waits longer at three times what it received."""
    side = pair.loser
    more_ns = pair.excess_detail_ns(LedgerClass.HANDSHAKE, AMPLIFICATION)
    waits = stretches(side, *_CLASSES, detail=AMPLIFICATION)
    if more_ns <= 0:
        return None
    shown = stretches_shown(
        side, waits, "the server has sent three times what it received, and more to send, and waits"
    )
    return Sign(min(more_ns, pair.excess_ns(*_CLASSES)), shown, dose=waits.total_ns / 1e6)


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return a resumed session for the loser, in which the server sends no certificate."""
    resumed: Change | str = "the session is resumed already: there is no certificate to leave out"
    if pair.loser.trial.connection is ConnectionState.COLD:
        resumed = Change("a resumed session, without a certificate", {"connection": str(ConnectionState.RESUMED)})
    return [
        changes.cure(Target.LOSER, resumed),
        changes.transplant("no setting makes one arm's certificate longer than the other's"),
    ]


CAUSE = Cause(
    name="amplification_limit",
    title="Amplification limit",
    sentence="its server may send only three times what it received, and waits {dose:.0f} ms for the client",
    source="RFC 9000, 8.1; Nawrocki et al., CoNEXT 2022; base-drafts#3784",
    role="server",
    classes=_CLASSES,
    needs=(),
    detect=detect,
    interventions=interventions,
    cured_by="a resumed session, which needs no certificate",
)
