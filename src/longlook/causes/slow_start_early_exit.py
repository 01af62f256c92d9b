"""The sender leaves slow start long before it fills the path, although nothing was lost."""

from collections.abc import Sequence

from longlook.explain import changes, remedies
from longlook.explain.cause import Cause, Evidence, Finding, Intervention, Sign, Target, Touches, Untestable
from longlook.explain.ledger import LedgerClass
from longlook.explain.moments import SlowStartExit, drops, slow_start_exit
from longlook.explain.pair import Pair, Side
from longlook.explain.signs import bdp_bytes, largest_window_bytes
from longlook.timeline.states import State

_CLASSES = (LedgerClass.CONGESTION_WINDOW, LedgerClass.ACK_WAIT, LedgerClass.PACING)
_FULL = 0.8
_STEADY = {"jitter": "0ms"}


def detect(pair: Pair) -> Sign | None:
    """Return a sign where the loser's slow start ends below 0.8 of the bandwidth-delay product with no drop
    before.
    """
    side = pair.loser
    left, product = early_exit(side), bdp_bytes(side)
    if left is None or product is None:
        return None
    text = f"slow start ends at {left.window_bytes} bytes, {left.window_bytes / product:.2f} of what the path holds"
    shown = Evidence(left.time_ns - side.start_ns, f"{text}, with nothing lost")
    return Sign(pair.excess_ns(*_CLASSES), (shown,), dose=float(left.window_bytes))


def early_exit(side: Side) -> SlowStartExit | None:
    """Return the end of slow start where it came too early; None where it did not."""
    left, product = slow_start_exit(side), bdp_bytes(side)
    if left is None or product is None or side.server is None or left.state != State.CONGESTION_AVOIDANCE:
        return None
    if (largest_window_bytes(side.server) or 0) <= left.window_bytes:
        return None  # it cannot grow: the window is capped
    lost = (side.down.arrival_ns[drops(side, side.down)] <= left.time_ns).any()
    declared = (side.server.lost.time_ns <= left.time_ns).any()
    return None if lost or declared or not 0 < left.window_bytes < _FULL * product else left


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return slow start without HyStart, or until twice the path's product, for the loser, a path without jitter, and
    earlier ends of slow start as doses; for the winner an end as early as the loser's.
    """
    side = pair.loser
    product = bdp_bytes(side) or 0.0
    found = [
        changes.cure(Touches.MECHANISM, Target.LOSER, remedies.with_hystart(side, on=False)),
        changes.cure(Touches.MECHANISM, Target.LOSER, remedies.slow_start_until(side, 2 * product), 2.0),
        changes.transplant(Touches.MECHANISM, remedies.slow_start_until(pair.winner, finding.dose or 0.0)),
    ]
    if remedies.has_stage(side, "jitter"):
        found.append(changes.cure(Touches.OCCASION, Target.BOTH, changes.path(_STEADY, "no jitter")))
    doses = [(share, remedies.slow_start_until(side, share * product)) for share in (0.5, 1.0)]
    return [*found, *changes.doses(Touches.MECHANISM, Target.LOSER, doses)]


CAUSE = Cause(
    name="slow_start_early_exit",
    title="Slow start ends too early",
    sentence="it leaves slow start at {size} without a loss, long before it fills the path",
    source="Ha and Rhee, Computer Networks 2011 (HyStart); RFC 9406, 4.3; Balasubramanian et al., 2020",
    role="server",
    classes=_CLASSES,
    needs=("metrics", "state"),
    detect=detect,
    interventions=interventions,
    cured_by="HyStart off; slow start until two bandwidth-delay products; no jitter",
    where="where the round trip time of the path varies",
)
