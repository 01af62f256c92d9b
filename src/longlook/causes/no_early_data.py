"""The winner sends its first request with its first packets (early data), and the loser after its handshake."""

from collections.abc import Sequence

import numpy as np

from longlook.core.model import ConnectionState
from longlook.explain import changes
from longlook.explain.cause import Cause, Change, Evidence, Finding, Intervention, Sign, Target, Touches, Untestable
from longlook.explain.ledger import LedgerClass
from longlook.explain.moments import bounded_ns, during, numbers
from longlook.explain.pair import Pair, Side

_CLASSES = (LedgerClass.HANDSHAKE,)


def detect(pair: Pair) -> Sign | None:
    """Return a sign where the winner sends early data, the loser sends none, and its handshake costs it more time."""
    sent, link = _early(pair.winner), pair.winner.up
    if not sent.any() or _early(pair.loser).any():
        return None
    first = int(np.flatnonzero(sent)[0])
    text = "the other arm sends its first request as early data, and this arm sends none"
    shown = Evidence(int(link.arrival_ns[first]) - pair.winner.start_ns, text, numbers(link, sent)[:1])
    return Sign(bounded_ns(pair, pair.winner.round_trip_ns, *_CLASSES), (shown,))


def _early(side: Side) -> np.ndarray:
    return np.asarray(side.up.ours & side.up.early & during(side, side.up.arrival_ns), np.bool_)


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return early data for the loser, and none for the winner."""
    early: Change | str = "these programs have no early data over TCP: a resumed session takes as long as a new one"
    if changes.has_early_data(pair.loser.trial):
        early = Change("early data on a resumed connection", {"connection": str(ConnectionState.ZERO_RTT)})
    without = Change("no early data", {"connection": str(ConnectionState.RESUMED)})
    return [changes.cure(Touches.MECHANISM, Target.LOSER, early), changes.transplant(Touches.MECHANISM, without)]


CAUSE = Cause(
    name="no_early_data",
    title="No early data",
    sentence="it sends its first request after the handshake, and the other arm with its first packets (early data)",
    source="RFC 8446, 2.3; RFC 9001, 4.6; Langley et al., SIGCOMM 2017, 3.1",
    role="client",
    classes=_CLASSES,
    needs=(),
    detect=detect,
    interventions=interventions,
    cured_by="early data; none for the winner",
)
