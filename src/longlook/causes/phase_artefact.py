"""Which arm's packet finds the queue full is decided by fractions of a packet's time, which no real end repeats."""

from collections.abc import Sequence

from longlook.explain import changes, remedies
from longlook.explain.cause import Cause, Finding, Intervention, Says, Sign, Target, Touches, Untestable
from longlook.explain.moments import SENDER_WAITS
from longlook.explain.pair import Pair
from longlook.explain.signs import QUEUE_REASONS, RANDOM_REASONS, dropped_for, drops_shown

_MOVING = ("access", "jitter")


def detect(pair: Pair) -> Sign | None:
    """Return a sign where a drop-tail queue drops more of the loser's packets and nothing moves their phase.

    An access delay, jitter and losses move it within a trial, and settings that rounds draw move it between them.
    """
    side = pair.loser
    lost = dropped_for(side, side.down, *QUEUE_REASONS)
    others = dropped_for(pair.winner, pair.winner.down, *QUEUE_REASONS)
    moved = remedies.has_stage(side, *_MOVING, *RANDOM_REASONS) or side.trial.drawn
    if lost.sum() <= others.sum() or moved or not remedies.has_stage(side, "rate"):
        return None
    shown = drops_shown(side, side.down, lost, "a packet finds the queue full, by less than one packet's time")
    return Sign(pair.excess_ns(*SENDER_WAITS), shown, dose=float(lost.sum()))


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return senders that wait up to a packet's time at random, for both arms."""
    delayed = remedies.both_ways({"access_delay": "packet"}, "a random delay of up to a packet's time at the senders")
    return [changes.cure(Touches.OCCASION, Target.BOTH, delayed)]


CAUSE = Cause(
    name="phase_artefact",
    title="Phase effect",
    sentence="where packets meet a full queue in a rhythm that senders without noise never leave",
    source="Floyd and Jacobson, 1991, Traffic phase effects in packet-switched gateways",
    role="path",
    classes=SENDER_WAITS,
    needs=(),
    detect=detect,
    interventions=interventions,
    cured_by="a random delay at the senders",
    says=Says.WHERE,
)
