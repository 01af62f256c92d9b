"""The sender begins with a smaller window than the other one."""

from collections.abc import Sequence

from longlook.explain import changes, remedies
from longlook.explain.cause import (
    Cause,
    Change,
    Evidence,
    Finding,
    Intervention,
    Kind,
    Sign,
    Target,
    Touches,
    Untestable,
)
from longlook.explain.ledger import LedgerClass
from longlook.explain.pair import Pair, Side
from longlook.explain.signs import first_window_bytes

_PACKETS = 10  # of a log without windows (RFC 6928)
_FIRST_PACKETS = 8
_SMALLER = 0.9
"""Windows that differ by less are the same number of packets of other sizes."""


def detect(pair: Pair) -> Sign | None:
    """Return a sign where the loser's first window is the smaller one and it waits for its window for longer."""
    own, other = first_window_bytes(pair.loser.server), first_window_bytes(pair.winner.server)
    if own is None or other is None or own > _SMALLER * other:
        return None
    shown = Evidence(0, f"the window begins with {own} bytes, the other arm's with {other}")
    return Sign(pair.excess_ns(LedgerClass.CONGESTION_WINDOW, LedgerClass.ACK_WAIT), (shown,), dose=float(own))


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return the winner's first window for the loser, the loser's for the winner, and values between and beyond."""
    own, other = (packets(side) for side in (pair.loser, pair.winner))
    found = [
        changes.cure(Touches.MECHANISM, Target.LOSER, _window(pair.loser, other), float(other)),
        changes.transplant(Touches.MECHANISM, _window(pair.winner, own)),
    ]
    steps = sorted({max(own + 1, (own + other) // 2), 2 * other})
    doses = [(float(count), _window(pair.loser, count)) for count in steps if count not in (own, other)]
    return [*found, *[item for item in changes.doses(Touches.MECHANISM, Target.LOSER, doses) if item.kind is Kind.DOSE]]


def packets(side: Side) -> int:
    """Return a sender's first window in packets of the size that it sends first."""
    link = side.down
    sizes = link.payload_bytes[link.ours & link.carries_data & ~link.handshake][:_FIRST_PACKETS]
    size_bytes = int(sizes.max()) if len(sizes) else remedies.PACKET_BYTES
    return max(1, round((first_window_bytes(side.server) or _PACKETS * remedies.PACKET_BYTES) / size_bytes))


def _window(side: Side, count: int) -> Change | str:
    settings = {"initial_window": count}, {"tcp_initial_window": count}
    return remedies.tuned(side.trial, "server", *settings, f"an initial window of {count} packets", packets(side))


CAUSE = Cause(
    name="initial_window",
    title="Smaller initial window",
    sentence="its first window is smaller ({size}), so that it takes more round trips to fill the path",
    source="Kakhki et al., IMC 2017, 4.1; RFC 6928",
    role="server",
    classes=(LedgerClass.CONGESTION_WINDOW, LedgerClass.ACK_WAIT),
    needs=("metrics",),
    detect=detect,
    interventions=interventions,
    cured_by="the winner's initial window",
)
