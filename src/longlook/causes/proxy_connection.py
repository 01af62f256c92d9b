"""A proxy opens a connection of its own to the server before it can ask for anything."""

from collections.abc import Sequence

from longlook.explain import changes
from longlook.explain.cause import Cause, Finding, Intervention, Sign, Target, Touches, Untestable
from longlook.explain.ledger import BEHIND_PROXY, LedgerClass
from longlook.explain.moments import stretches, stretches_shown
from longlook.explain.pair import Pair, Side

_CLASSES = (LedgerClass.HANDSHAKE,)


def detect(pair: Pair) -> Sign | None:
    """Return a sign where the loser's proxy is longer at the handshake with the server than the winner's, if any."""
    own, others = (_details(side) for side in (pair.loser, pair.winner))
    more_ns = sum(own.values()) - sum(others.values())
    if more_ns <= 0:
        return None
    longest = max(own, key=lambda detail: own[detail])
    found = stretches(pair.loser, *_CLASSES, detail=longest)
    shown = stretches_shown(pair.loser, found, "the proxy is at its handshake with the server")
    return Sign(more_ns, shown, dose=sum(own.values()) / 1e6)


def _details(side: Side) -> dict[str, int]:
    details = side.ledger.details(LedgerClass.HANDSHAKE)
    return {text: lasts_ns for text, lasts_ns in details.items() if text is not None and text.startswith(BEHIND_PROXY)}


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return a connection that is open already, early data on it, and no proxy, for the loser."""
    trial = pair.loser.trial
    warm = changes.knob(trial, "proxy", "upstream_connections", "warm", "a connection behind the proxy that is open")
    early = changes.knob(trial, "proxy", "upstream_0rtt", True, "early data behind the proxy")
    without = changes.without_proxy(trial, "no proxy")
    return [
        *(changes.cure(Touches.MECHANISM, Target.LOSER, change) for change in (warm, early)),
        changes.cure(Touches.OCCASION, Target.LOSER, without),
    ]


CAUSE = Cause(
    name="proxy_connection",
    title="The proxy's own connection",
    sentence="its proxy is {dose:.0f} ms at a handshake with the server before it can ask for anything",
    source="Kakhki et al., IMC 2017, fig. 18 (a proxy without 0-RTT)",
    role="path",
    classes=_CLASSES,
    needs=(),
    detect=detect,
    interventions=interventions,
    cured_by="a connection behind the proxy that is open already; early data on it; no proxy",
    where="while its proxy opens a connection of its own to the server",
)
