"""A middlebox of the path drops packets by a rule: blocked, policed, or cut off."""

from collections.abc import Sequence

from longlook.explain import changes
from longlook.explain.cause import Cause, Finding, Intervention, Says, Sign, Target, Touches, Untestable
from longlook.explain.ledger import LedgerClass
from longlook.explain.moments import SENDER_WAITS
from longlook.explain.pair import Pair
from longlook.explain.signs import dropped_for, drops_shown

_REASONS = {"block": "block", "police": "udp_rate", "cutoff": "udp_cutoff"}
"""Reasons of drops, and the setting that makes each."""
_CLASSES = (LedgerClass.FALLBACK, LedgerClass.HANDSHAKE, *SENDER_WAITS)


def detect(pair: Pair) -> Sign | None:
    """Return a sign where a rule of the path dropped packets of the loser, and the loser waits for longer."""
    side = pair.loser
    for link in (side.down, side.up):
        lost = dropped_for(side, link, *_REASONS)
        if lost.any():
            shown = drops_shown(side, link, lost, "a middlebox drops a packet by its rule")
            return Sign(pair.excess_ns(*_CLASSES), shown, dose=float(lost.sum()))
    return None


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return a path without such rules for both arms."""
    return [
        changes.cure(
            Touches.OCCASION,
            Target.BOTH,
            changes.path(dict.fromkeys(_REASONS.values(), "off"), "no middlebox's rules"),
        )
    ]


CAUSE = Cause(
    name="middlebox",
    title="Rules of a middlebox",
    sentence="where a middlebox drops packets by its rule (about {dose:.0f} a load)",
    source="Flach et al., SIGCOMM 2016 (traffic policing); Kühlewind and Trammell, RFC 8517",
    role="path",
    classes=_CLASSES,
    needs=(),
    detect=detect,
    interventions=interventions,
    cured_by="a path without the rules",
    says=Says.WHERE,
)
