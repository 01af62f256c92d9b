"""The sender spreads its packets although its window, its data and the bottleneck would let it go on."""

from collections.abc import Sequence

from longlook.explain import changes, remedies
from longlook.explain.cause import Cause, Change, Finding, Intervention, Sign, Target, Touches, Untestable
from longlook.explain.ledger import LedgerClass
from longlook.explain.moments import has_state, stretches, stretches_shown
from longlook.explain.pair import Pair

_CLASSES = (LedgerClass.PACING,)
_OF_BBR = "bbr_"


def detect(pair: Pair) -> Sign | None:
    """Return a sign where the loser's pacing leaves the bottleneck idle for longer than the winner's.

    BBR is paced by its model of the path, which is another cause (`model_error`); TCP is paced where it was configured.
    """
    side = pair.loser
    more_ns, waits = pair.excess_ns(*_CLASSES), stretches(side, *_CLASSES)
    paced = changes.over_quic(side.trial) or bool(side.trial.tcp.get("pacing", False))
    if more_ns <= 0 or not paced or has_state(side.server, _OF_BBR):
        return None
    shown = stretches_shown(side, waits, "the window has room and the bottleneck is idle")
    return Sign(more_ns, shown, dose=waits.total_ns / 1e6)


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return no pacing for the loser, and pacing for the winner."""
    return [
        changes.cure(Touches.MECHANISM, Target.LOSER, _paced(pair, False)),
        changes.transplant(Touches.MECHANISM, _paced(pair, True)),
    ]


def _paced(pair: Pair, on: bool) -> Change | str:
    trial = pair.winner.trial if on else pair.loser.trial
    return remedies.tuned(trial, "server", {"pacing": on}, {"tcp_pacing": on}, "pacing" if on else "no pacing")


CAUSE = Cause(
    name="pacing_limited",
    title="Pacing slower than the path",
    sentence="its pacing leaves the bottleneck idle for {dose:.0f} ms",
    source="Aggarwal, Savage and Anderson, INFOCOM 2000; RFC 9002, 7.7; neqo#1463",
    role="server",
    classes=_CLASSES,
    needs=("metrics",),
    detect=detect,
    interventions=interventions,
    cured_by="no pacing; pacing for the winner",
)
