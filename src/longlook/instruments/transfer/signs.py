"""Signs of causes in one trace of one end. Pure.

The names are of docs/reference/causes.md. Each sign says how much of the time its cause could be at work in, and which
change of a repeated transfer would show whether it was.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from longlook.core import Scalar, units
from longlook.explain import Integers, Steps
from longlook.instruments.transfer.classes import TimeClass
from longlook.instruments.transfer.path import MIN_QUEUE_NS, holes_before
from longlook.instruments.transfer.recording import APPLICATION, INITIAL, Blocked, Packets, matched
from longlook.instruments.transfer.sender import probing
from longlook.instruments.transfer.suspicion import LEAST_SHARE, MOST_EVIDENCE, Case, Seen, Sign, Suspicion

_CAPPED_RTTS = 10
_SMALL_PACKETS = 4
_BELOW_PATH = 0.8
_QUEUE_AT_LOSS = 0.5
_LEAST_LOSSES = 5
_SHARP_RTT = 1.25
_DOUBLINGS = 2
_OF_TCP: Mapping[str, Mapping[str, Scalar]] = {
    "connection_credit": {"tcp_receive_buffer": "64MiB"},
    "handshake_round_trips": {"client_knobs.fast_open": True, "server_knobs.fast_open": True},
    "initial_window": {"tcp_initial_window": 32},
    "spurious_loss": {"tcp_reordering": 30},
    "tail_loss": {"tcp_rto_min": "50ms"},
    "rto_backoff": {"tcp_rto_min": "50ms"},
    "pacing_limited": {"tcp_pacing": False},
    "slow_start_early_exit": {"tcp_hystart": False},
}
"""The settings that take a cause away from the kernel's TCP, which has no knobs of stacks."""


def suspicions(case: Case) -> list[Suspicion]:
    """Return the suspected causes, ordered by their time, the longest first."""
    found = [suspicion for sign in SIGNS if (suspicion := sign(case)) is not None and _long(case, suspicion.at_most_ns)]
    if not case.recording.is_quic:
        found = [replace(each, settings=_OF_TCP.get(each.cause, each.settings)) for each in found]
    return sorted(found, key=lambda each: -each.at_most_ns)


def _long(case: Case, spent_ns: int) -> bool:
    return spent_ns >= LEAST_SHARE * case.total_ns


def _intervals_seen(case: Case, *names: TimeClass) -> list[Seen]:
    """Return the longest intervals of some classes as observations, in order of time."""
    chosen = np.flatnonzero(case.intervals.are(*names))
    longest = chosen[np.argsort(-case.intervals.length_ns[chosen], kind="stable")[:MOST_EVIDENCE]]
    seen = []
    for place in sorted(longest.tolist()):
        end = int(case.intervals.end_ns[place])
        at = int(np.searchsorted(case.data.time_ns, end, side="left"))
        number = int(case.data.number[at]) if at < len(case.data) and case.data.number[at] >= 0 else None
        length_ms = int(case.intervals.length_ns[place]) / 1e6
        seen.append(Seen(int(case.intervals.start_ns[place]), f"{length_ms:.3g} ms without data before it", number))
    return seen


def handshake(case: Case) -> Suspicion | None:
    """Suspect the handshake's round trips, or a loss in it."""
    spent = case.intervals.spent_ns(TimeClass.HANDSHAKE)
    recording, rtt = case.recording, case.path.shortest_rtt_ns
    if not _long(case, spent) or not rtt:
        return None
    early = [timer for timer in recording.timers if timer.time_ns < spent]
    lost = recording.lost.take(recording.lost.space != APPLICATION)
    trips = spent / rtt
    if early or len(lost):
        seen = [Seen(timer.time_ns, "a probe timeout") for timer in early[:MOST_EVIDENCE]]
        seen += [Seen(int(at), "declared lost", int(number)) for at, number in _pairs(lost)]
        return Suspicion(
            "handshake_loss",
            f"A packet of the handshake was lost or late: the handshake lasts {trips:.1f} round trips.",
            spent,
            seen[:MOST_EVIDENCE],
            "Repeat the transfer on a path without loss: the handshake must get shorter.",
            {"network.loss": "0%"},
        )
    retried = [each for each in recording.milestones if each.name == "retry"]
    cause = "retry_round_trip" if retried else "handshake_round_trips"
    first = [packets.take(packets.space == INITIAL) for packets in (recording.sent, recording.received)]
    seen = [
        Seen(int(each.time_ns[0]), "first packet of the handshake", int(each.number[0])) for each in first if len(each)
    ]
    return Suspicion(
        cause,
        f"The handshake takes {_share(case, spent)} of the time: {trips:.1f} of the shortest round trips.",
        spent,
        [*seen, *(Seen(each.time_ns, "a Retry") for each in retried)],
        "Repeat the transfer with early data: the first request then leaves with the first packets.",
        {"connection": "0rtt"},
    )


def credit(case: Case) -> Suspicion | None:
    """Suspect the receiver's credit."""
    spent = case.intervals.spent_ns(TimeClass.CONNECTION_CREDIT, TimeClass.STREAM_CREDIT)
    if not _long(case, spent):
        return None
    of_stream = case.intervals.spent_ns(TimeClass.STREAM_CREDIT) > spent / 2
    cause, knob = ("stream_credit", "stream") if of_stream else ("connection_credit", "connection")
    limits = [each for each in case.recording.blocked if each.limit in (knob, "receive_window")]
    if not case.recording.is_quic:
        return _receive_window(case, spent, limits)
    values = [each.value_bytes for each in limits if each.value_bytes == each.value_bytes]
    first = f", first at byte {values[0]:,.0f}" if values else ""
    whose = "a stream" if of_stream else "the connection"
    return Suspicion(
        cause,
        f"The receiver's credit for {whose} is used up {len(limits)} times{first}.",
        spent,
        [Seen(each.time_ns, f"blocked at {each.value_bytes:,.0f}") for each in limits[:MOST_EVIDENCE]],
        "Repeat the transfer with a client whose first windows are 16 MB, and may grow to 64 MB.",
        {f"client_knobs.initial_{knob}_window": 16_000_000, f"client_knobs.max_{knob}_window": 64_000_000},
    )


def _receive_window(case: Case, spent: int, limits: Sequence[Blocked]) -> Suspicion:
    """Return what a full receive window of TCP shows: a program that does not read, or a window that is too small."""
    closed = [each for each in limits if not each.value_bytes]
    if closed:
        return Suspicion(
            "slow_reader",
            f"The receiver closes its window {len(closed)} times: its program does not read what has arrived.",
            spent,
            [Seen(each.time_ns, "a window of 0 bytes") for each in closed[:MOST_EVIDENCE]],
            "Repeat the transfer with a client that has more processor, and reads at once.",
        )
    largest = int(max((each.value_bytes for each in limits), default=0))
    return Suspicion(
        "connection_credit",
        f"The data in flight fills the receive window {len(limits)} times; it is {units.print_bytes(largest)} at most.",
        spent,
        [Seen(each.time_ns, f"a window of {units.print_bytes(int(each.value_bytes))} is full") for each in limits][
            :MOST_EVIDENCE
        ],
        "Repeat the transfer with a receive buffer that may grow further.",
    )


def initial_window(case: Case) -> Suspicion | None:
    """Suspect that slow start takes long from a small first window: its time before the first loss, or the path."""
    spent = _window_ns(case, "slow start")
    cwnd = case.recording.figures.cwnd_bytes
    product = case.path.product_bytes
    if case.pauses is None or not _long(case, spent) or not len(cwnd.value):
        return None
    first = int(cwnd.value[0])
    if product is not None and first > product:
        return None
    larger = max(32, 4 * round(first / case.pauses.packet_bytes))
    flight = case.data.time_ns <= case.data.time_ns[0] + (case.path.shortest_rtt_ns or 0) // 2
    return Suspicion(
        "initial_window",
        f"Slow start waits for its window, which begins at {units.print_bytes(first)}"
        + (f"; the path holds about {units.print_bytes(int(product))}." if product else "."),
        spent,
        [
            Seen(int(cwnd.time_ns[0]), f"first window of {units.print_bytes(first)}"),
            Seen(int(case.data.time_ns[0]), f"a first flight of {int(flight.sum())} packets", _number(case.data, 0)),
        ],
        f"Repeat the transfer with a first window of {larger} packets.",
        {"server_knobs.initial_window": larger},
    )


def loss_response(case: Case) -> Suspicion | None:
    """Suspect losses, of a full queue or at random, and what the sender does about them."""
    lost = case.recording.lost.take(case.recording.lost.space == APPLICATION)
    if case.pauses is None or len(lost) < 1:
        return None
    spent = _window_ns(case, "recovery", "congestion avoidance", "after a timeout", "rule: it sends when acknowledged")
    spent += case.intervals.spent_ns(TimeClass.TIMER)
    if not _long(case, spent):
        return None
    place = matched(lost, case.recording.sent)
    sent_ns = case.recording.sent.time_ns[place[place >= 0]]
    share = case.path.lost_share or 0.0
    queued = float(case.at_full_queue(sent_ns).mean()) if len(sent_ns) else 0.0
    seen = [Seen(int(at), "declared lost", int(number)) for at, number in _pairs(lost)][:MOST_EVIDENCE]
    said = f"{len(lost)} packets ({share:.2%}) are declared lost"
    if queued >= _QUEUE_AT_LOSS:
        return Suspicion(
            "queue_loss_response",
            f"{said}, {queued:.0%} of them at a queue that was half full or more: its drops may keep the window small.",
            spent,
            seen,
            "Repeat the transfer with a queue four times as long.",
            {"network.queue": "4bdp"},
        )
    return Suspicion(
        "random_loss_response",
        f"{said}, {1 - queued:.0%} of them without a full queue: random losses may keep the window small.",
        spent,
        seen,
        "Repeat the transfer on a path without random loss.",
        {"network.loss": "0%"},
    )


def policed(case: Case) -> Suspicion | None:
    """Suspect a policer: losses above one steady rate, with round trips that hardly grow."""
    rtt, lost = case.path.shortest_rtt_ns, case.recording.lost
    share = case.path.lost_share or 0.0
    if case.pauses is None or not rtt or share < 0.02 or len(lost) < 20 or not len(case.trips.length_ns):
        return None
    if np.percentile(case.trips.length_ns, 95) > max(_SHARP_RTT * rtt, rtt + MIN_QUEUE_NS):
        return None
    rates = _rates_at(case, lost.time_ns, rtt)
    spread = float(np.std(rates) / np.mean(rates)) if len(rates) and np.mean(rates) > 0 else 1.0
    if spread > 0.25:
        return None
    return Suspicion(
        "policed",
        f"{share:.1%} is lost, always near {np.mean(rates) / 1e6:.3g} Mbit/s, and no queue grows: a policer does that.",
        case.intervals.spent_ns(TimeClass.CONGESTION_WINDOW, TimeClass.TIMER),
        [Seen(int(at), "declared lost", int(number)) for at, number in _pairs(lost)][:MOST_EVIDENCE],
        "Repeat the transfer on a path with a queue in the place of the policer.",
        {"network.queue": "1bdp"},
    )


def spurious(case: Case) -> Suspicion | None:
    """Suspect losses that were none: packets that were declared lost and then acknowledged."""
    lost, acked = case.recording.lost, case.recording.acked
    place = matched(lost, acked)
    late = place >= 0
    late[late] = acked.time_ns[place[late]] > lost.time_ns[late]
    count = int(late.sum())
    if not count:
        return None
    after = acked.time_ns[place[late]] - lost.time_ns[late]
    pairs = list(zip(lost.time_ns[late].tolist(), lost.number[late].tolist(), after.tolist(), strict=True))
    return Suspicion(
        "spurious_loss",
        f"{count} of {len(lost)} packets that were declared lost are acknowledged later: they were late, not lost.",
        _window_ns(case, "recovery", "congestion avoidance"),
        [Seen(at, f"declared lost, acknowledged {gap / 1e6:.3g} ms later", number) for at, number, gap in pairs][
            :MOST_EVIDENCE
        ],
        "Repeat the transfer with a higher threshold of reordering.",
        {"server_knobs.packet_threshold": 30},
        "The acknowledgements prove that the packets arrived.",
    )


def timers(case: Case) -> Suspicion | None:
    """Suspect losses that only a timer shows, and timers that double."""
    spent = case.intervals.spent_ns(TimeClass.TIMER)
    if not _long(case, spent):
        return None
    logged = case.recording.timers if case.pauses is not None else ()
    probes = _probes(case)
    lengths = np.array([length for _, length, _ in probes], np.float64)
    ratio = lengths[1:] / np.maximum(lengths[:-1], 1)
    doubled = sum(_count(timer.detail) >= 2 for timer in logged) + int(((ratio > 1.6) & (ratio < 2.6)).sum())
    seen = [Seen(timer.time_ns, f"timeout {timer.detail or ''}".strip()) for timer in logged]
    seen = seen or [Seen(at, f"sent after {length / 1e6:.3g} ms of silence", number) for at, length, number in probes]
    return Suspicion(
        "rto_backoff" if doubled >= _DOUBLINGS else "tail_loss",
        f"The sender goes on by a timer for {_share(case, spent)} of the time"
        + (f"; it doubles {doubled} times." if doubled >= _DOUBLINGS else "."),
        spent,
        (seen or _intervals_seen(case, TimeClass.TIMER))[:MOST_EVIDENCE],
        "Repeat the transfer with the losses before the timeouts forgiven (surgery), and with timers half as long.",
        {"server_knobs.pto_factor": 0.5},
    )


def application(case: Case) -> Suspicion | None:
    """Suspect the sender's program, or its peer, that gives nothing to send."""
    spent = case.intervals.spent_ns(TimeClass.APPLICATION)
    if _long(case, spent):
        who = (
            "The sender's program" if case.pauses is not None else "The sender, for a reason that this end cannot see,"
        )
        return Suspicion(
            "application_limited",
            f"{who} sends nothing for {_share(case, spent)} of the time, although it may.",
            spent,
            _intervals_seen(case, TimeClass.APPLICATION),
            "Repeat the transfer with a server that has the whole object at once: the pauses must go.",
        )
    return None


def idle(case: Case) -> Suspicion | None:
    """Suspect the end that asks: time in which nothing was asked for."""
    spent = case.intervals.spent_ns(TimeClass.PEER_IDLE)
    if not _long(case, spent):
        return None
    return Suspicion(
        "client_idle",
        f"Nothing is asked for in {_share(case, spent)} of the time.",
        spent,
        _intervals_seen(case, TimeClass.PEER_IDLE),
        "Repeat the transfer with all requests at once.",
    )


def server_think(case: Case) -> Suspicion | None:
    """Suspect a server that takes long to answer, by the client's record."""
    spent = case.intervals.spent_ns(TimeClass.SERVER_THINK)
    if not _long(case, spent):
        return None
    return Suspicion(
        "server_think",
        f"Answers begin later than a round trip after their requests, in {_share(case, spent)} of the time.",
        spent,
        _intervals_seen(case, TimeClass.SERVER_THINK),
        "Repeat the transfer with a server that answers at once.",
    )


def pacing(case: Case) -> Suspicion | None:
    """Suspect a pacer that sends more slowly than window and path allow."""
    spent = case.intervals.spent_ns(TimeClass.PACING)
    if case.pauses is None or not _long(case, spent):
        return None
    pacing_bps = case.recording.figures.pacing_bps.value
    rate = f" at {np.median(pacing_bps) / 1e6:.3g} Mbit/s in the median" if len(pacing_bps) else ""
    return Suspicion(
        "pacing_limited",
        f"The window has room, and the sender spreads its packets{rate}, in {_share(case, spent)} of the time.",
        spent,
        _intervals_seen(case, TimeClass.PACING),
        "Repeat the transfer without pacing.",
        {"server_knobs.pacing": False},
    )


def window_capped(case: Case) -> Suspicion | None:
    """Suspect a largest window: it stays at one value, in use, without a loss, and the path holds more."""
    cwnd, rtt = case.recording.figures.cwnd_bytes, case.path.shortest_rtt_ns
    spent = case.intervals.spent_ns(TimeClass.CONGESTION_WINDOW)
    if case.pauses is None or not rtt or not len(cwnd.value) or not _long(case, spent):
        return None
    largest = int(cwnd.value.max())
    since, until = _longest_at(cwnd, largest, case.recording.end_ns)
    lost = case.recording.lost.time_ns
    calm = not ((lost >= since) & (lost <= until)).any()
    queue = case.waits[0]
    queued = ((queue >= since) & (queue <= until)).any()
    if until - since < _CAPPED_RTTS * rtt or not calm or queued:
        return None
    return Suspicion(
        "window_capped",
        f"The window stays at {units.print_bytes(largest)} for {(until - since) / rtt:.0f} round trips without a loss.",
        min(spent, until - since),
        [Seen(since, f"window of {units.print_bytes(largest)}"), Seen(until, "it changes, or the transfer ends")],
        "Repeat the transfer with a largest window of 10,000 packets.",
        {"server_knobs.max_window": 10_000},
    )


def window_pinned(case: Case) -> Suspicion | None:
    """Suspect a window that stays at its minimum although nothing is lost."""
    cwnd, rtt = case.recording.figures.cwnd_bytes, case.path.shortest_rtt_ns
    if case.pauses is None or not rtt or not len(cwnd.value):
        return None
    least = int(cwnd.value.min())
    since, until = _longest_at(cwnd, least, case.recording.end_ns)
    lost = case.recording.lost.time_ns
    small = least <= _SMALL_PACKETS * case.pauses.packet_bytes
    if not small or until - since < _CAPPED_RTTS * rtt or ((lost > since) & (lost <= until)).any():
        return None
    spent = case.intervals.spent_ns(TimeClass.CONGESTION_WINDOW, TimeClass.PACING)
    if not _long(case, min(spent, until - since)):
        return None
    return Suspicion(
        "window_pinned",
        f"The window stays at {units.print_bytes(least)} for {(until - since) / rtt:.0f} round trips without a loss.",
        min(spent, until - since),
        [Seen(since, f"window of {units.print_bytes(least)}")],
        "Repeat the transfer with another congestion controller, and with a larger smallest window.",
        {"server_knobs.min_window": 10},
    )


def early_exit(case: Case) -> Suspicion | None:
    """Suspect a slow start that ends without a loss, below what the path holds."""
    states, product = case.recording.states, case.path.product_bytes
    spent = _window_ns(case, "congestion avoidance")
    if case.pauses is None or product is None or not _long(case, spent):
        return None
    left = next((each for each in states if each.name == "congestion_avoidance"), None)
    if left is None or (case.recording.lost.time_ns <= left.time_ns).any():
        return None
    window = int(case.recording.figures.cwnd_bytes.at(np.array([left.time_ns]), 0)[0])
    if not 0 < window < _BELOW_PATH * product:
        return None
    return Suspicion(
        "slow_start_early_exit",
        f"Slow start ends at {units.print_bytes(window)} without a loss; the path holds about "
        f"{units.print_bytes(int(product))}.",
        spent,
        [Seen(left.time_ns, f"congestion avoidance from a window of {units.print_bytes(window)} on")],
        "Repeat the transfer without HyStart.",
        {"server_knobs.hystart": False},
    )


def self_queueing(case: Case) -> Suspicion | None:
    """Suspect a standing queue: round trips several times as long as the shortest one."""
    shortest, median = case.path.shortest_rtt_ns, case.path.median_rtt_ns
    spent = case.intervals.spent_ns(TimeClass.PATH)
    if not shortest or not median or median < 2 * shortest + MIN_QUEUE_NS or not _long(case, spent):
        return None
    longest = int(np.argmax(case.trips.length_ns))
    return Suspicion(
        "self_queueing",
        f"Packets wait in a long queue: the median round trip is {median / 1e6:.3g} ms, the shortest "
        f"{shortest / 1e6:.3g} ms. A bulk transfer loses nothing by it, a request behind it does.",
        spent,
        [
            Seen(
                int(case.trips.sent_ns[longest]),
                f"a packet whose round trip is {int(case.trips.length_ns[longest]) / 1e6:.3g} ms",
            )
        ],
        "Repeat the transfer with a queue of one bandwidth-delay product.",
        {"network.queue": "1bdp"},
    )


def receiver_discards(case: Case) -> Suspicion | None:
    """Suspect a receiver that throws packets away."""
    discarded = [each for each in case.recording.discarded if each.name in ("rejected", "dos_prevention")]
    if case.pauses is not None or not discarded:
        return None
    return Suspicion(
        "receiver_discards",
        f"This end threw {len(discarded)} packets away for want of room.",
        case.intervals.spent_ns(TimeClass.TIMER, TimeClass.CONGESTION_WINDOW),
        [Seen(each.time_ns, f"discarded: {each.name}") for each in discarded[:MOST_EVIDENCE]],
        "Repeat the transfer with a client that has more processor.",
    )


def missing_packets(case: Case) -> Suspicion | None:
    """Suspect losses by the receiver's record: numbers that did not arrive, and pauses behind them."""
    spent = case.intervals.spent_ns(TimeClass.TIMER, TimeClass.CONGESTION_WINDOW)
    if case.pauses is not None or case.path.lost_packets < _LEAST_LOSSES or not _long(case, spent):
        return None
    places = np.flatnonzero(holes_before(case.data)).tolist()
    seen = [Seen(int(case.data.time_ns[at]), "numbers before it are missing", _number(case.data, at)) for at in places]
    return Suspicion(
        "random_loss_response",
        f"{case.path.lost_packets} packet numbers did not arrive ({case.path.lost_share or 0:.2%}): packets were lost, "
        "or their sender skipped numbers.",
        spent,
        seen[:MOST_EVIDENCE],
        "Repeat the transfer on a path without loss; the sender's trace would say which numbers it sent.",
        {"network.loss": "0%"},
    )


SIGNS: Sequence[Sign] = (
    handshake,
    credit,
    initial_window,
    loss_response,
    policed,
    spurious,
    timers,
    application,
    idle,
    server_think,
    pacing,
    window_capped,
    window_pinned,
    early_exit,
    self_queueing,
    receiver_discards,
    missing_packets,
)


def _probes(case: Case) -> list[tuple[int, int, int | None]]:
    """Return when packets left by a timer that is not logged, after how many ns, and their numbers."""
    if case.pauses is None:
        return []
    places = np.flatnonzero(probing(case.recording, case.pauses)).tolist()
    length = case.pauses.length_ns
    return [(int(case.pauses.end_ns[at]), int(length[at]), _number(case.data, at + 1)) for at in places]


def _share(case: Case, spent_ns: int) -> str:
    return f"{spent_ns / max(case.total_ns, 1):.0%}".replace("%", " %")


def _window_ns(case: Case, *details: str) -> int:
    sums = case.intervals.sums()
    return sum(sums.get((TimeClass.CONGESTION_WINDOW, detail), 0) for detail in details)


def _pairs(packets: Packets) -> list[tuple[int, int]]:
    return list(zip(packets.time_ns.tolist(), packets.number.tolist(), strict=True))


def _number(packets: Packets, place: int) -> int | None:
    number = int(packets.number[place])
    return number if number >= 0 else None


def _count(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def _rates_at(case: Case, times_ns: Integers, rtt_ns: int) -> npt.NDArray[np.float64]:
    """Return the rate in bit/s at which this end had sent in the round trip before some moments."""
    sums = np.concatenate([[0], np.cumsum(np.maximum(case.data.size_bytes, 0))])
    first = np.searchsorted(case.data.time_ns, times_ns - 2 * rtt_ns)
    last = np.searchsorted(case.data.time_ns, times_ns - rtt_ns)
    return np.asarray((sums[last] - sums[first]) * 8e9 / rtt_ns, np.float64)


def _longest_at(steps: Steps, value: int, end_ns: int) -> tuple[int, int]:
    """Return begin and end of the longest stretch in which a series has a value, 0 and 0 if it never has."""
    ends = np.append(steps.time_ns[1:], end_ns)
    own = np.concatenate([[False], steps.value == value, [False]])
    first, last = np.flatnonzero(own[1:] & ~own[:-1]), np.flatnonzero(own[:-1] & ~own[1:]) - 1
    if not len(first):
        return 0, 0
    longest = int(np.argmax(ends[last] - steps.time_ns[first]))
    return int(steps.time_ns[first[longest]]), int(ends[last[longest]])
