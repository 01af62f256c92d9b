"""Causes: properties of the path, such as devices that drop packets, other flows, and sizes of packets."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from longlook.core import Vantage
from longlook.explain import (
    MOST_EVIDENCE,
    QUEUE_REASONS,
    RANDOM_REASONS,
    SENDER_WAITS,
    UNNUMBERED,
    Booleans,
    Cause,
    Change,
    Evidence,
    Finding,
    Integers,
    Intervention,
    LedgerClass,
    Pair,
    Says,
    SenderFacts,
    Side,
    Sign,
    Steps,
    Target,
    Touches,
    Untestable,
    changes,
    datagram_bytes,
    dropped_for,
    drops,
    drops_shown,
    during,
    integers,
    stretches,
    stretches_shown,
)
from longlook.timeline import Kind

Floats = npt.NDArray[np.float64]

_POLICED_CLASSES = (LedgerClass.FALLBACK, LedgerClass.HANDSHAKE, *SENDER_WAITS)
_LEAST_LOSSES = 10
"""With fewer the rate that passes is not known."""
_MOST_ROUND_TRIP = 1.25
"""The round trip at a loss, as a multiple of the shortest: a queue of a quarter of the BDP makes as much."""
_MOST_OF_LOSSES = 0.8
"""The share of the losses that must look like losses at a limit."""


@dataclass(frozen=True)
class RateLimit:
    """A limit of the rate that the losses of a sender's log show."""

    rate_bps: float
    lost_ns: Integers  # when the lost packets were sent
    numbers: Integers
    round_trip_ratio: float  # median at the losses, as a multiple of the shortest


def policed_sign(pair: Pair) -> Sign | None:
    """Return a sign if the loser's sender loses packets whenever it has sent more than one steady rate, with round
    trips that are hardly longer than the shortest, and the winner's sender does not.
    """
    side = pair.loser
    limit = limit_of(side)
    if limit is None or limit_of(pair.winner) is not None:
        return None
    text = (
        f"a packet is lost beyond {limit.rate_bps / 1e6:.2f} Mbit/s, and no queue grows: "
        f"at losses the round trip is {limit.round_trip_ratio:.2f} times the shortest"
    )
    shown = [
        Evidence(int(at_ns) - side.start_ns, text, (int(number),))
        for at_ns, number in zip(limit.lost_ns[:MOST_EVIDENCE], limit.numbers[:MOST_EVIDENCE], strict=True)
    ]
    more = len(limit.lost_ns) - len(shown)
    shown += [Evidence(int(limit.lost_ns[-1]) - side.start_ns, f"and {more} more")] * (more > 0)
    return Sign(pair.excess_ns(*_POLICED_CLASSES), tuple(shown), dose=limit.rate_bps / 1e6)


def limit_of(side: Side) -> RateLimit | None:
    """Return the limit that the server's log shows; None if it shows none, or has no numbered packets or no times.

    The rate is the rate of delivery from the first loss to the last. A token bucket of that rate, empty at the first
    loss, is then filled and emptied by the log: a limit loses packets while it is empty, other causes at any time.
    """
    sender = side.server
    if sender is None or sender.latest_rtt is None:
        return None
    sent_ns, size_bytes, number, lost = _sent(side, sender)
    places = np.flatnonzero(lost)
    if len(places) < _LEAST_LOSSES:
        return None
    ratios = _round_trips(sender.latest_rtt, sent_ns[lost])
    if float((ratios <= _MOST_ROUND_TRIP).mean()) < _MOST_OF_LOSSES:
        return None
    first, last = int(places[0]), int(places[-1])
    span_ns = int(sent_ns[last] - sent_ns[first])
    passed_bytes = int(size_bytes[first:last][~lost[first:last]].sum())
    if span_ns <= 0 or passed_bytes == 0:
        return None
    within = slice(first, last + 1)
    tokens = _tokens(sent_ns[within], size_bytes[within], lost[within], passed_bytes / span_ns)
    empty = tokens < 2 * float(size_bytes[lost].max())
    of_losses, of_others = float(empty[lost[within]].mean()), float(empty[~lost[within]].mean())
    if of_losses < _MOST_OF_LOSSES or of_others >= of_losses:
        return None
    return RateLimit(8e9 * passed_bytes / span_ns, sent_ns[lost], number[lost], float(np.median(ratios)))


def _sent(side: Side, sender: SenderFacts) -> tuple[Integers, Integers, Integers, Booleans]:
    """Return when the load's packets were sent, their sizes and numbers, and which were lost in truth."""
    inside = during(side, sender.sent.time_ns) & (sender.sent.packet_number != UNNUMBERED)
    number = sender.sent.packet_number[inside]
    delivered = np.concatenate([sender.spurious.packet_number, sender.refused.packet_number])
    gone = np.setdiff1d(sender.lost.packet_number, delivered)
    lost = np.isin(number, gone[gone != UNNUMBERED])
    return sender.sent.time_ns[inside], sender.sent.size_bytes[inside], number, lost


def _round_trips(measured: Steps, times_ns: Integers) -> Floats:
    """Return the latest round trips at some times, as multiples of the shortest of all."""
    shortest_ns = int(measured.value.min())
    found: Floats = measured.at(times_ns, shortest_ns) / max(shortest_ns, 1)
    return found


def _tokens(sent_ns: Integers, size_bytes: Integers, lost: Booleans, bytes_per_ns: float) -> Floats:
    """Return what a bucket holds when each packet meets it, in bytes; it is empty when the first does."""
    taken = np.where(lost, 0, size_bytes)
    before = np.concatenate(([0], np.cumsum(taken)[:-1]))
    level = (sent_ns - sent_ns[0]) * bytes_per_ns - before
    found: Floats = level - np.minimum.accumulate(np.minimum(level, 0))
    return found


def policed_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return a path that does not limit the rate for both arms."""
    return [
        changes.cure(Touches.OCCASION, Target.BOTH, changes.path({"udp_rate": "off"}, "no limit of the rate of UDP"))
    ]


POLICED = Cause(
    name="policed",
    title="Policed",
    sentence="where the path passes about {dose:.2f} Mbit/s and drops the rest, and no queue grows",
    source="Flach et al., SIGCOMM 2016, 3.1 (how policing shows in traces); Langley et al., SIGCOMM 2017, 7.2",
    role="path",
    classes=_POLICED_CLASSES,
    needs=("packet_sent", "packet_lost", "metrics"),
    detect=policed_sign,
    interventions=policed_changes,
    cured_by="no limit of the rate",
    says=Says.WHERE,
)
"""The rate of the path is limited by dropping what is too much, as the sender's own log shows: loss without a queue."""


_MIDDLEBOX_REASONS = {"block": "block", "police": "udp_rate", "cutoff": "udp_cutoff"}
"""Reasons of drops, and the setting that makes each."""
_MIDDLEBOX_CLASSES = (LedgerClass.FALLBACK, LedgerClass.HANDSHAKE, *SENDER_WAITS)


def middlebox_sign(pair: Pair) -> Sign | None:
    """Return a sign if a rule of the path dropped packets of the loser, and the loser waits for longer."""
    side = pair.loser
    for link in (side.down, side.up):
        lost = dropped_for(side, link, *_MIDDLEBOX_REASONS)
        if lost.any():
            shown = drops_shown(side, link, lost, "a middlebox drops a packet by its rule")
            return Sign(pair.excess_ns(*_MIDDLEBOX_CLASSES), shown, dose=float(lost.sum()))
    return None


def middlebox_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return a path without such rules for both arms."""
    return [
        changes.cure(
            Touches.OCCASION,
            Target.BOTH,
            changes.path(dict.fromkeys(_MIDDLEBOX_REASONS.values(), "off"), "no middlebox's rules"),
        )
    ]


MIDDLEBOX = Cause(
    name="middlebox",
    title="Rules of a middlebox",
    sentence="where a middlebox drops packets by its rule (about {dose:.0f} a load)",
    source="Flach et al., SIGCOMM 2016 (traffic policing); Kühlewind and Trammell, RFC 8517",
    role="path",
    classes=_MIDDLEBOX_CLASSES,
    needs=(),
    detect=middlebox_sign,
    interventions=middlebox_changes,
    cured_by="a path without the rules",
    says=Says.WHERE,
)
"""A middlebox of the path drops packets by a rule: blocked, policed, or cut off."""


_MTU_BLACK_HOLE_REASONS = ("mtu", "size_filter")
_MTU_BLACK_HOLE_CLASSES = (LedgerClass.FALLBACK, LedgerClass.HANDSHAKE, *SENDER_WAITS)
_SMALL_BYTES = 1200


def mtu_black_hole_sign(pair: Pair) -> Sign | None:
    """Return a sign if the path dropped packets of the loser for their size, and the loser waits for longer."""
    side = pair.loser
    for link in (side.down, side.up):
        lost = dropped_for(side, link, *_MTU_BLACK_HOLE_REASONS)
        if lost.any():
            largest = int(link.size_bytes[lost].max())
            shown = drops_shown(side, link, lost, f"a packet is dropped for its size, {largest} bytes")
            return Sign(pair.excess_ns(*_MTU_BLACK_HOLE_CLASSES), shown, dose=float(lost.sum()))
    return None


def mtu_black_hole_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return a path that lets all sizes pass for both arms, and small packets for the loser."""
    every_size = changes.path({"mtu": "off", "drop_larger": "off"}, "a path that lets all sizes pass")
    small = changes.tuned(
        pair.loser.trial,
        "server",
        {"disable_pmtud": True, "max_udp_payload": _SMALL_BYTES, "initial_packet_size": _SMALL_BYTES},
        {"tcp_mss": f"{_SMALL_BYTES}B"},
        f"packets of {_SMALL_BYTES} bytes",
    )
    return [
        changes.cure(Touches.OCCASION, Target.BOTH, every_size),
        changes.cure(Touches.MECHANISM, Target.LOSER, small),
    ]


MTU_BLACK_HOLE = Cause(
    name="mtu_black_hole",
    title="Packets too large for the path",
    sentence="some of its packets (about {dose:.0f} a load) are dropped by the path for their size",
    source="RFC 8899; RFC 2923; RFC 9000, 14",
    role="path",
    classes=_MTU_BLACK_HOLE_CLASSES,
    needs=(),
    detect=mtu_black_hole_sign,
    interventions=mtu_black_hole_changes,
    cured_by="a path that lets all sizes pass; small packets",
    where="where the path drops packets for their size",
)
"""The path drops packets above a size, and the sender has to find that out."""


_SMALL_PAYLOAD_CLASSES = (LedgerClass.LINK_OVERHEAD,)
_LESS = 0.97
_SMALLEST_BYTES, _LARGEST_BYTES = 1200, 1452
_TCP_OPTIONS_BYTES = 12
"""The bytes of the timestamps that each packet carries."""


def small_payload_sign(pair: Pair) -> Sign | None:
    """Return a sign if the loser's packets carry less data than the winner's, and more time goes into headers."""
    own, other = data_per_packet(pair.loser), data_per_packet(pair.winner)
    if own is None or other is None or own > _LESS * other:
        return None
    shown = Evidence(0, f"a packet carries {own:.0f} bytes of data, in the other arm {other:.0f}")
    return Sign(pair.excess_ns(*_SMALL_PAYLOAD_CLASSES), (shown,), dose=own)


def data_per_packet(side: Side) -> float | None:
    """Return how much data the load's packets to the client carry in the median; None if it has none."""
    link = side.down
    own = link.ours & link.carries_data & link.delivered
    return float(np.median((link.size_bytes - link.overhead_bytes)[own])) if own.any() else None


def small_payload_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return packets of the winner's size for the loser, the loser's size for the winner, and sizes as doses."""
    own, other = datagram_bytes(pair.loser), datagram_bytes(pair.winner)
    doses = [(float(size), _sized(pair.loser, size)) for size in (_SMALLEST_BYTES, 1350, _LARGEST_BYTES)]
    return [
        changes.cure(Touches.MECHANISM, Target.LOSER, _sized(pair.loser, max(own, other))),
        changes.transplant(Touches.MECHANISM, _sized(pair.winner, own)),
        *changes.doses(Touches.MECHANISM, Target.LOSER, doses),
    ]


def _sized(side: Side, size_bytes: int) -> Change | str:
    """Return the change to a payload of UDP, or of TCP without its options; why not, below what QUIC may send."""
    if changes.over_quic(side.trial) and size_bytes < _SMALLEST_BYTES:
        return f"packets of {size_bytes} bytes: no knob goes below the {_SMALLEST_BYTES} that RFC 9000 asks for"
    udp_bytes = min(size_bytes, _LARGEST_BYTES)
    segment = min(max(size_bytes + _TCP_OPTIONS_BYTES, 256), 1460)
    settings = {"max_udp_payload": udp_bytes, "initial_packet_size": udp_bytes}, {"tcp_mss": f"{segment}B"}
    label, seen = f"packets of {udp_bytes} bytes", datagram_bytes(side)
    return changes.tuned(side.trial, "server", *settings, label, seen)


SMALL_PAYLOAD = Cause(
    name="small_payload",
    title="Small packets",
    sentence="its packets carry only {dose:.0f} bytes of data each, so that headers take more of the link's time",
    source="RFC 8899; RFC 9000, 14; RFC 6691",
    role="server",
    classes=_SMALL_PAYLOAD_CLASSES,
    needs=(),
    detect=small_payload_sign,
    interventions=small_payload_changes,
    cured_by="packets of the winner's size",
)
"""Packets carry less data than the winner's, so that more of the bottleneck's time goes into headers."""


_CHANGED = "client's port changed"
_PATH_CHANGE_CLASSES = (*SENDER_WAITS, LedgerClass.REQUEST, LedgerClass.SERVER_THINK)


def path_change_sign(pair: Pair) -> Sign | None:
    """Return a sign if the client's port changes in the loser's load, and the loser waits for longer."""
    side = pair.loser
    times = rebound(side)
    if len(times) == 0:
        return None
    lost = int((drops(side, side.down)).sum())
    shown = tuple(
        Evidence(time_ns - side.start_ns, "packets to the server come from another port")
        for time_ns in times[:MOST_EVIDENCE].tolist()
    )
    counted = (Evidence(0, f"{lost} packets to the client are dropped"),) if lost else ()
    return Sign(pair.excess_ns(*_PATH_CHANGE_CLASSES), (*shown, *counted), dose=float(len(times)))


def rebound(side: Side) -> Integers:
    """Return when the first packet with another port passed the link, for each change within the load."""
    rows = side.timeline.select(Kind.PACKET_DELIVERED, Vantage.LINK)
    texts = rows["detail"].to_pylist()
    changed = np.array([text is not None and _CHANGED in text for text in texts], np.bool_)
    upward = np.array([text == "up" for text in rows["direction"].to_pylist()], np.bool_)
    times = integers(rows["time_ns"])
    order = np.flatnonzero(upward)[np.argsort(times[upward], kind="stable")]
    begins = changed[order] & ~np.concatenate([[False], changed[order][:-1]])
    found = times[order][begins]
    return np.asarray(found[during(side, found)], np.int64)


def path_change_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return a path on which the client keeps its port, for both arms."""
    kept = changes.both_ways({"rebind_at": "off", "nat_timeout": "off"}, "a client that keeps its port")
    return [changes.cure(Touches.OCCASION, Target.BOTH, kept)]


PATH_CHANGE = Cause(
    name="path_change",
    title="Changed address",
    sentence="where its client's address changes while it loads",
    source="RFC 9000, 9",
    role="path",
    classes=_PATH_CHANGE_CLASSES,
    needs=(),
    detect=path_change_sign,
    interventions=path_change_changes,
    cured_by="a client that keeps its address",
    says=Says.WHERE,
)
"""The client's address changes in the middle of the load, and the connection has to follow."""


_COMPETITION_CLASSES = (LedgerClass.LINK_OTHERS,)


def competition_sign(pair: Pair) -> Sign | None:
    """Return a sign if others take more of the bottleneck's time from the loser than from the winner."""
    more_ns, side = pair.excess_ns(*_COMPETITION_CLASSES), pair.loser
    if more_ns <= 0:
        return None
    found = stretches(side, *_COMPETITION_CLASSES)
    shown = stretches_shown(side, found, "the bottleneck serves others while packets of the load wait")
    return Sign(more_ns, shown, dose=found.total_ns / 1e6)


def competition_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return a queue of its own for each flow, which gives all the same share, for both arms."""
    fair = changes.path({"aqm": "fq_codel", "queue": "10240packets"}, "FQ-CoDel, which shares between flows")
    return [changes.cure(Touches.OCCASION, Target.BOTH, fair)]


COMPETITION = Cause(
    name="competition",
    title="Others at the bottleneck",
    sentence="while the bottleneck serves other traffic, for {dose:.0f} ms in which its packets wait",
    source="Ware et al., HotNets 2019; RFC 8290",
    role="path",
    classes=_COMPETITION_CLASSES,
    needs=(),
    detect=competition_sign,
    interventions=competition_changes,
    cured_by="FQ-CoDel",
    says=Says.WHERE,
)
"""The bottleneck serves others while the load has packets waiting."""


_MOVING = ("access", "jitter")


def phase_artefact_sign(pair: Pair) -> Sign | None:
    """Return a sign if a drop-tail queue drops more of the loser's packets and nothing moves their phase.

    An access delay, jitter and losses move it within a trial, and settings that rounds draw move it between them.
    """
    side = pair.loser
    lost = dropped_for(side, side.down, *QUEUE_REASONS)
    others = dropped_for(pair.winner, pair.winner.down, *QUEUE_REASONS)
    moved = changes.has_stage(side, *_MOVING, *RANDOM_REASONS) or side.trial.drawn
    if lost.sum() <= others.sum() or moved or not changes.has_stage(side, "rate"):
        return None
    shown = drops_shown(side, side.down, lost, "a packet finds the queue full, by less than one packet's time")
    return Sign(pair.excess_ns(*SENDER_WAITS), shown, dose=float(lost.sum()))


def phase_artefact_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return senders that wait up to a packet's time at random, for both arms."""
    delayed = changes.both_ways({"access_delay": "packet"}, "a random delay of up to a packet's time at the senders")
    return [changes.cure(Touches.OCCASION, Target.BOTH, delayed)]


PHASE_ARTEFACT = Cause(
    name="phase_artefact",
    title="Phase effect",
    sentence="where packets meet a full queue in a rhythm that senders without noise never leave",
    source="Floyd and Jacobson, 1991, Traffic phase effects in packet-switched gateways",
    role="path",
    classes=SENDER_WAITS,
    needs=(),
    detect=phase_artefact_sign,
    interventions=phase_artefact_changes,
    cured_by="a random delay at the senders",
    says=Says.WHERE,
)
"""Which arm's packet finds the queue full is decided by fractions of a packet's time, which no real end repeats."""


CAUSES = (POLICED, MIDDLEBOX, MTU_BLACK_HOLE, SMALL_PAYLOAD, PATH_CHANGE, COMPETITION, PHASE_ARTEFACT)
