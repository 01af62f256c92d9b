"""The winner's congestion controller acts for several connections, the loser's for one."""

from collections.abc import Sequence

from longlook.explain import changes
from longlook.explain.cause import Cause, Change, Evidence, Finding, Intervention, Sign, Target, Touches, Untestable
from longlook.explain.ledger import LedgerClass
from longlook.explain.pair import Pair, Side

_KNOB = "emulated_connections"
_CLASSES = (LedgerClass.CONGESTION_WINDOW, LedgerClass.ACK_WAIT)


def detect(pair: Pair) -> Sign | None:
    """Return a sign where the winner emulates more connections than the loser, and the loser waits for its window."""
    own, other = emulated(pair.loser), emulated(pair.winner)
    if own >= other:
        return None
    shown = Evidence(0, f"the sender acts for {own} connection, the other arm's for {other}")
    return Sign(pair.excess_ns(*_CLASSES), (shown,), dose=float(own))


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return the winner's number for the loser, the loser's for the winner."""
    return [
        changes.cure(Touches.MECHANISM, Target.LOSER, _emulating(pair.loser, emulated(pair.winner))),
        changes.transplant(Touches.MECHANISM, _emulating(pair.winner, emulated(pair.loser))),
    ]


def emulated(side: Side) -> int:
    """Return for how many connections a server's controller acts: as configured, else 1."""
    return int(side.trial.server.knobs.get(_KNOB, 1))


def _emulating(side: Side, count: int) -> Change | str:
    return changes.knob(side.trial, "server", _KNOB, count, f"a controller for {count} connection{'s' * (count != 1)}")


CAUSE = Cause(
    name="emulated_connections",
    title="Fewer emulated connections",
    sentence="its congestion controller acts for fewer connections than the other arm's",
    source="Kakhki et al., IMC 2017, 5.1",
    role="server",
    classes=_CLASSES,
    needs=(),
    detect=detect,
    interventions=interventions,
    cured_by="as many emulated connections as the winner has",
)
