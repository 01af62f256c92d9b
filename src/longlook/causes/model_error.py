"""BBR sends less than the path carries, because its model of the path is wrong."""

from collections.abc import Sequence

import numpy as np

from longlook.explain import changes, remedies
from longlook.explain.cause import Cause, Evidence, Finding, Intervention, Sign, Target, Touches, Untestable
from longlook.explain.ledger import LedgerClass
from longlook.explain.moments import has_state
from longlook.explain.pair import Pair, Side
from longlook.explain.signs import within

_CLASSES = (LedgerClass.PACING, LedgerClass.CONGESTION_WINDOW, LedgerClass.ACK_WAIT)
_BELOW = 0.9
_STARTING = ("bbr_startup",)
_STEADY = {"jitter": "0ms"}


def detect(pair: Pair) -> Sign | None:
    """Return a sign where the loser's sender is BBR's and paces below 0.9 of the path's rate, in the median."""
    share = paced_share(pair.loser)
    if share is None or share >= _BELOW:
        return None
    shown = Evidence(0, f"after its start-up it sends at {share:.2f} of the path's rate, in the median")
    return Sign(pair.excess_ns(*_CLASSES), (shown,), dose=share)


def paced_share(side: Side) -> float | None:
    """Return BBR's median pacing rate behind its first start-up as a share of the path's; None for other senders."""
    sender, rate_bps = side.server, side.down.rate_bps
    if sender is None or sender.pacing is None or sender.state is None or not rate_bps or not has_state(sender, "bbr_"):
        return None
    codes = [code for code, name in enumerate(sender.states) if name in _STARTING]
    states = within(side, sender.state)
    beyond = states.time_ns[~np.isin(states.value, codes)]
    began = states.time_ns[np.isin(states.value, codes)]
    pacing = within(side, sender.pacing)
    since_ns = int(beyond[beyond > began[0]][0]) if len(began) and (beyond > began[0]).any() else side.start_ns
    later = pacing.value[pacing.time_ns >= since_ns]
    return float(np.median(later)) / rate_bps if len(later) else None


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return another controller for the loser, BBR for the winner, and a path whose round trip time does not vary."""
    found = [
        changes.cure(Touches.MECHANISM, Target.LOSER, change) for change in remedies.other_controllers(pair.loser)[:1]
    ]
    label = "bbr as congestion control"
    bbr = remedies.tuned(
        pair.winner.trial, "server", {"congestion_control": "bbr"}, {"congestion_control": "bbr"}, label
    )
    found.append(changes.transplant(Touches.MECHANISM, bbr))
    if remedies.has_stage(pair.loser, "jitter"):
        found.append(changes.cure(Touches.OCCASION, Target.BOTH, changes.path(_STEADY, "no jitter")))
    return found


CAUSE = Cause(
    name="model_error",
    title="BBR's model of the path",
    sentence="its BBR sends at only {dose:.2f} of the path's rate, which its model takes for all of it",
    source="Cardwell et al., 2016; Ware et al., IMC 2019; draft-ietf-ccwg-bbr",
    role="server",
    classes=_CLASSES,
    needs=("metrics", "state"),
    detect=detect,
    interventions=interventions,
    cured_by="another controller; a constant round trip time",
    where="where the round trip time of the path varies",
)
