"""The congestion window stays at its minimum though acknowledgements arrive and nothing is lost."""

from collections.abc import Sequence

import numpy as np

from longlook.explain import changes, remedies
from longlook.explain.cause import Cause, Finding, Intervention, Sign, Target, Touches, Untestable
from longlook.explain.ledger import LedgerClass
from longlook.explain.moments import Stretches, bounded_ns, datagram_bytes, stretches_shown
from longlook.explain.pair import Pair, Side

_CLASSES = (LedgerClass.CONGESTION_WINDOW, LedgerClass.PACING, LedgerClass.ACK_WAIT)
_ROUND_TRIPS = 10
_SMALLEST_PACKETS = 4


def detect(pair: Pair) -> Sign | None:
    """Return a sign where the loser's window stays below four packets for ten round trips without a loss."""
    found = pinned(pair.loser)
    if found is None or len(found) == 0:
        return None
    shown = stretches_shown(pair.loser, found, "the window stays at its minimum, and packets are acknowledged")
    return Sign(bounded_ns(pair, found.total_ns, *_CLASSES), shown, dose=found.total_ns / 1e6)


def pinned(side: Side) -> Stretches | None:
    """Return the times at which the server's window stays at its minimum for no reason; None where no log has it."""
    sender = side.server
    if sender is None or sender.window is None:
        return None
    first_ns, last_ns = side.ledger.span_ns
    changed = np.concatenate([[True], np.diff(sender.window.value) != 0])
    begins, values = sender.window.time_ns[changed], sender.window.value[changed]
    ends = np.append(begins[1:], last_ns)
    begins, ends = np.maximum(begins, first_ns), np.minimum(ends, last_ns)
    small = (values <= _SMALLEST_PACKETS * datagram_bytes(side)) & (ends - begins >= _ROUND_TRIPS * side.round_trip_ns)
    small &= _count(sender.lost.time_ns, begins, ends) == 0
    small &= _count(sender.acked.time_ns, begins, ends) > _ROUND_TRIPS
    return Stretches(begins[small], ends[small])


def _count(times_ns: np.ndarray, begins_ns: np.ndarray, ends_ns: np.ndarray) -> np.ndarray:
    ordered = np.sort(times_ns)
    return np.searchsorted(ordered, ends_ns, side="left") - np.searchsorted(ordered, begins_ns, side="right")


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return a larger smallest window, another controller and another version for the loser."""
    side = pair.loser
    doses = [
        (float(count), changes.knob(side.trial, "server", "min_window", count, f"a window of {count} packets at least"))
        for count in (4, 10, 20)
    ]
    return [
        changes.cure(Touches.MECHANISM, Target.LOSER, doses[-1][1]),
        *(changes.cure(Touches.MECHANISM, Target.LOSER, change) for change in remedies.other_controllers(side)[:1]),
        changes.cure(Touches.PROGRAM, Target.LOSER, remedies.other_version(side, "server")),
        *changes.doses(Touches.MECHANISM, Target.LOSER, doses),
    ]


CAUSE = Cause(
    name="window_pinned",
    title="Window stays at its minimum",
    sentence="its congestion window stays at its minimum for {dose:.0f} ms, although nothing is lost",
    source="a fault of quiche's Cubic, published in May 2026",
    role="server",
    classes=_CLASSES,
    needs=("metrics", "packet_acked"),
    detect=detect,
    interventions=interventions,
    cured_by="a larger minimum; another controller; another version",
)
