"""Causes: losses that only a timer finds, and timers that wait too long."""

from collections.abc import Sequence

import numpy as np

from longlook.core import units
from longlook.explain import (
    PACKET_THRESHOLD,
    Booleans,
    Cause,
    Change,
    Evidence,
    Finding,
    Integers,
    Intervention,
    LedgerClass,
    LinkFacts,
    Pair,
    Says,
    SenderFacts,
    Side,
    Sign,
    Steps,
    Stretches,
    Surgery,
    Target,
    Touches,
    Untestable,
    bounded_ns,
    changes,
    drops,
    drops_shown,
    effective_value,
    numbers,
    stretches,
    stretches_shown,
    wait_ns,
    within,
)

_TAIL_LOSS_CLASSES = (LedgerClass.TIMER, LedgerClass.LOSS_DETECTION)
_MOST_PACKETS = 16
"""If more are lost in a row, a path was down or a queue overflowed, and the tail is not the cause."""


def tail_loss_sign(pair: Pair) -> Sign | None:
    """Return a sign if the loser waits after drops that too few packets followed to reveal them."""
    lost, waits = tail_drops(pair.loser)
    if not lost.any():
        return None
    shown = drops_shown(pair.loser, pair.loser.down, lost, "one of the last packets of a flight is dropped")
    return Sign(
        bounded_ns(pair, waits.total_ns, *_TAIL_LOSS_CLASSES),
        shown,
        dose=float(lost.sum()),
        packets=numbers(pair.loser.down, lost),
        transplant=_last_dropped(pair.winner, int(lost.sum())),
    )


def tail_drops(side: Side) -> tuple[Booleans, Stretches]:
    """Return the drops behind which fewer packets passed than show a loss, and the waits that followed them."""
    link, waits = side.down, stretches(side, *_TAIL_LOSS_CLASSES)
    lost = np.flatnonzero(drops(side, link) & link.carries_data & ~link.copy)
    passed = np.flatnonzero(link.ours & link.delivered & link.carries_data & ~link.copy)
    found, behind = np.zeros(len(link.sequence), np.bool_), np.zeros(len(waits), np.bool_)
    for number, begin_ns in enumerate(waits.begin_ns.tolist()):
        until = int(np.searchsorted(link.arrival_ns[passed], begin_ns, side="right"))
        since = passed[until - PACKET_THRESHOLD] if until >= PACKET_THRESHOLD else -1
        own = lost[(lost > since) & (link.arrival_ns[lost] <= begin_ns)]
        behind[number] = 0 < len(own) <= _MOST_PACKETS
        found[own] |= behind[number]
    return found, waits.where(behind)


def _last_dropped(side: Side, count: int) -> Surgery | None:
    """Return surgery that drops the last packets with data of a load, if none of them is lost anyway."""
    link = side.down
    sent = np.flatnonzero(link.ours & link.carries_data & ~link.copy)[-count:]
    if len(sent) == 0 or not link.delivered[sent].all():
        return None
    return Surgery(down=f"drop {', '.join(map(str, numbers(link, sent)))}")


def tail_loss_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return the tail without its losses for the loser, and the winner's last packets dropped as often."""
    return [
        changes.cure(
            Touches.OCCASION, Target.LOSER, changes.forgiven(finding, "the losses at the end of flights forgiven")
        ),
        changes.transplant(
            Touches.OCCASION,
            changes.inflicted(
                finding, "as many of its last packets dropped", "the winner's last packets are lost as well"
            ),
        ),
    ]


TAIL_LOSS = Cause(
    name="tail_loss",
    title="Loss at the end of a flight",
    sentence="at losses of the last packets of its flights (about {dose:.0f} a load), which only a timer shows",
    source="Flach et al., SIGCOMM 2013; RFC 8985, 7 (tail loss probe); RFC 9002, 6.2",
    role="path",
    classes=_TAIL_LOSS_CLASSES,
    needs=(),
    detect=tail_loss_sign,
    interventions=tail_loss_changes,
    cured_by="these packets forgiven; as many of the winner's last packets dropped",
    says=Says.WHERE,
)
"""The last packets of a flight are lost, so that nothing behind them shows it and the sender waits for a timer."""


_TIMER_TOO_LONG_CLASSES = (LedgerClass.TIMER,)
_TIMES_AS_LONG = 3
_ACK_DELAY_NS, _GRANULARITY_NS = 25_000_000, 1_000_000
_MS = 1_000_000


def timer_too_long_sign(pair: Pair) -> Sign | None:
    """Return a sign if timers of the loser last three times what RFC 9002 gives from its samples, or more."""
    side = pair.loser
    found = too_long(side)
    if found is None or len(found) == 0:
        return None
    shown = stretches_shown(side, found, "the sender waits for a timer")
    longest = int((found.end_ns - found.begin_ns).max())
    return Sign(bounded_ns(pair, found.total_ns, *_TIMER_TOO_LONG_CLASSES), shown, dose=longest / _MS)


def too_long(side: Side) -> Stretches | None:
    """Return the waits for a timer that are too long; None if no log has samples of the round trip time.

    A wait counts from its beginning in the ledger, which is not before the last packet was sent. Timers that go off
    again without an acknowledgement double, and so may the wait.
    """
    sender, waits = side.server, stretches(side, *_TIMER_TOO_LONG_CLASSES)
    if sender is None or _samples(sender) is None:
        return None
    lasts = waits.end_ns - waits.begin_ns
    backoff = np.zeros(len(waits), np.int64)
    if sender.timeouts_in_a_row is not None:
        backoff = np.clip(sender.timeouts_in_a_row.at(waits.begin_ns, 0), 0, 10)
    return waits.where(lasts > _TIMES_AS_LONG * probe_timeout_ns(sender, waits.begin_ns) * 2**backoff)


def probe_timeout_ns(sender: SenderFacts, times_ns: Integers) -> Integers:
    """Return the probe timeout that RFC 9002 (5.3, 6.2.1) gives at some times from a sender's own samples.

    Without a sample it follows from the initial round trip time: 999 ms.
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
    """Return a sender's samples of the round trip time; their smoothed values if it logs no samples, as the kernel
    does.
    """
    return sender.smoothed_rtt if sender.latest_rtt is None else sender.latest_rtt


def timer_too_long_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return shorter timers for the loser, a known round trip time, and longer timers for the winner."""
    side, other = pair.loser, pair.winner
    own = min(1.0, effective_value(side, "server", "pto_factor") or 1.0)
    shorter = changes.tuned(
        side.trial,
        "server",
        {"pto_factor": own / 2},
        {"tcp_rto_min": "10ms", "tcp_tail_loss_probe": True},
        "shorter timers",
    )
    longer = changes.tuned(
        other.trial, "server", {"pto_factor": 4.0}, {"tcp_rto_min": "1s", "tcp_tail_loss_probe": False}, "longer timers"
    )
    first = changes.tuned(
        side.trial,
        "server",
        {"initial_rtt": max(side.round_trip_ns, _MS) / 1e9},
        {},
        "the path's round trip time known",
    )
    doses = [
        (factor, changes.tuned(side.trial, "server", {"pto_factor": factor}, {"tcp_rto_min": f"{wait_ms}ms"}, label))
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


TIMER_TOO_LONG = Cause(
    name="timer_too_long",
    title="Timer longer than the path asks for",
    sentence="it waits {dose:.0f} ms for a timer, at least three times what its samples of the round trip time give",
    source="RFC 9002, 6.2.1; RFC 6298; Yu and Benson, WWW 2021",
    role="server",
    classes=_TIMER_TOO_LONG_CLASSES,
    needs=("metrics",),
    detect=timer_too_long_sign,
    interventions=timer_too_long_changes,
    cured_by="shorter timers; the round trip time known from the start",
)
"""The sender's timer after a loss is far longer than its own samples of the round trip time give."""


_RTT_OVERESTIMATED_CLASSES = (LedgerClass.TIMER, LedgerClass.LOSS_DETECTION, LedgerClass.PACING)
_TOO_LONG = 1.5
_LEAST_NS = 10_000_000
_DELAYS_S = (0.001, 0.005, 0.025)


def rtt_overestimated_sign(pair: Pair) -> Sign | None:
    """Return a sign if the loser's smoothed round trip is 1.5 times as long as on the wire, on average, or more."""
    found = estimate_and_truth_ns(pair.loser)
    if found is None:
        return None
    estimate_ns, truth_ns = found
    if estimate_ns < _TOO_LONG * truth_ns or estimate_ns < truth_ns + _LEAST_NS:
        return None
    text = f"the sender takes a round trip for {estimate_ns / 1e6:.1f} ms, on the wire it is {truth_ns / 1e6:.1f} ms"
    return Sign(pair.excess_ns(*_RTT_OVERESTIMATED_CLASSES), (Evidence(0, text),), dose=estimate_ns / truth_ns)


def estimate_and_truth_ns(side: Side) -> tuple[float, float] | None:
    """Return the server's mean smoothed round trip time, and the wire's with its queues at the same times."""
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


def rtt_overestimated_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return a client that delays no acknowledgement for the loser, and one that delays them for the winner."""
    doses = [(delay_s, _delayed(pair.loser, delay_s)) for delay_s in _DELAYS_S]
    at_once = changes.tuned(
        pair.loser.trial, "client", {"ack_threshold": 1}, {"tcp_quickack": True}, "every packet acknowledged at once"
    )
    return [
        changes.cure(Touches.MECHANISM, Target.LOSER, at_once),
        changes.transplant(Touches.MECHANISM, _delayed(pair.winner, 0.2)),
        *changes.doses(Touches.MECHANISM, Target.LOSER, doses),
    ]


def _delayed(side: Side, delay_s: float) -> Change | str:
    label = f"acknowledgements delayed by {1000 * delay_s:g} ms at most"
    return changes.tuned(side.trial, "client", {"max_ack_delay": delay_s}, {}, label)


RTT_OVERESTIMATED = Cause(
    name="rtt_overestimated",
    title="Round trip time overestimated",
    sentence="its estimate of the round trip time is {dose:.1f} times what it is on the wire",
    source="Yu and Benson, WWW 2021; RFC 9002, 5.3",
    role="server",
    classes=_RTT_OVERESTIMATED_CLASSES,
    needs=("metrics",),
    detect=rtt_overestimated_sign,
    interventions=rtt_overestimated_changes,
    cured_by="acknowledgements at once",
)
"""The sender takes the path's round trip for much longer than the link shows."""


_RTO_BACKOFF_CLASSES = (LedgerClass.TIMER,)
_LEAST_IN_A_ROW = 2
_LINUX_MS = 200


def rto_backoff_sign(pair: Pair) -> Sign | None:
    """Return a sign if the loser waits for a timer that has gone off before without an acknowledgement since."""
    side = pair.loser
    found = doubled(side)
    if found is None or len(found) == 0:
        return None
    link = side.down
    until = int(found.end_ns.max())
    first_ns = int(found.begin_ns.min()) - 2 * max(side.round_trip_ns, 1)
    probes = drops(side, link) & (link.arrival_ns >= first_ns) & (link.arrival_ns <= until)
    shown = stretches_shown(side, found, "the sender waits for a timer that has doubled")
    longest_ms = int((found.end_ns - found.begin_ns).max()) / 1e6
    return Sign(
        bounded_ns(pair, found.total_ns, *_RTO_BACKOFF_CLASSES), shown, dose=longest_ms, packets=numbers(link, probes)
    )


def doubled(side: Side) -> Stretches | None:
    """Return the waits for a timer that ended with the second timeout in a row or a later one; None without a log."""
    sender, waits = side.server, stretches(side, *_RTO_BACKOFF_CLASSES)
    if sender is None:
        return None
    fired = sender.timeouts.time_ns
    acked = np.sort(sender.acked.time_ns)
    last_ack = np.append(acked, -1)[np.searchsorted(acked, waits.end_ns, side="left") - 1] if len(acked) else -1
    in_a_row = np.searchsorted(np.sort(fired), waits.end_ns, side="right") - np.searchsorted(
        np.sort(fired), last_ack, side="right"
    )
    return waits.where(in_a_row >= _LEAST_IN_A_ROW)


def rto_backoff_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return the losses between the timeouts forgiven, and shorter timers for the loser."""
    side = pair.loser
    forgiven = changes.forgiven(finding, "the losses before and between the timeouts forgiven")
    own, least_ms = effective_value(side, "server", "pto_factor") or 1.0, _least_ms(side)
    doses = [
        (
            factor,
            changes.tuned(
                side.trial,
                "server",
                {"pto_factor": factor * own},
                {"tcp_rto_min": f"{max(1, round(least_ms * factor))}ms"},
                label,
            ),
        )
        for factor, label in (
            (0.25, "timers a quarter as long"),
            (0.5, "timers half as long"),
            (2.0, "timers twice as long"),
        )
    ]
    return [
        changes.cure(Touches.OCCASION, Target.LOSER, forgiven),
        changes.cure(Touches.MECHANISM, Target.LOSER, doses[0][1]),
        *changes.doses(Touches.MECHANISM, Target.LOSER, doses),
    ]


def _least_ms(side: Side) -> float:
    """Return the least timeout of the kernel's TCP, as set or as Linux has it."""
    value = changes.tcp_value(side.trial, "tcp_rto_min") if not changes.over_quic(side.trial) else None
    return _LINUX_MS if value is None else units.parse_time(value) / 1e6


RTO_BACKOFF = Cause(
    name="rto_backoff",
    title="Timers double",
    sentence="its timer doubles at each timeout in a row, up to {dose:.0f} ms of silence",
    source="RFC 6298, 5.5; RFC 9002, 6.2.1; RFC 5682",
    role="path",
    classes=_RTO_BACKOFF_CLASSES,
    needs=("pto",),
    detect=rto_backoff_sign,
    interventions=rto_backoff_changes,
    cured_by="the losses between the timeouts forgiven; shorter timers",
    where="at losses before and between timeouts in a row",
)
"""Timers double after each other, so that the sender is silent long after the path works again."""


CAUSES = (TAIL_LOSS, TIMER_TOO_LONG, RTT_OVERESTIMATED, RTO_BACKOFF)
