"""The server may send no more to an address that is not validated yet, and waits for the client."""

from collections.abc import Sequence

import numpy as np

from longlook.core.model import ConnectionState
from longlook.explain import changes, remedies
from longlook.explain.cause import (
    Cause,
    Change,
    Finding,
    Intervention,
    Says,
    Sign,
    Surgery,
    Target,
    Touches,
    Untestable,
)
from longlook.explain.ledger import LedgerClass
from longlook.explain.ledger.handshake import AMPLIFICATION
from longlook.explain.moments import hold, stretches, stretches_shown
from longlook.explain.pair import Pair

_CLASSES = (LedgerClass.HANDSHAKE,)


def detect(pair: Pair) -> Sign | None:
    """Return a sign where the loser's server waits longer at three times what it received, in a longer handshake."""
    side = pair.loser
    more_ns = min(pair.excess_detail_ns(LedgerClass.HANDSHAKE, AMPLIFICATION), pair.excess_ns(*_CLASSES))
    waits = stretches(side, *_CLASSES, detail=AMPLIFICATION)
    if more_ns <= 0:
        return None
    shown = stretches_shown(
        side, waits, "the server has sent three times what it received, and more to send, and waits"
    )
    return Sign(more_ns, shown, dose=waits.total_ns / 1e6, transplant=_held(pair, int(waits.begin_ns[0]), more_ns))


def _held(pair: Pair, wait_ns: int, time_ns: int) -> Surgery | None:
    """Return surgery that holds back for a time what the winner's server sends at first beyond as many bytes as the
    loser's had sent when it began to wait; None where it sends no more.
    """
    own, link = pair.loser.down, pair.winner.down
    sent_bytes = int(own.payload_bytes[own.ours & (own.arrival_ns <= wait_ns)].sum())
    theirs = np.flatnonzero(link.ours & ~link.copy)
    beyond = theirs[np.cumsum(link.payload_bytes[theirs]) > sent_bytes]
    if len(beyond) == 0:
        return None
    flight = beyond[link.arrival_ns[beyond] < link.arrival_ns[beyond[0]] + time_ns]
    return Surgery(down=hold(link, flight, time_ns))


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return a resumed session for the loser, in which the server sends no certificate; the wait, for the winner."""
    resumed: Change | str = "the session is resumed already: there is no certificate to leave out"
    if pair.loser.trial.connection is ConnectionState.COLD:
        resumed = Change("a resumed session, without a certificate", {"connection": str(ConnectionState.RESUMED)})
    return [
        changes.cure(Touches.OCCASION, Target.LOSER, resumed),
        changes.transplant(
            Touches.OCCASION,
            remedies.inflicted(
                finding,
                "what its server sends beyond as many bytes held back for as long as the loser's waits",
                "the winner's server sends no more than that",
            ),
        ),
    ]


CAUSE = Cause(
    name="amplification_limit",
    title="Amplification limit",
    sentence="where its server may send only three times what it received, and waits {dose:.0f} ms for the client",
    source="RFC 9000, 8.1; Nawrocki et al., CoNEXT 2022; base-drafts#3784",
    role="server",
    classes=_CLASSES,
    needs=(),
    detect=detect,
    interventions=interventions,
    cured_by="a resumed session, which needs no certificate; the winner's server kept waiting as long",
    says=Says.WHERE,
)
