"""The server allows fewer requests at once than the client wants to send."""

from collections.abc import Sequence

import numpy as np

from longlook.explain import changes
from longlook.explain.cause import Cause, Change, Evidence, Finding, Intervention, Sign, Target, Touches, Untestable
from longlook.explain.credit import LARGER
from longlook.explain.effective_settings import effective_value
from longlook.explain.ledger import LedgerClass
from longlook.explain.moments import during
from longlook.explain.pair import Pair, Side
from longlook.explain.signs import MOST_EVIDENCE

_CLASSES = (
    LedgerClass.STREAM_IDS,
    LedgerClass.REQUEST,
    LedgerClass.SERVER_THINK,
    LedgerClass.APPLICATION,
    LedgerClass.CLIENT_IDLE,
)
"""While a request waits for a stream, the server has nothing to do for it, whatever it does for others."""
_LIMITS = ("streams_bidi", "streams_uni")


def detect(pair: Pair) -> Sign | None:
    """Return a sign where the loser's client met its limit of streams, and its requests wait for longer."""
    side, client = pair.loser, pair.loser.client
    if client is None:
        return None
    met = np.flatnonzero(
        client.blocked.named(*_LIMITS) & during(side, client.blocked.time_ns) & ~np.isnan(client.blocked.value)
    )
    if len(met) == 0:
        return None
    shown = tuple(
        Evidence(int(client.blocked.time_ns[place]) - side.start_ns, _met(client.blocked.value[place]))
        for place in met[:MOST_EVIDENCE]
    )
    return Sign(pair.excess_ns(*_CLASSES), shown, dose=float(client.blocked.value[met[0]]))


def _met(limit: float) -> str:
    return f"no stream is left of {limit:.0f} for the next request"


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return limits up to eight times as large for the loser's server, and the loser's limit for the winner's."""
    own = max(1, int(finding.dose or 1))
    most = max(own, int(effective_value(pair.loser, "server", "max_incoming_streams") or 0))
    larger = [(float(factor), _allowed(pair.loser, factor * most)) for factor in LARGER]
    return [
        changes.cure(Touches.MECHANISM, Target.LOSER, larger[-1][1]),
        changes.transplant(Touches.MECHANISM, _allowed(pair.winner, own)),
        *changes.doses(Touches.MECHANISM, Target.LOSER, larger),
    ]


def _allowed(side: Side, count: int) -> Change | str:
    label = f"{count} requests allowed at once"
    return changes.knob(side.trial, "server", "max_incoming_streams", count, label)


CAUSE = Cause(
    name="stream_ids",
    title="Few streams allowed",
    sentence="too few of its requests ({dose:.0f} at first) may be under way at once",
    source="Kakhki et al., IMC 2017, 4.1 (MSPC); RFC 9000, 4.6",
    role="server",
    classes=_CLASSES,
    needs=("blocked",),
    detect=detect,
    interventions=interventions,
    cured_by="eight times as many streams",
)
