"""A client that chooses between QUIC and TCP waits for QUIC, which brings nothing, before it tries TCP."""

from collections.abc import Sequence

from longlook.explain import changes
from longlook.explain.cause import Cause, Finding, Intervention, Sign, Target, Touches, Untestable
from longlook.explain.ledger import LedgerClass
from longlook.explain.moments import stretches, stretches_shown
from longlook.explain.pair import Pair

_CLASSES = (LedgerClass.FALLBACK,)
_SILENCE_S, _ROUND_TRIPS = 0.2, 3.0
"""The silence after which the cure gives QUIC up: longer than any answer on a path that works takes to begin."""


def detect(pair: Pair) -> Sign | None:
    """Return a sign where the loser's client waits for QUIC for longer than the winner's before it tries TCP."""
    more_ns, side = pair.excess_ns(*_CLASSES), pair.loser
    if more_ns <= 0:
        return None
    found = stretches(side, *_CLASSES)
    shown = stretches_shown(side, found, "nothing comes over QUIC, and TCP is not tried yet")
    return Sign(more_ns, shown, dose=found.total_ns / 1e6)


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return TCP from the start, and TCP after a short silence of QUIC, for the loser."""
    trial = pair.loser.trial
    at_once = changes.knob(trial, "client", "fallback_delay", 0.0, "TCP tried from the start")
    silence_s = round(max(_SILENCE_S, _ROUND_TRIPS * pair.loser.round_trip_ns / 1e9), 3)
    early = changes.knob(trial, "client", "stall_timeout", silence_s, f"TCP after {silence_s:g} s without data of QUIC")
    return [changes.cure(Touches.MECHANISM, Target.LOSER, change) for change in (at_once, early)]


CAUSE = Cause(
    name="late_fallback",
    title="Late fallback",
    sentence="its client waits {dose:.0f} ms for QUIC, which brings nothing, before it tries TCP",
    source="RFC 8305, 5; Langley et al., SIGCOMM 2017, section 7.5",
    role="client",
    classes=_CLASSES,
    needs=(),
    detect=detect,
    interventions=interventions,
    cured_by="TCP from the start; TCP after a short silence",
)
