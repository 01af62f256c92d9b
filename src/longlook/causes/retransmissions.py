"""Causes: data that is sent more than once."""

from collections.abc import Sequence

import numpy as np

from longlook.core import Scalar
from longlook.explain import (
    Booleans,
    Cause,
    Change,
    Evidence,
    Finding,
    Intervention,
    LedgerClass,
    Pair,
    Proposal,
    Says,
    Side,
    Sign,
    Target,
    Touches,
    Untestable,
    changes,
    drops,
    drops_shown,
    false_losses,
    numbers,
    raised,
    resent,
    resent_shown,
    stretches,
    stretches_shown,
)

_TIMES = (3.0, 10.0, 30.0, 100.0)
_LOWER = 1 / 3
"""One dose is stricter than the sender, so that doses lie on both sides of its own value."""
_LEAST_PACKETS = 3
"""The first threshold of RFC 9002 and RFC 5681; fewer packets would be another mechanism."""
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
    return changes.tuned(side.trial, "server", {"packet_threshold": value}, {"tcp_reordering": value}, label)


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
    return changes.tuned(side.trial, "server", knobs, {}, f"a loss declared after {age:g} round trips")


_SPURIOUS_LOSS_CLASSES = (
    LedgerClass.CONGESTION_WINDOW,
    LedgerClass.ACK_WAIT,
    LedgerClass.LINK_WASTE,
    LedgerClass.TIMER,
)
_WITHOUT: dict[str, str | int | float | bool] = {"reorder": "0%", "jitter_reorders": False}


def spurious_loss_sign(pair: Pair) -> Sign | None:
    """Return a sign if the loser's server declared packets lost that the link or the client saw arrive."""
    shown, count = false_losses(pair.loser, "a packet is declared lost that arrives")
    return None if count == 0 else Sign(pair.excess_ns(*_SPURIOUS_LOSS_CLASSES), shown, dose=float(count))


def spurious_loss_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return higher thresholds than the loser has, also in steps, and a path that keeps the order for both arms."""
    in_order = changes.cure(Touches.OCCASION, Target.BOTH, changes.path(_WITHOUT, "no reordering"))
    return [*later_losses(pair.loser), in_order]


SPURIOUS_LOSS = Cause(
    name="spurious_loss",
    title="Spurious losses",
    sentence="it takes late packets for lost ones (about {dose:.0f} a load), sends them again and shrinks its window",
    source="Kakhki et al., IMC 2017, 5.2 and fig. 10; quinn#2711; quic-go#5734",
    role="server",
    classes=_SPURIOUS_LOSS_CLASSES,
    needs=("packet_spurious",),
    detect=spurious_loss_sign,
    interventions=spurious_loss_changes,
    cured_by="a larger threshold of packets or of age",
    where="where the path delivers packets out of order",
)
"""The sender declares packets lost that are only late."""


_DUPLICATE_SENDING_CLASSES = (LedgerClass.LINK_WASTE,)


def duplicate_sending_sign(pair: Pair) -> Sign | None:
    """Return a sign if the bottleneck spends more time on data of the loser that is delivered twice.

    Datagrams that a sender sends again as they are count elsewhere (`datagrams_sent_twice`).
    """
    side = pair.loser
    more_ns = pair.excess_ns(*_DUPLICATE_SENDING_CLASSES) - max(0, _resent_ns(side) - _resent_ns(pair.winner))
    if more_ns <= 0:
        return None
    found, link = stretches(side, *_DUPLICATE_SENDING_CLASSES), side.down
    copies = int((link.ours & link.copy & link.delivered).sum())
    made = (Evidence(0, f"the path made {copies} copies of packets"),) if copies else ()
    shown = (*made, *stretches_shown(side, found, "the bottleneck serves data that is delivered twice"))
    return Sign(more_ns, shown, dose=found.total_ns / 1e6)


def _resent_ns(side: Side) -> int:
    """Return how long the bottleneck serves data in datagrams that their sender sent before."""
    link = side.down
    if not resent(side).any():
        return 0
    again = np.flatnonzero(link.ours & (link.same_as >= 0) & link.delivered & (link.useful_bytes == 0))
    lasts = link.service_end_ns[again] - link.service_start_ns[again]
    data = link.size_bytes[again] - link.overhead_bytes[again]
    return int((lasts * data // np.maximum(link.size_bytes[again], 1)).sum())


def duplicate_sending_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return a path that makes no copies for both arms, higher thresholds and longer timers for the loser."""
    side = pair.loser
    found: list[Intervention | Untestable] = []
    if np.any(side.down.copy):
        found.append(
            changes.cure(
                Touches.OCCASION, Target.BOTH, changes.path({"duplicate": "0%"}, "a path that makes no copies")
            )
        )
    patient = changes.tuned(
        side.trial, "server", {"pto_factor": 4.0}, {"tcp_tail_loss_probe": False, "tcp_rto_min": "1s"}, "longer timers"
    )
    return [
        *found,
        *later_losses(side),
        changes.cure(Touches.MECHANISM, Target.LOSER, patient),
    ]


DUPLICATE_SENDING = Cause(
    name="duplicate_sending",
    title="Data sent twice",
    sentence="the bottleneck spends {dose:.1f} ms on data that is delivered twice",
    source="RFC 3708; RFC 9002, 6.2.4",
    role="server",
    classes=_DUPLICATE_SENDING_CLASSES,
    needs=(),
    detect=duplicate_sending_sign,
    interventions=duplicate_sending_changes,
    cured_by="a path without copies; later declarations of loss; longer timers",
    where="where the path makes copies of packets",
)
"""The bottleneck serves data that the client has, or gets twice."""


_REPEATED_RETRANSMISSION_CLASSES = (
    LedgerClass.TIMER,
    LedgerClass.LOSS_DETECTION,
    LedgerClass.CONGESTION_WINDOW,
    LedgerClass.ACK_WAIT,
)
_AT_ONCE_NS = 1_000_000


def repeated_retransmission_sign(pair: Pair) -> Sign | None:
    """Return a sign if retransmissions of the loser are dropped, more of them than of the winner's."""
    side, again = pair.loser, lost_again(pair.loser)
    if not again.any() or again.sum() <= lost_again(pair.winner).sum():
        return None
    shown = drops_shown(side, side.down, again, "what is sent again is dropped again")
    return Sign(
        pair.excess_ns(*_REPEATED_RETRANSMISSION_CLASSES),
        shown,
        dose=float(again.sum()),
        packets=numbers(side.down, again),
    )


def lost_again(side: Side) -> Booleans:
    """Return which dropped packets were retransmissions.

    TCP's sequence numbers show them. A rule shows them of QUIC: a sender that declares losses sends as many packets
    with data at once, which hold the lost data.
    """
    link = side.down
    lost = drops(side, link) & link.carries_data & ~link.copy
    found = np.zeros(len(lost), np.bool_)
    tcp = np.flatnonzero(lost & link.is_tcp)
    if len(tcp):
        _, first = np.unique(link.flow[tcp] * 2**32 + link.transport_sequence[tcp], return_index=True)
        found[np.delete(tcp, first)] = True
    sender = side.server
    if sender is None or sender.source == "tcp":
        return found
    own = np.flatnonzero(link.of_flow(sender.flow) & link.carries_data & ~link.copy)
    declared, counts = np.unique(sender.lost.time_ns, return_counts=True)
    places = np.searchsorted(link.arrival_ns[own], declared, side="left")
    for time_ns, count, place in zip(declared.tolist(), counts.tolist(), places.tolist(), strict=True):
        repairs = own[place : place + count]
        repairs = repairs[link.arrival_ns[repairs] - time_ns <= _AT_ONCE_NS]
        found[repairs] |= lost[repairs]
    return found


def repeated_retransmission_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return the loser with its retransmissions forgiven."""
    return [
        changes.cure(
            Touches.OCCASION, Target.LOSER, changes.forgiven(finding, "the losses of retransmissions forgiven")
        ),
        changes.transplant(Touches.OCCASION, "which packet repairs which is decided as the trial goes on"),
    ]


REPEATED_RETRANSMISSION = Cause(
    name="repeated_retransmission",
    title="Retransmissions lost",
    sentence="where packets that send lost data again are lost as well (about {dose:.0f} a load)",
    source="Rewaskar, Kaur and Smith, 2006; Zhou et al., TAPO, CoNEXT 2015 (double retransmission)",
    role="path",
    classes=_REPEATED_RETRANSMISSION_CLASSES,
    needs=(),
    detect=repeated_retransmission_sign,
    interventions=repeated_retransmission_changes,
    cured_by="these packets forgiven",
    says=Says.WHERE,
)
"""Retransmissions are lost again."""


_DATAGRAMS_SENT_TWICE_CLASSES = (
    *(LedgerClass.LINK_WASTE, LedgerClass.LINK_OVERHEAD, LedgerClass.CONGESTION_WINDOW),
    *(LedgerClass.LOSS_DETECTION, LedgerClass.TIMER, LedgerClass.ACK_WAIT),
)
LEAST_PACKETS, LEAST_SHARE = 5, 0.001
"""The least number of datagrams that a sender sends again, and the least share: fewer explain no time of a load."""


def datagrams_sent_twice_sign(pair: Pair) -> Sign | None:
    """Return a sign if the loser's server sent more datagrams again, byte for byte, than the winner's, and not few.

    A QUIC packet that is sent again has another number, and so other bytes.
    """
    count = int(resent(pair.loser).sum())
    is_few = count < LEAST_PACKETS or _share(pair.loser) < LEAST_SHARE
    if is_few or count <= int(resent(pair.winner).sum()) or pair.excess_ns(*_DATAGRAMS_SENT_TWICE_CLASSES) <= 0:
        return None
    shown = resent_shown(pair.loser, "its server sends a datagram a second time, with the same bytes")
    return Sign(pair.excess_ns(*_DATAGRAMS_SENT_TWICE_CLASSES), shown, dose=float(count))


def datagrams_sent_twice_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return copies of as many of the winner's datagrams, which the link puts right behind them."""
    share = f"{100 * _share(pair.loser):.3g}%"
    reason = "no setting makes it send datagrams once: that takes a build of it that does"
    copied = Change(f"a copy of {share} of its datagrams behind each", {"network.down.duplicate": share})
    has_copies = bool(np.any(pair.winner.down.copy))
    return [
        changes.cure(Touches.MECHANISM, Target.LOSER, reason),
        changes.transplant(Touches.MECHANISM, "the path makes copies already" if has_copies else copied),
    ]


def _share(side: Side) -> float:
    """Return how many datagrams with data its server sent again, as a share of the others, 1 at most."""
    link, again = side.down_all[-1], resent(side)
    others = link.ours & link.carries_data & (link.arrival_ns >= side.start_ns) & ~link.copy & ~again
    return min(1.0, float(again.sum()) / max(int(others.sum()), 1))


DATAGRAMS_SENT_TWICE = Cause(
    name="datagrams_sent_twice",
    title="Datagrams sent twice",
    sentence="its server sends whole datagrams twice (about {dose:.0f} a load)",
    source="RFC 9000, 12.3: a packet number is used once; RFC 9000, 13.3: what is lost is sent in new packets",
    role="server",
    classes=_DATAGRAMS_SENT_TWICE_CLASSES,
    needs=(),
    detect=datagrams_sent_twice_sign,
    interventions=datagrams_sent_twice_changes,
    cured_by="a build that sends them once",
)
"""The sender puts whole datagrams on the wire more than once."""


CAUSES = (SPURIOUS_LOSS, DUPLICATE_SENDING, REPEATED_RETRANSMISSION, DATAGRAMS_SENT_TWICE)
