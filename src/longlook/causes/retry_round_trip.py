"""The server answers the client's first packet with a Retry, or with other versions of QUIC."""

from collections.abc import Sequence

import numpy as np

from longlook.core.model import Vantage
from longlook.explain import changes
from longlook.explain.cause import Cause, Change, Evidence, Finding, Intervention, Sign, Target, Touches, Untestable
from longlook.explain.facts import Integers
from longlook.explain.facts.columns import are, integers
from longlook.explain.ledger import LedgerClass
from longlook.explain.moments import during
from longlook.explain.pair import Pair, Side
from longlook.timeline.timeline import Kind

_CLASSES = (LedgerClass.HANDSHAKE,)
_FORMS = {"retry": "a Retry arrives", "version_negotiation": "the server names other versions of QUIC"}


def detect(pair: Pair) -> Sign | None:
    """Return a sign where the loser's handshake has a Retry or a negotiation of versions, and is the longer one."""
    side = pair.loser
    shown = [
        Evidence(int(time_ns) - side.start_ns, text)
        for form, text in _FORMS.items()
        if len(_seen(pair.winner, form)) < len(_seen(side, form))
        for time_ns in _seen(side, form)
    ]
    return Sign(pair.excess_ns(*_CLASSES), tuple(shown), dose=float(len(shown))) if shown else None


def _seen(side: Side, form: str) -> Integers:
    """Return when packets of a form left the link towards the client, in the load."""
    rows = side.timeline.select(Kind.PACKET_DELIVERED, Vantage.LINK)
    times = integers(rows["time_ns"])[are(rows["quic"], form) & are(rows["direction"], "down")]
    return np.sort(times[during(side, times)])


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return no Retry for the loser, and one for the winner."""
    if len(_seen(pair.loser, "retry")) == 0:
        return [
            changes.cure(Touches.MECHANISM, Target.LOSER, "which version of QUIC comes first is no knob of a stack")
        ]
    return [
        changes.cure(Touches.MECHANISM, Target.LOSER, _retrying(pair.loser, False)),
        changes.transplant(Touches.MECHANISM, _retrying(pair.winner, True)),
    ]


def _retrying(side: Side, on: bool) -> Change | str:
    if not changes.over_quic(side.trial):
        return "TCP has no Retry"
    return changes.knob(side.trial, "server", "retry", on, "a Retry" if on else "no Retry")


CAUSE = Cause(
    name="retry_round_trip",
    title="Retry or version negotiation",
    sentence="its server answers the first packet with a Retry or with other versions, which takes a round trip",
    source="RFC 9000, 8.1.2 and 6",
    role="server",
    classes=_CLASSES,
    needs=(),
    detect=detect,
    interventions=interventions,
    cured_by="no Retry; a Retry for the winner",
)
