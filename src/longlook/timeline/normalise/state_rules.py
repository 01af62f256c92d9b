"""The rules that find a sender's states in its records (docs/reference/states-rules.md defines them). Pure.

Each returns steps over time: a state's code while the rule holds, and nothing otherwise.
"""

import numpy as np

from longlook.timeline.events import EventKind
from longlook.timeline.normalise.rows import NULL, Integers, Mask
from longlook.timeline.normalise.sender import Sender
from longlook.timeline.normalise.steps import CodeSteps
from longlook.timeline.states import State

CODES = {state: code for code, state in enumerate(State)}
STATES_BY_CODE = tuple(State)

UNUSED_PACKETS = 3
"""The packets of a window that may be free while the window is still the limit: a pacer or a burst leaves as many."""
UNUSED_SLOW_START = 0.5
"""The same in slow start, as a share: acknowledgements double the window within a round trip (RFC 9002, 7.8)."""
MAXED_RTTS = 10
"""A window that is used and does not grow for this number of round trips is at its maximum."""
SLOW_GROWTH = 1 / 8
"""A share of the bytes acknowledged: a window that grows by less within a round trip is no longer in slow start.
Slow start grows by all of them, its conservative kind (RFC 9406) by a quarter.
"""
_FEWEST_ACKED_PACKETS = 10  # a growth is judged from
COLLAPSE = 0.4
"""A window that falls below this share of its size has been reset, not reduced: slow start begins again."""
PROBE, TIMEOUT = 1, 2


def initial(sender: Sender) -> CodeSteps:
    """Return `init`: from the first event until the handshake is complete or application data may have been sent.

    For the kernel's records, which have no packets, it ends with their first figures.
    """
    rows = sender.rows
    complete = rows.matches("kind", EventKind.MILESTONE) & rows.matches("name", "complete", "confirmed")
    application = rows.matches("kind", EventKind.PACKET_SENT) & rows.matches("space", "0rtt", "1rtt")
    if not rows.matches("kind", EventKind.PACKET_SENT).any():  # the kernel's records: its figures begin with the data
        application = rows.matches("kind", EventKind.METRICS, EventKind.PACKET_ACKED)
    found = np.flatnonzero(complete | application)
    ends_ns = int(rows["time_ns"][found[0]]) if len(found) else sender.end_ns + 1
    return CodeSteps.of_intervals(np.array([sender.begin_ns]), np.array([ends_ns]), CODES[State.INIT])


def recoveries(sender: Sender) -> tuple[Integers, Integers]:
    """Return begin and end of each recovery (RFC 9002, 7.3.2), shape (recoveries,) each.

    It begins when a packet is declared lost that was sent since the last recovery began, and ends when a packet is
    acknowledged that was sent since it began itself. Losses of single packets larger than any acknowledged before,
    which are probes of the path's MTU, begin none (RFC 9000, 14.4).
    """
    rows = sender.rows
    lost = sender.position(EventKind.PACKET_LOST)
    lost = lost[sender.application_packets[lost]]
    lost = lost[~_mtu_probes(sender, lost)]
    numbers = rows["packet_number"][lost]
    evidence, acknowledged = sender.evidence
    begins, ends = [], []
    threshold, until = NULL, -1
    for position, number in zip(lost.tolist(), numbers.tolist(), strict=True):
        if position < until or (number != NULL and number <= threshold):
            continue
        threshold = int(sender.highest_sent[position])
        index = max(np.searchsorted(acknowledged, threshold, side="right"), np.searchsorted(evidence, position))
        until = int(evidence[index]) if index < len(evidence) else len(rows)
        begins.append(int(rows["time_ns"][position]))
        ends.append(int(rows["time_ns"][until]) if until < len(rows) else sender.end_ns + 1)
    return np.array(begins, np.int64), np.array(ends, np.int64)


def _mtu_probes(sender: Sender, lost: Integers) -> Mask:
    sizes = sender.rows["size_bytes"]
    acked = sender.rows.matches("kind", EventKind.PACKET_ACKED) & sender.application_packets
    largest = np.maximum.accumulate(np.where(acked, sizes, NULL))[lost]
    larger: Mask = (largest != NULL) & (sizes[lost] > largest)
    return larger


def slow_start(sender: Sender, recovery: tuple[Integers, Integers]) -> CodeSteps:
    """Return `slow_start` or `congestion_avoidance` at each time, whatever else is true then."""
    metrics = sender.windows
    avoidance, start = CODES[State.CONGESTION_AVOIDANCE], CODES[State.SLOW_START]
    begin = np.array([sender.begin_ns], np.int64)
    if (metrics["ssthresh_bytes"] != NULL).any():
        threshold = metrics["ssthresh_bytes"]
        slow = (threshold == NULL) | (metrics["cwnd_bytes"] < threshold)
        return CodeSteps(np.append(begin, metrics["time_ns"]), np.append([start], np.where(slow, start, avoidance)))
    found = [(sender.begin_ns, start)]
    left_ns = _stopped_growing(sender, int(recovery[0][0]) if len(recovery[0]) else None)
    if left_ns is not None:
        found.append((left_ns, avoidance))
    thresholds = _thresholds(metrics["time_ns"], metrics["cwnd_bytes"], recovery)
    found += [(time_ns, start if slow else avoidance) for time_ns, slow in thresholds]
    found.sort(key=lambda each: each[0])
    times, codes = zip(*found, strict=True)
    return CodeSteps(np.array(times, np.int64), np.array(codes, np.int64))


def _thresholds(times_ns: Integers, windows: Integers, recovery: tuple[Integers, Integers]) -> list[tuple[int, bool]]:
    """Return when slow start ends (False) and begins again (True), from the losses and the windows alone.

    A loss ends it. A window that collapses, after persistent congestion, begins it again up to half of what it was.
    """
    found = [(int(time_ns), False) for time_ns in recovery[0]]
    before = windows[:-1]
    for index in np.flatnonzero(windows[1:] < COLLAPSE * before) + 1:
        found.append((int(times_ns[index]), True))
        again = np.flatnonzero(windows[index:] >= windows[index - 1] / 2)
        if len(again):
            found.append((int(times_ns[index + again[0]]), False))
    return sorted(found)


def _stopped_growing(sender: Sender, before_ns: int | None) -> int | None:
    """Return when the window, though in use, stopped growing with acknowledgements, before the first loss."""
    metrics = sender.metrics
    until = before_ns if before_ns is not None else sender.end_ns + 1
    metrics = metrics.take(metrics["time_ns"] < until)
    acked_ns, acked = sender.acked_bytes
    if not len(metrics) or not len(acked_ns):
        return None
    times_ns, windows = metrics["time_ns"], metrics["cwnd_bytes"]
    began_ns = times_ns - sender.rtt_ns(times_ns)
    earlier = np.searchsorted(times_ns, began_ns, side="right") - 1
    growth = windows - windows[np.maximum(earlier, 0)]
    total = np.concatenate([[0], acked])
    amount = total[np.searchsorted(acked_ns, times_ns, side="right")] - total[np.searchsorted(acked_ns, began_ns)]
    used = _used(sender, times_ns)
    slow = (earlier >= 0) & used & (amount >= _FEWEST_ACKED_PACKETS * sender.mss_bytes)
    slow &= growth < SLOW_GROWTH * amount
    found = np.flatnonzero(slow)
    return int(began_ns[found[0]]) if len(found) else None


def full_moments(sender: Sender, slow: CodeSteps) -> tuple[Integers, Integers]:
    """Return times at which the window was practically full, and the time of the next row of metrics after each."""
    metrics = sender.metrics
    free = metrics["cwnd_bytes"] - metrics["in_flight_bytes"]
    full = free <= UNUSED_PACKETS * sender.mss_bytes
    is_slow = slow.at(metrics["time_ns"]) == CODES[State.SLOW_START]
    full |= is_slow & (metrics["in_flight_bytes"] > UNUSED_SLOW_START * metrics["cwnd_bytes"])
    index = np.flatnonzero(full)
    following = np.append(metrics["time_ns"], sender.end_ns)[index + 1]
    return metrics["time_ns"][index], following


def application_limited(sender: Sender, slow: CodeSteps) -> CodeSteps:
    """Return `application_limited`: between two moments of a full window that are more than a round trip apart."""
    if not len(sender.metrics):
        return CodeSteps.none()
    times_ns, following_ns = full_moments(sender, slow)
    first_ns = int(sender.metrics["time_ns"][0])
    begins_ns = np.append(first_ns, following_ns)
    fulls_ns = np.append(first_ns, times_ns)
    ends_ns = np.append(times_ns, sender.end_ns + 1)
    long = ends_ns - fulls_ns > sender.rtt_ns(fulls_ns)
    return CodeSteps.of_intervals(begins_ns[long], ends_ns[long], CODES[State.APPLICATION_LIMITED])


def logged_limited(sender: Sender) -> CodeSteps:
    """Return `application_limited` as logged by the stack or the kernel in rows of kind app_limited."""
    rows = sender.rows.kind(EventKind.APP_LIMITED)
    return CodeSteps.where(rows["time_ns"], rows.value() > 0, CODES[State.APPLICATION_LIMITED])


def _used(sender: Sender, times_ns: Integers) -> Mask:
    """Return whether the window was full within the last round trip."""
    full_ns, _ = full_moments(sender, CodeSteps(np.array([sender.begin_ns]), np.array([CODES[State.SLOW_START]])))
    index = np.searchsorted(full_ns, times_ns, side="right") - 1
    latest = full_ns[np.maximum(index, 0)] if len(full_ns) else np.zeros(len(times_ns), np.int64)
    return (index >= 0) & (times_ns - latest <= sender.rtt_ns(times_ns))


def maxed(sender: Sender, limited: CodeSteps) -> CodeSteps:
    """Return `congestion_avoidance_maxed`: the largest window so far, in use and unchanged for MAXED_RTTS."""
    metrics = sender.metrics
    if not len(metrics):
        return CodeSteps.none()
    windows, times_ns = metrics["cwnd_bytes"], metrics["time_ns"]
    begin = np.flatnonzero(np.diff(windows, prepend=NULL) != 0)
    ends_ns = np.append(times_ns[begin[1:]], sender.end_ns + 1)
    begins_ns = times_ns[begin]
    largest = windows[begin] >= np.maximum.accumulate(windows)[begin]
    idle_ns = _time_in(limited, begins_ns, ends_ns)
    long = ends_ns - begins_ns - idle_ns >= MAXED_RTTS * sender.rtt_ns(begins_ns)
    chosen = largest & long & (idle_ns < (ends_ns - begins_ns) / 2)
    return CodeSteps.of_intervals(begins_ns[chosen], ends_ns[chosen], CODES[State.CONGESTION_AVOIDANCE_MAXED])


def _time_in(steps: CodeSteps, begins_ns: Integers, ends_ns: Integers) -> Integers:
    """Return how much of each interval some steps cover with a code, in ns."""
    if not len(steps.times_ns):
        return np.zeros(len(begins_ns), np.int64)
    lengths = np.diff(steps.times_ns, append=steps.times_ns[-1])
    total = np.concatenate([[0], np.cumsum(np.where(steps.codes != NULL, lengths, 0))])

    def until(times_ns: Integers) -> Integers:
        index = np.searchsorted(steps.times_ns, times_ns, side="right") - 1
        inside = np.where(steps.codes[np.maximum(index, 0)] != NULL, times_ns - steps.times_ns[np.maximum(index, 0)], 0)
        return np.where(index < 0, 0, total[np.maximum(index, 0)] + inside)

    return until(ends_ns) - until(begins_ns)


def timers(sender: Sender) -> CodeSteps:
    """Return `loss_probe` from a first probe timeout, `timeout` from a second in a row or TCP's own, until an
    acknowledgement.

    For stacks that log no acknowledgement: until a new sample of the round trip time.
    """
    fired = sender.position(EventKind.PTO)
    if not len(fired):
        return CodeSteps.none()
    count = np.nan_to_num(sender.rows.value()[fired], nan=1.0)
    severe = (count >= TIMEOUT) | sender.rows.matches("name", "rto")[fired]
    severe &= ~sender.rows.matches("name", "tlp")[fired]
    evidence = sender.position(EventKind.PACKET_ACKED)
    evidence = evidence if len(evidence) else sender.evidence[0]
    index = np.searchsorted(evidence, fired)
    ends_ns = np.append(sender.rows["time_ns"][evidence], sender.end_ns + 1)[index]
    begins_ns = sender.rows["time_ns"][fired]
    ends_ns = np.minimum(ends_ns, np.append(begins_ns[1:], sender.end_ns + 1))
    codes = np.where(severe, CODES[State.TIMEOUT], CODES[State.LOSS_PROBE])
    times_ns = np.stack([begins_ns, ends_ns], axis=1).reshape(-1)
    return CodeSteps(times_ns, np.stack([codes, np.full(len(codes), NULL)], axis=1).reshape(-1))
