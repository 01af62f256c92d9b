"""An end has what it waited for and is still at work: in real time, or on a processor of its own."""

from collections.abc import Sequence

from longlook.explain import changes, remedies
from longlook.explain.cause import Cause, Finding, Intervention, Sign, Target, Touches, Untestable
from longlook.explain.ledger import LedgerClass
from longlook.explain.moments import stretches, stretches_shown
from longlook.explain.pair import Pair

_CLASSES = (LedgerClass.CPU,)
_THRESHOLDS = (2, 5, 10)


def detect(pair: Pair) -> Sign | None:
    """Return a sign where the loser's end is longer at work; in virtual time only a processor takes time."""
    more_ns, side = pair.excess_ns(*_CLASSES), pair.loser
    if more_ns <= 0:
        return None
    found = stretches(side, *_CLASSES)
    shown = stretches_shown(side, found, "an acknowledgement has arrived, and the sender has not sent on")
    return Sign(more_ns, shown, dose=found.total_ns / 1e6)


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return less work for the loser: segmentation offload, fewer acknowledgements, ends that compute faster."""
    side = pair.loser
    doses = [
        (
            float(count),
            remedies.tuned(
                side.trial, "client", {"ack_threshold": count}, {}, f"an acknowledgement for {count} packets"
            ),
        )
        for count in _THRESHOLDS
    ]
    found = [
        changes.cure(
            Touches.MECHANISM,
            Target.LOSER,
            remedies.tuned(side.trial, "server", {"gso": True}, {}, "segmentation offload"),
        ),
        changes.cure(Touches.MECHANISM, Target.LOSER, doses[-1][1]),
    ]
    free = [change for role in ("server", "client") for change in remedies.freed(side.trial, role)]
    found += [changes.cure(Touches.MECHANISM, Target.LOSER, change) for change in free]
    return [*found, *changes.doses(Touches.MECHANISM, Target.LOSER, doses)]


CAUSE = Cause(
    name="endpoint_cpu",
    title="Computing at an end",
    sentence="its sender is still at work for {dose:.0f} ms after what it waited for has arrived",
    source="Jaeger et al., QUIC on the Highway, IFIP Networking 2023",
    role="server",
    classes=_CLASSES,
    needs=(),
    detect=detect,
    interventions=interventions,
    cured_by="segmentation offload; fewer acknowledgements; more of a CPU",
)
