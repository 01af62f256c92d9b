"""The sender keeps a smaller share of its window after a loss than the other one."""

from collections.abc import Sequence
from statistics import median

from longlook.explain import changes, remedies
from longlook.explain.cause import Cause, Change, Evidence, Finding, Intervention, Sign, Target, Touches, Untestable
from longlook.explain.ledger import LedgerClass
from longlook.explain.pair import Pair, Side
from longlook.explain.signs import windows_kept

_CLASSES = (LedgerClass.CONGESTION_WINDOW, LedgerClass.ACK_WAIT)
_SMALLER = 0.05
_RANGE = (0.1, 0.99)
_STANDARD = (0.5, 0.7)
"""What Reno (RFC 5681, 3.1) and Cubic (RFC 9438, 4.6) keep. What a log shows is a little off, as windows go on growing
and count whole packets."""


def detect(pair: Pair) -> Sign | None:
    """Return a sign where the loser keeps less of its window at its losses than the winner, in the median."""
    own, other = windows_kept(pair.loser), windows_kept(pair.winner)
    if not own or not other or median(own) > median(other) - _SMALLER:
        return None
    shown = Evidence(0, f"of the window {median(own):.2f} is left after a loss, of the other arm's {median(other):.2f}")
    return Sign(pair.excess_ns(*_CLASSES), (shown,), dose=median(own))


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return the winner's share for the loser, the loser's for the winner, and shares around them as doses."""
    own, other = median(windows_kept(pair.loser)), _meant(median(windows_kept(pair.winner)))
    doses = [(share, _kept(pair.loser, share)) for share in sorted({0.5, round((own + other) / 2, 2), 0.9})]
    return [
        changes.cure(Touches.MECHANISM, Target.LOSER, _kept(pair.loser, other)),
        changes.transplant(Touches.MECHANISM, _kept(pair.winner, own)),
        *changes.doses(Touches.MECHANISM, Target.LOSER, doses),
    ]


def _meant(share: float) -> float:
    """Return the standard's share where a measured one is close to it, else the measured one."""
    return next((standard for standard in _STANDARD if abs(share - standard) < _SMALLER), share)


def _kept(side: Side, share: float) -> Change | str:
    share = round(min(max(share, _RANGE[0]), _RANGE[1]), 2)
    label = f"{share:g} of the window left after a loss"
    return remedies.tuned(side.trial, "server", {"window_after_loss": share}, {"tcp_window_after_loss": share}, label)


CAUSE = Cause(
    name="window_after_loss",
    title="Larger cut at a loss",
    sentence="it keeps only {dose:.2f} of its window at a loss",
    source="RFC 9438, 4.6; RFC 9002, 7.3.2; Kakhki et al., IMC 2017, 5.1",
    role="server",
    classes=_CLASSES,
    needs=("metrics", "state"),
    detect=detect,
    interventions=interventions,
    cured_by="the winner's share of the window after a loss",
)
