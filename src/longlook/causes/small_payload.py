"""Packets carry less data than the winner's, so that more of the bottleneck's time goes into headers."""

from collections.abc import Sequence

import numpy as np

from longlook.explain import changes, remedies
from longlook.explain.cause import Cause, Change, Evidence, Finding, Intervention, Sign, Target, Touches, Untestable
from longlook.explain.ledger import LedgerClass
from longlook.explain.moments import datagram_bytes
from longlook.explain.pair import Pair, Side

_CLASSES = (LedgerClass.LINK_OVERHEAD,)
_LESS = 0.97
_SMALLEST_BYTES, _LARGEST_BYTES = 1200, 1452
_TCP_OPTIONS_BYTES = 12
"""Of the timestamps that each packet carries."""


def detect(pair: Pair) -> Sign | None:
    """Return a sign where the loser's packets carry less data than the winner's, and more time goes into headers."""
    own, other = data_per_packet(pair.loser), data_per_packet(pair.winner)
    if own is None or other is None or own > _LESS * other:
        return None
    shown = Evidence(0, f"a packet carries {own:.0f} bytes of data, in the other arm {other:.0f}")
    return Sign(pair.excess_ns(*_CLASSES), (shown,), dose=own)


def data_per_packet(side: Side) -> float | None:
    """Return how much data the load's packets to the client carry in the median; None where it has none."""
    link = side.down
    own = link.ours & link.carries_data & link.delivered
    return float(np.median((link.size_bytes - link.overhead_bytes)[own])) if own.any() else None


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
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
    return remedies.tuned(side.trial, "server", *settings, label, seen)


CAUSE = Cause(
    name="small_payload",
    title="Small packets",
    sentence="its packets carry only {dose:.0f} bytes of data each, so that headers take more of the link's time",
    source="RFC 8899; RFC 9000, 14; RFC 6691",
    role="server",
    classes=_CLASSES,
    needs=(),
    detect=detect,
    interventions=interventions,
    cured_by="packets of the winner's size",
)
