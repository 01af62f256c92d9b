"""The sender's timer after a loss is far longer than its own samples of the round trip time give."""

from collections.abc import Sequence

import numpy as np

from longlook.explain import changes, remedies
from longlook.explain.cause import Cause, Finding, Intervention, Sign, Target, Touches, Untestable
from longlook.explain.effective_settings import effective_value
from longlook.explain.facts import Integers, SenderFacts, Steps
from longlook.explain.ledger import LedgerClass
from longlook.explain.moments import Stretches, bounded_ns, stretches, stretches_shown
from longlook.explain.pair import Pair, Side

_CLASSES = (LedgerClass.TIMER,)
_TIMES_AS_LONG = 3
_ACK_DELAY_NS, _GRANULARITY_NS = 25_000_000, 1_000_000
_MS = 1_000_000


def detect(pair: Pair) -> Sign | None:
    """Return a sign where timers of the loser last three times what RFC 9002 gives from its samples, or more."""
    side = pair.loser
    found = too_long(side)
    if found is None or len(found) == 0:
        return None
    shown = stretches_shown(side, found, "the sender waits for a timer")
    longest = int((found.end_ns - found.begin_ns).max())
    return Sign(bounded_ns(pair, found.total_ns, *_CLASSES), shown, dose=longest / _MS)


def too_long(side: Side) -> Stretches | None:
    """Return the waits for a timer that are too long; None where no log has samples of the round trip time.

    A wait counts from its beginning in the ledger, which is not before the last packet was sent. Timers that go off
    again without an acknowledgement double, and so may the wait.
    """
    sender, waits = side.server, stretches(side, *_CLASSES)
    if sender is None or _samples(sender) is None:
        return None
    lasts = waits.end_ns - waits.begin_ns
    backoff = np.zeros(len(waits), np.int64)
    if sender.timeouts_in_a_row is not None:
        backoff = np.clip(sender.timeouts_in_a_row.at(waits.begin_ns, 0), 0, 10)
    return waits.where(lasts > _TIMES_AS_LONG * probe_timeout_ns(sender, waits.begin_ns) * 2**backoff)


def probe_timeout_ns(sender: SenderFacts, times_ns: Integers) -> Integers:
    """Return the probe timeout that RFC 9002 (5.3, 6.2.1) gives at some times from a sender's own samples.

    Without a sample it is that of the initial round trip time, 999 ms.
    """
    smoothed, variance = 333 * _MS, 333 * _MS // 2
    moments, values = [np.iinfo(np.int64).min], [smoothed + 4 * variance]
    samples = _samples(sender)
    if samples is not None:
        for number, (time_ns, sample) in enumerate(zip(samples.time_ns.tolist(), samples.value.tolist(), strict=True)):
            if number == 0:
                smoothed, variance = sample, sample // 2
            else:
                variance = (3 * variance + abs(smoothed - sample)) // 4
                smoothed = (7 * smoothed + sample) // 8
            moments.append(time_ns)
            values.append(smoothed + max(4 * variance, _GRANULARITY_NS) + _ACK_DELAY_NS)
    return np.array(values, np.int64)[np.searchsorted(np.array(moments), times_ns, side="right") - 1]


def _samples(sender: SenderFacts) -> Steps | None:
    """Return a sender's samples of the round trip time; where it logs none, as the kernel, their smoothed values."""
    return sender.smoothed_rtt if sender.latest_rtt is None else sender.latest_rtt


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return shorter timers for the loser, a known round trip time, and longer timers for the winner."""
    side, other = pair.loser, pair.winner
    own = min(1.0, effective_value(side, "server", "pto_factor") or 1.0)
    shorter = remedies.tuned(
        side.trial,
        "server",
        {"pto_factor": own / 2},
        {"tcp_rto_min": "10ms", "tcp_tail_loss_probe": True},
        "shorter timers",
    )
    longer = remedies.tuned(
        other.trial, "server", {"pto_factor": 4.0}, {"tcp_rto_min": "1s", "tcp_tail_loss_probe": False}, "longer timers"
    )
    first = remedies.tuned(
        side.trial,
        "server",
        {"initial_rtt": max(side.round_trip_ns, _MS) / 1e9},
        {},
        "the path's round trip time known",
    )
    doses = [
        (factor, remedies.tuned(side.trial, "server", {"pto_factor": factor}, {"tcp_rto_min": f"{wait_ms}ms"}, label))
        for factor, wait_ms, label in (
            (0.5, 50, "timers half as long"),
            (1.0, 200, "timers as in the standard"),
            (2.0, 400, "timers twice as long"),
        )
    ]
    return [
        changes.cure(Touches.MECHANISM, Target.LOSER, shorter),
        changes.cure(Touches.MECHANISM, Target.LOSER, first),
        changes.transplant(Touches.MECHANISM, longer),
        *changes.doses(Touches.MECHANISM, Target.LOSER, doses),
    ]


CAUSE = Cause(
    name="timer_too_long",
    title="Timer longer than the path asks for",
    sentence="it waits {dose:.0f} ms for a timer, at least three times what its samples of the round trip time give",
    source="RFC 9002, 6.2.1; RFC 6298; Yu and Benson, WWW 2021",
    role="server",
    classes=_CLASSES,
    needs=("metrics",),
    detect=detect,
    interventions=interventions,
    cured_by="shorter timers; the round trip time known from the start",
)
