"""Later declarations of loss than a sender makes, by the thresholds that it has in force. Pure."""

from longlook.core.model import Scalar
from longlook.explain import changes, remedies
from longlook.explain.cause import Change, Intervention, Target, Touches
from longlook.explain.changes import Proposal
from longlook.explain.effective_settings import raised
from longlook.explain.pair import Side

_TIMES = (3.0, 10.0, 30.0, 100.0)
_LOWER = 1 / 3
"""One dose is stricter than the sender, so that doses lie on both sides of its own value."""
_LEAST_PACKETS = 3
"""What RFC 9002 and RFC 5681 begin with; fewer would be another mechanism."""
_TIMES_AS_OLD = 4.0


def later_losses(side: Side) -> list[Proposal]:
    """Return higher thresholds for the loser's server: packets as cure and as doses, and age as a cure of its own.

    A packet is lost by whichever threshold is met first, so that either may hide the other: the second cure raises all.
    """
    found = {factor: _declared(side, factor) for factor in (_LOWER, *_TIMES)}
    packets = [found[factor] for factor in _TIMES]
    most = next((change for change in reversed(packets) if isinstance(change, Change)), packets[-1])
    made: list[Proposal] = [changes.cure(Touches.MECHANISM, Target.LOSER, most)]
    if changes.over_quic(side.trial):
        made.append(changes.cure(Touches.MECHANISM, Target.LOSER, _older(side)))
    doses = {_count(change): change for change in found.values() if isinstance(change, Change)}
    listed = changes.doses(Touches.MECHANISM, Target.LOSER, sorted(doses.items()))
    return [*made, *(item for item in listed if isinstance(item, Intervention))]


def _declared(side: Side, factor: float) -> Change | str:
    name = "packet_threshold" if changes.over_quic(side.trial) else "tcp_reordering"
    value = raised(side, name, factor)
    if isinstance(value, str):
        return value
    if value < _LEAST_PACKETS:
        return f"fewer than {_LEAST_PACKETS} later packets are no threshold of a standard"
    label = f"a loss declared after {value:g} later packets"
    return remedies.tuned(side.trial, "server", {"packet_threshold": value}, {"tcp_reordering": value}, label)


def _count(change: Change) -> float:
    return float(next(value for key, value in change.settings.items() if key.endswith(("_threshold", "_reordering"))))


def _older(side: Side) -> Change | str:
    """Return both thresholds raised as far as they can be; why not, if the age cannot."""
    age, packets = raised(side, "time_threshold", _TIMES_AS_OLD), raised(side, "packet_threshold", _TIMES[-1])
    if isinstance(age, str):
        return age
    knobs: dict[str, Scalar] = {"time_threshold": age}
    if not isinstance(packets, str):
        knobs["packet_threshold"] = packets
    return remedies.tuned(side.trial, "server", knobs, {}, f"a loss declared after {age:g} round trips")
