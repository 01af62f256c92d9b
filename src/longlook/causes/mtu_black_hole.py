"""The path drops packets above a size, and the sender has to find that out."""

from collections.abc import Sequence

from longlook.explain import changes, remedies
from longlook.explain.cause import Cause, Finding, Intervention, Sign, Target, Touches, Untestable
from longlook.explain.ledger import LedgerClass
from longlook.explain.moments import SENDER_WAITS
from longlook.explain.pair import Pair
from longlook.explain.signs import dropped_for, drops_shown

_REASONS = ("mtu", "size_filter")
_CLASSES = (LedgerClass.FALLBACK, LedgerClass.HANDSHAKE, *SENDER_WAITS)
_SMALL_BYTES = 1200


def detect(pair: Pair) -> Sign | None:
    """Return a sign where the path dropped packets of the loser for their size, and the loser waits for longer."""
    side = pair.loser
    for link in (side.down, side.up):
        lost = dropped_for(side, link, *_REASONS)
        if lost.any():
            largest = int(link.size_bytes[lost].max())
            shown = drops_shown(side, link, lost, f"a packet is dropped for its size, {largest} bytes")
            return Sign(pair.excess_ns(*_CLASSES), shown, dose=float(lost.sum()))
    return None


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return a path that lets all sizes pass for both arms, and small packets for the loser."""
    every_size = changes.path({"mtu": "off", "drop_larger": "off"}, "a path that lets all sizes pass")
    small = remedies.tuned(
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


CAUSE = Cause(
    name="mtu_black_hole",
    title="Packets too large for the path",
    sentence="some of its packets (about {dose:.0f} a load) are dropped by the path for their size",
    source="RFC 8899; RFC 2923; RFC 9000, 14",
    role="path",
    classes=_CLASSES,
    needs=(),
    detect=detect,
    interventions=interventions,
    cured_by="a path that lets all sizes pass; small packets",
    where="where the path drops packets for their size",
)
