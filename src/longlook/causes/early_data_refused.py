"""The client sends early data, and the server refuses it."""

from collections.abc import Sequence

import numpy as np

from longlook.core.model import ConnectionState
from longlook.explain import changes
from longlook.explain.cause import Cause, Change, Evidence, Finding, Intervention, Sign, Target, Touches, Untestable
from longlook.explain.facts.columns import are
from longlook.explain.ledger import LedgerClass
from longlook.explain.moments import during, numbers
from longlook.explain.pair import Pair
from longlook.timeline.timeline import Kind

_CLASSES = (LedgerClass.HANDSHAKE, LedgerClass.REQUEST, LedgerClass.SERVER_THINK)


def detect(pair: Pair) -> Sign | None:
    """Return a sign where the loser's client sent early data and its handshake ended without."""
    side, link = pair.loser, pair.loser.up
    sent = link.ours & link.early & during(side, link.arrival_ns)
    done = side.timeline.select(Kind.HANDSHAKE_DONE, "client")
    if not sent.any() or done.num_rows == 0 or are(done["name"], ConnectionState.ZERO_RTT).any():
        return None
    first = int(np.flatnonzero(sent)[0])
    shown = Evidence(
        int(link.arrival_ns[first]) - side.start_ns, "early data is sent that does not count", numbers(link, sent)[:1]
    )
    return Sign(pair.excess_ns(*_CLASSES), (shown,), dose=float(sent.sum()))


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return a server that accepts early data for the loser, and none sent in the winner."""
    accepts = changes.knob(pair.loser.trial, "server", "allow_0rtt", True, "early data accepted")
    without: Change | str = "the winner sends no early data"
    if pair.winner.trial.connection is ConnectionState.ZERO_RTT:
        without = Change("no early data", {"connection": str(ConnectionState.RESUMED)})
    return [changes.cure(Touches.MECHANISM, Target.LOSER, accepts), changes.transplant(Touches.MECHANISM, without)]


CAUSE = Cause(
    name="early_data_refused",
    title="Early data refused",
    sentence="its early data (packets: {dose:.0f}) is refused by the server and sent again after the handshake",
    source="RFC 9001, 4.6.2",
    role="server",
    classes=_CLASSES,
    needs=(),
    detect=detect,
    interventions=interventions,
    cured_by="a server that accepts early data",
)
