"""The congestion window stops growing at a cap of the sender's own."""

from collections.abc import Sequence

import numpy as np

from longlook.explain import changes, remedies
from longlook.explain.cause import Cause, Change, Evidence, Finding, Intervention, Sign, Target, Touches, Untestable
from longlook.explain.ledger import LedgerClass
from longlook.explain.pair import Pair, Side
from longlook.explain.signs import bdp_bytes, largest_window_bytes, within

_ROUND_TRIPS = 10
_FLAT, _MOST_LEVELS = 0.8, 3
"""A cap that counts packets rises with the path MTU that is found, from 1200 bytes to 1452 in a few steps."""


def detect(pair: Pair) -> Sign | None:
    """Return a sign where the loser's window stays at its largest value, below the bandwidth-delay product, for ten
    round trips without a loss, and the loser waits longer for it.

    It may rise with the path MTU, which few steps show.
    """
    side = pair.loser
    product, largest = bdp_bytes(side), largest_window_bytes(side.server)
    if side.server is None or side.server.window is None or product is None or largest is None:
        return None
    window = within(side, side.server.window)
    begun = np.flatnonzero(np.diff(window.value, prepend=-1))[-_MOST_LEVELS:]
    lower = np.flatnonzero(window.value[begun] < largest * _FLAT)
    begun = begun[lower[-1] + 1 :] if len(lower) else begun
    if len(begun) == 0 or largest >= product:
        return None
    since_ns = int(window.time_ns[begun[0]])
    lost = (side.server.lost.time_ns >= since_ns).any()
    flat_ns = side.ledger.span_ns[1] - since_ns
    if lost or flat_ns < _ROUND_TRIPS * max(side.round_trip_ns, 1):
        return None
    shown = Evidence(since_ns - side.start_ns, f"the window reaches {largest} bytes and stays there without a loss")
    return Sign(pair.excess_ns(LedgerClass.CONGESTION_WINDOW, LedgerClass.ACK_WAIT), (shown,), dose=float(largest))


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return a cap eight times as large for the loser, twice and four times as doses, and the cap for the winner."""
    cap = int(finding.dose or 0)
    doses = [(float(factor), _cap(pair.loser, cap * factor)) for factor in (2, 4)]
    return [
        changes.cure(Touches.MECHANISM, Target.LOSER, _cap(pair.loser, cap * 8), 8.0),
        changes.transplant(Touches.MECHANISM, _cap(pair.winner, cap)),
        *changes.doses(Touches.MECHANISM, Target.LOSER, doses),
    ]


def _cap(side: Side, cap_bytes: int) -> Change | str:
    """Return the change to a largest window; a declared one is not trusted where the window was seen to stop below."""
    count, reached = max(1, round(cap_bytes / remedies.PACKET_BYTES)), largest_window_bytes(side.server)
    seen = None if reached is None else max(1, round(reached / remedies.PACKET_BYTES))
    label = f"a largest window of {count} packets"
    return remedies.tuned(side.trial, "server", {"max_window": count}, {"tcp_max_window": count}, label, seen)


CAUSE = Cause(
    name="window_capped",
    title="Capped congestion window",
    sentence="its congestion window stops growing at {size}, less than the path can hold",
    source="Kakhki et al., IMC 2017, 5.1 (MACW)",
    role="server",
    classes=(LedgerClass.CONGESTION_WINDOW, LedgerClass.ACK_WAIT),
    needs=("metrics",),
    detect=detect,
    interventions=interventions,
    cured_by="a larger maximum window",
)
