"""The sender takes the path's round trip for much longer than the link shows."""

from collections.abc import Sequence

import numpy as np

from longlook.explain import changes, remedies
from longlook.explain.cause import Cause, Change, Evidence, Finding, Intervention, Sign, Target, Touches, Untestable
from longlook.explain.facts import LinkFacts
from longlook.explain.ledger import LedgerClass
from longlook.explain.moments import wait_ns
from longlook.explain.pair import Pair, Side
from longlook.explain.signs import within

_CLASSES = (LedgerClass.TIMER, LedgerClass.LOSS_DETECTION, LedgerClass.PACING)
_TOO_LONG = 1.5
_LEAST_NS = 10_000_000
_DELAYS_S = (0.001, 0.005, 0.025)


def detect(pair: Pair) -> Sign | None:
    """Return a sign where the loser's smoothed round trip is 1.5 times as long as on the wire, on average, or more."""
    found = estimate_and_truth_ns(pair.loser)
    if found is None:
        return None
    estimate_ns, truth_ns = found
    if estimate_ns < _TOO_LONG * truth_ns or estimate_ns < truth_ns + _LEAST_NS:
        return None
    text = f"the sender takes a round trip for {estimate_ns / 1e6:.1f} ms, on the wire it is {truth_ns / 1e6:.1f} ms"
    return Sign(pair.excess_ns(*_CLASSES), (Evidence(0, text),), dose=estimate_ns / truth_ns)


def estimate_and_truth_ns(side: Side) -> tuple[float, float] | None:
    """Return the server's mean smoothed round trip time, and that of the wire with its queues at the same times."""
    sender = side.server
    if sender is None or sender.smoothed_rtt is None:
        return None
    estimate = within(side, sender.smoothed_rtt)
    if len(estimate.time_ns) == 0 or side.round_trip_ns == 0:
        return None
    waits = _waits(side.down, estimate.time_ns) + _waits(side.up, estimate.time_ns)
    return float(estimate.value.mean()), side.round_trip_ns + float(waits.mean())


def _waits(link: LinkFacts, times_ns: np.ndarray) -> np.ndarray:
    """Return how long the last packet that left a direction at some times had waited, its own service included."""
    own = np.flatnonzero(link.ours & link.delivered)
    if len(own) == 0:
        return np.zeros(len(times_ns))
    own = own[np.argsort(link.departure_ns[own], kind="stable")]
    served = (wait_ns(link) + np.where(link.delivered, link.service_end_ns - link.service_start_ns, 0))[own]
    place = np.searchsorted(link.departure_ns[own], times_ns, side="right") - 1
    return np.where(place >= 0, served[np.maximum(place, 0)], 0)


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return a client that delays no acknowledgement for the loser, and one that delays them for the winner."""
    doses = [(delay_s, _delayed(pair.loser, delay_s)) for delay_s in _DELAYS_S]
    at_once = remedies.tuned(
        pair.loser.trial, "client", {"ack_threshold": 1}, {"tcp_quickack": True}, "every packet acknowledged at once"
    )
    return [
        changes.cure(Touches.MECHANISM, Target.LOSER, at_once),
        changes.transplant(Touches.MECHANISM, _delayed(pair.winner, 0.2)),
        *changes.doses(Touches.MECHANISM, Target.LOSER, doses),
    ]


def _delayed(side: Side, delay_s: float) -> Change | str:
    label = f"acknowledgements delayed by {1000 * delay_s:g} ms at most"
    return remedies.tuned(side.trial, "client", {"max_ack_delay": delay_s}, {}, label)


CAUSE = Cause(
    name="rtt_overestimated",
    title="Round trip time overestimated",
    sentence="its estimate of the round trip time is {dose:.1f} times what it is on the wire",
    source="Yu and Benson, WWW 2021; RFC 9002, 5.3",
    role="server",
    classes=_CLASSES,
    needs=("metrics",),
    detect=detect,
    interventions=interventions,
    cured_by="acknowledgements at once",
)
