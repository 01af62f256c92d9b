"""Causes: receivers that read, acknowledge or deliver late, or have no room for a datagram."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from longlook.core import Processor, text_of, times
from longlook.explain import (
    MOST_EVIDENCE,
    NEVER,
    Cause,
    Change,
    Evidence,
    Finding,
    Integers,
    Intervention,
    LedgerClass,
    ObjectFacts,
    Pair,
    Says,
    Side,
    Sign,
    Stretches,
    Surgery,
    Target,
    Touches,
    Untestable,
    bounded_ns,
    changes,
    drops,
    during,
    hold,
    numbers,
    refused,
    stretches,
    stretches_shown,
    thrown_away,
    wait_ns,
)
from longlook.timeline import tcp_waits

_SLOW_READER_CLASSES = (
    LedgerClass.PROPAGATION,
    *(LedgerClass.STREAM_CREDIT, LedgerClass.CONNECTION_CREDIT),
    *(LedgerClass.HTTP2_STREAM_CREDIT, LedgerClass.HTTP2_CONNECTION_CREDIT),
    LedgerClass.CLIENT_IDLE,
)
_CREDIT = tuple(name for name in _SLOW_READER_CLASSES if name.endswith("_credit"))
_LATE_NS = 1_000_000
_HOLD = "its last packet with data held back for as long as the loser's client takes to read"
_SHARES = ("25%", "50%", "100%")
_PARTS = (Fraction(1, 4), Fraction(1, 2), Fraction(1))


def slow_reader_sign(pair: Pair) -> Sign | None:
    """Return a sign if the loser's client finishes objects more than a millisecond after their last packet, or gives
    credit that its server waits for so much later than all data had arrived.
    """
    side = pair.loser
    (late_ns, objects), (held_ns, until_ns) = late(side), late_credit(side)
    total_ns = int(late_ns.sum() + held_ns.sum())
    if max(late_ns.max(initial=0), held_ns.max(initial=0)) < _LATE_NS or total_ns <= _total_ns(pair.winner):
        return None
    read = [
        Evidence(
            int(objects.done_ns[place]) - side.start_ns,
            f"{objects.path[place]} is read {late_ns[place] / 1e6:.1f} ms after its last packet came",
        )
        for place in np.flatnonzero(late_ns >= _LATE_NS)[:MOST_EVIDENCE]
    ]
    given = [
        Evidence(
            int(until_ns[place]) - side.start_ns,
            f"credit that the server waits for comes {held_ns[place] / 1e6:.1f} ms after all data has arrived",
        )
        for place in np.flatnonzero(held_ns >= _LATE_NS)[:MOST_EVIDENCE]
    ]
    shown = tuple(sorted((*given, *read), key=lambda one: one.time_ns))
    costs_ns = bounded_ns(pair, total_ns, *_SLOW_READER_CLASSES)
    return Sign(costs_ns, shown, dose=total_ns / 1e6, transplant=_held(pair.winner, costs_ns))


def _held(side: Side, time_ns: int) -> Surgery | None:
    """Return surgery that holds back the last packet with data for a time, as if it were read so much later."""
    link = side.down
    data = np.flatnonzero(link.ours & link.delivered & link.carries_data & ~link.copy & during(side, link.departure_ns))
    if len(data) == 0 or time_ns <= 0:
        return None
    return Surgery(down=hold(link, data[[np.argmax(link.departure_ns[data])]], time_ns))


def _total_ns(side: Side) -> int:
    return int(late(side)[0].sum() + late_credit(side)[0].sum())


def late_credit(side: Side) -> tuple[Integers, Integers]:
    """Return for each wait of the server for credit how much later than the last data reached the client it sent the
    packet that ended the wait, and when, in ns.

    A client that reads at once gives credit while data arrives: then nothing is late, however small its window is.
    """
    waits, down, up = stretches(side, *_CREDIT).joined(), side.down, side.up
    asked = np.flatnonzero(up.ours & up.delivered)
    asked = asked[np.argsort(up.departure_ns[asked], kind="stable")]
    came = np.sort(down.departure_ns[down.ours & down.delivered & down.carries_data])
    place = np.searchsorted(up.departure_ns[asked], waits.end_ns, side="right") - 1
    known = (place >= 0) & (len(came) > 0)
    sent_ns = up.arrival_ns[asked][place[known]]
    last = np.searchsorted(came, sent_ns, side="right") - 1
    began = last >= 0
    held_ns = sent_ns[began] - np.maximum(came[last[began]], waits.begin_ns[known][began])
    return np.maximum(held_ns, 0), sent_ns[began]


def late(side: Side) -> "tuple[np.ndarray, ObjectFacts]":
    """Return by how much later than its last packet came the client had each object on the critical path, in ns."""
    objects, link = ObjectFacts.of(side.timeline, side.trial), side.down
    own = np.sort(link.departure_ns[link.ours & link.delivered & link.carries_data])
    if len(own) == 0:
        return np.zeros(0, np.int64), objects
    place = np.searchsorted(own, objects.done_ns, side="right") - 1
    behind = objects.done_ns - own[np.maximum(place, 0)]
    return np.where((place >= 0) & objects.critical, behind, 0), objects


def slow_reader_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return all of a CPU for the loser's client, parts of it as doses, and the loser's processor for the winner's.

    If the client has all of a CPU, its own program reads late. The changes are then the winner's client for the loser,
    and the winner's last packet held back by as much.
    """
    own = pair.loser.trial.processors.get("client")
    if own is not None:
        return [
            *(
                changes.cure(Touches.MECHANISM, Target.LOSER, change)
                for change in changes.freed(pair.loser.trial, "client")
            ),
            changes.transplant(Touches.MECHANISM, _with_processor(own, "the loser's processor")),
            *changes.doses(
                Touches.MECHANISM,
                Target.LOSER,
                [
                    (float(part), _with_processor(times(own, part), f"a client on which all takes {part} of the time"))
                    for part in _PARTS
                ],
            ),
        ]
    share = pair.loser.trial.client_cpu_share
    if share is None:
        return [
            changes.cure(
                Touches.MECHANISM,
                Target.LOSER,
                "the client has all of a CPU already; a build of it that reads sooner would be needed",
            ),
            changes.cure(Touches.PROGRAM, Target.LOSER, changes.winners_program(pair, "client")),
            changes.transplant(Touches.OCCASION, changes.inflicted(finding, _HOLD, "the winner has no packet to hold")),
        ]
    doses = [(float(text.rstrip("%")), _limited(text)) for text in _SHARES]
    return [
        changes.cure(Touches.MECHANISM, Target.LOSER, _limited("off")),
        changes.transplant(Touches.MECHANISM, _limited(f"{100 * share:g}%")),
        *changes.doses(Touches.MECHANISM, Target.LOSER, doses),
    ]


def _with_processor(processor: Processor, label: str) -> Change:
    return Change(label, {"client_processor": text_of(processor)})


def _limited(share: str) -> Change:
    label = "a client without a limit of its CPU" if share == "off" else f"a client with {share} of a CPU"
    return Change(label, {"client_cpu": share})


SLOW_READER = Cause(
    name="slow_reader",
    title="Slow client",
    sentence="its client reads data, or gives credit for more, {dose:.0f} ms later than data arrives",
    source="Kakhki et al., IMC 2017, 5.2 (mobile devices); Zhang et al., WWW 2024",
    role="client",
    classes=_SLOW_READER_CLASSES,
    needs=(),
    detect=slow_reader_sign,
    interventions=slow_reader_changes,
    cured_by="more of a CPU for the client; the winner's client",
    where="where its client takes what has arrived",
)
"""The client takes what arrives later than it arrives."""


_ACK_STARVATION_CLASSES = (LedgerClass.ACK_WAIT, LedgerClass.CONGESTION_WINDOW, LedgerClass.TIMER)
_FEW, _TIMES_AS_FEW, _LOST, _LATE = 4, 2, 0.1, 0.5
_RARE = 10
_MATTERS = 0.25
"""The part of a round trip, in packets or in time, below which an acknowledgement that is later changes little."""
_THRESHOLDS = (1, 2, 5, _RARE)


@dataclass(frozen=True)
class Acknowledging:
    """The acknowledging of a load. Data packets are counted for each packet back, also as a share of the data packets
    of a round trip. Beside them are the share of packets back that were lost and their mean wait in the uplink, and the
    mean time that data waits at the client for the next packet back.
    """

    data_per_packet: float
    share_of_flight: float
    lost_share: float
    wait_ns: float
    held_ns: float

    @classmethod
    def of(cls, side: Side) -> "Acknowledging | None":
        """Return how a side's load was acknowledged; None if nothing came back."""
        up, down = side.up, side.down
        back = up.ours & during(side, up.arrival_ns) & ~up.copy
        data = down.ours & down.delivered & down.carries_data & during(side, down.arrival_ns)
        arrived = back & up.delivered
        if not arrived.any():
            return None
        lost = int(drops(side, up).sum()) / int(back.sum())
        each = int(data.sum()) / int(arrived.sum())
        flight = int(data.sum()) * side.round_trip_ns / max(side.load_ns, 1)
        waits = float(wait_ns(up)[arrived].mean())
        return cls(each, each / max(flight, 1.0), lost, waits, _held_ns(down.departure_ns[data], up.arrival_ns[back]))


def _held_ns(reached_ns: Integers, back_ns: Integers) -> float:
    """Return how long after data reached the client it sent something back, on average over data that it answered."""
    place = np.searchsorted(np.sort(back_ns), reached_ns, side="left")
    waits = np.append(np.sort(back_ns), NEVER)[place] - reached_ns
    return float(waits[place < len(back_ns)].mean()) if (place < len(back_ns)).any() else 0.0


def ack_starvation_sign(pair: Pair) -> Sign | None:
    """Return a sign if the loser's acknowledgements are half as frequent as the winner's and stand for a part of a
    round trip that matters, or are lost or late.
    """
    own, other = Acknowledging.of(pair.loser), Acknowledging.of(pair.winner)
    if own is None or other is None:
        return None
    texts = {
        f"one packet back for {own.data_per_packet:.1f} packets with data, in the other arm for "
        f"{other.data_per_packet:.1f}": own.data_per_packet >= max(_FEW, _TIMES_AS_FEW * other.data_per_packet)
        and own.share_of_flight >= _MATTERS,
        f"data waits at the client for {own.held_ns / 1e6:.1f} ms until it sends something back, in the other arm for "
        f"{other.held_ns / 1e6:.1f} ms": own.held_ns
        >= max(_TIMES_AS_FEW * other.held_ns, _MATTERS * pair.loser.round_trip_ns, 1),
        f"{100 * own.lost_share:.0f} % of the packets to the server are lost": own.lost_share >= _LOST,
        f"packets to the server wait for {own.wait_ns / 1e6:.1f} ms": own.wait_ns
        >= _LATE * max(pair.loser.round_trip_ns, 1),
    }
    shown = tuple(Evidence(0, text) for text, holds in texts.items() if holds)
    return Sign(pair.excess_ns(*_ACK_STARVATION_CLASSES), shown, dose=own.data_per_packet) if shown else None


def ack_starvation_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return frequent acknowledgements for the loser, rare ones for the winner; where the uplink holds them back, rare
    ones for the loser, and an uplink that holds none back.
    """
    own, rate_bps = Acknowledging.of(pair.loser), pair.loser.up.rate_bps
    rarer = max(_RARE, 2 * round(finding.dose or 0))
    held_back = own is not None and (own.lost_share >= _LOST or own.wait_ns >= _LATE * pair.loser.round_trip_ns)
    found = [
        changes.cure(Touches.MECHANISM, Target.LOSER, _acknowledged(pair.loser, rarer if held_back else 1)),
        changes.transplant(Touches.MECHANISM, _acknowledged(pair.winner, max(2, round(finding.dose or 2)))),
    ]
    if held_back and rate_bps is not None:
        fast = {"network.up.rate": f"{10 * int(rate_bps)}bit", "network.up.queue": "1000packets"}
        free = Change("an uplink ten times as fast that loses nothing", {**fast, "network.up.loss": "0%"})
        found.append(changes.cure(Touches.OCCASION, Target.BOTH, free))
    doses = [(float(count), _acknowledged(pair.loser, count)) for count in _THRESHOLDS]
    return [*found, *changes.doses(Touches.MECHANISM, Target.LOSER, doses)]


def _acknowledged(side: Side, packets: int) -> Change | str:
    label = f"an acknowledgement for every {packets} packets" if packets > 1 else "every packet acknowledged at once"
    at_once = {"tcp_quickack": True} if packets == 1 else {}
    return changes.tuned(side.trial, "client", {"ack_threshold": packets}, at_once, label)


ACK_STARVATION = Cause(
    name="ack_starvation",
    title="Few or late acknowledgements",
    sentence="its acknowledgements (one for {dose:.1f} packets with data) are late, lost or too few",
    source="RFC 3449; Custura, Secchi and Fairhurst, 2020; quiche#2136",
    role="client",
    classes=_ACK_STARVATION_CLASSES,
    needs=(),
    detect=ack_starvation_sign,
    interventions=ack_starvation_changes,
    cured_by="every packet acknowledged; an uplink ten times as fast",
    where="where acknowledgements wait or are lost on their way to the server",
)
"""The client's acknowledgements are few, late or lost, so that the sender's window does not move."""


_SEVERAL = 2


def head_of_line_sign(pair: Pair) -> Sign | None:
    """Return a sign if data of several objects, over TCP, waits behind gaps for longer than in the winner."""
    side, found = pair.loser, blocked(pair.loser)
    more_ns = found.total_ns - blocked(pair.winner).total_ns
    if more_ns <= 0:
        return None
    lost = drops(side, side.down) & side.down.is_tcp & side.down.carries_data
    shown = stretches_shown(side, found, "data that has arrived waits for a lost packet before it")
    strength_ns = min(more_ns, pair.loser.load_ns - pair.winner.load_ns)
    return Sign(strength_ns, shown, dose=found.total_ns / 1e6, packets=numbers(side.down, lost))


def blocked(side: Side) -> Stretches:
    """Return the times at which TCP data had arrived behind a gap, in loads with several objects at once.

    No log on the wire says to which stream a packet of QUIC belongs, and a gap in one stream does not stop the others.
    """
    link, objects = side.down, ObjectFacts.of(side.timeline, side.trial)
    own = np.flatnonzero(link.ours & link.delivered & link.is_tcp & (link.payload_bytes > 0))
    waiting = np.searchsorted(np.sort(objects.asked_ns), objects.done_ns, side="left") - np.arange(len(objects.path))
    if len(own) < 2 or len(objects.path) < _SEVERAL or waiting.max(initial=0) < _SEVERAL:
        return Stretches(np.zeros(0, np.int64), np.zeros(0, np.int64))
    own = own[np.argsort(link.departure_ns[own], kind="stable")]
    begins, ends = [], []
    for flow in np.unique(link.flow[own]):
        of_flow = own[link.flow[own] == flow]
        found = tcp_waits(link.departure_ns[of_flow], link.transport_sequence[of_flow], link.payload_bytes[of_flow])
        begins += [begin for begin, _ in found]
        ends += [end for _, end in found]
    order = np.argsort(np.array(begins, np.int64), kind="stable")
    return Stretches(np.array(begins, np.int64)[order], np.array(ends, np.int64)[order])


def head_of_line_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return the loser without the losses that made the gaps."""
    return [
        changes.cure(
            Touches.OCCASION, Target.LOSER, changes.forgiven(finding, "the losses that data waited for forgiven")
        ),
        changes.transplant(Touches.OCCASION, "objects over QUIC do not wait for each other's packets"),
    ]


HEAD_OF_LINE = Cause(
    name="head_of_line",
    title="Head-of-line blocking",
    sentence="while data of several objects waits for lost packets before it, {dose:.0f} ms in all",
    source="RFC 9114, 2; Marx et al., WebIST 2020",
    role="path",
    classes=(),
    needs=(),
    detect=head_of_line_sign,
    interventions=head_of_line_changes,
    cured_by="these losses forgiven",
    says=Says.WHERE,
)
"""Data that arrived waits for a packet before it that was lost, even if that one belongs to another object."""


_RECEIVER_DISCARDS_CLASSES = (
    LedgerClass.CONGESTION_WINDOW,
    LedgerClass.ACK_WAIT,
    LedgerClass.LINK_WASTE,
    LedgerClass.TIMER,
)
_LONG = 100_000
_DOSES = (64, 256, 1_024, 4_096)


def receiver_discards_sign(pair: Pair) -> Sign | None:
    """Return a sign if the loser's client logged that it had no room for packets, or gave no sign of packets that
    the link delivered and its server declared lost, more often than the winner's.

    quinn refuses a packet more than 129 numbers behind the newest as a possible duplicate (quinn#2710).
    """
    full, no_room = thrown_away(pair.loser, "a packet that arrived is thrown away unread")
    silent, unseen = refused(pair.loser, "a packet that the link delivered is neither logged nor acknowledged")
    others = thrown_away(pair.winner, "")[1] + refused(pair.winner, "")[1]
    count = no_room + unseen
    return (
        None
        if count <= others
        else Sign(pair.excess_ns(*_RECEIVER_DISCARDS_CLASSES), (*full, *silent), dose=float(count))
    )


def receiver_discards_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return a longer queue for the loser, also in steps, and the loser's for the winner, if it was full, else the
    winner's client for the loser. Nothing else that refuses packets has a setting.
    """
    if thrown_away(pair.loser, "")[1] == 0:
        client = pair.loser.trial.client
        reason = (
            f"client {client.stack}@{client.version} refused packets that arrived, and no knob sets how late a packet "
            "may be (quinn: its window for duplicates); a patched build of it would be needed"
        )
        return [
            changes.cure(Touches.MECHANISM, Target.LOSER, reason),
            changes.cure(Touches.PROGRAM, Target.LOSER, changes.winners_program(pair, "client")),
            changes.transplant(Touches.MECHANISM, reason),
        ]
    own = changes.in_effect(pair.loser.trial, "client", "receive_queue")
    short: Change | str = "it is not known how many packets may wait in the loser's client"
    if own is not None:
        short = _queue(pair.winner, int(own))
    doses = [(float(packets), _queue(pair.loser, packets)) for packets in _DOSES]
    return [
        changes.cure(Touches.MECHANISM, Target.LOSER, _queue(pair.loser, _LONG)),
        changes.transplant(Touches.MECHANISM, short),
        *changes.doses(Touches.MECHANISM, Target.LOSER, doses),
    ]


def _queue(side: Side, packets: int) -> Change | str:
    return changes.tuned(
        side.trial, "client", {"receive_queue": packets}, {}, f"{packets} packets may wait to be processed"
    )


RECEIVER_DISCARDS = Cause(
    name="receiver_discards",
    title="Packets thrown away by the receiver",
    sentence="its client throws away about {dose:.0f} packets a load that reached it, and they count as lost",
    source="quic-go, MaxConnUnprocessedPackets; quinn#2710; Zhang et al., WWW 2024 (receivers on fast links)",
    role="client",
    classes=_RECEIVER_DISCARDS_CLASSES,
    needs=("packet_discarded", "packet_refused"),
    detect=receiver_discards_sign,
    interventions=receiver_discards_changes,
    cured_by="a longer queue before the receiver's own processing; a receiver of late packets; the winner's client",
)
"""The receiver throws packets away: more wait to be processed than it keeps, or it takes late ones for copies."""


CAUSES = (SLOW_READER, ACK_STARVATION, HEAD_OF_LINE, RECEIVER_DISCARDS)
