"""The sender puts whole datagrams on the wire more than once."""

from collections.abc import Sequence

import numpy as np

from longlook.explain import changes
from longlook.explain.cause import Cause, Change, Finding, Intervention, Sign, Target, Touches, Untestable
from longlook.explain.ledger import LedgerClass
from longlook.explain.pair import Pair, Side
from longlook.explain.signs import resent, resent_shown

_CLASSES = (
    *(LedgerClass.LINK_WASTE, LedgerClass.LINK_OVERHEAD, LedgerClass.CONGESTION_WINDOW),
    *(LedgerClass.LOSS_DETECTION, LedgerClass.TIMER, LedgerClass.ACK_WAIT),
)
LEAST_PACKETS, LEAST_SHARE = 5, 0.001
"""What a sender must send again, and as a share of its datagrams with data: fewer explain no time of a load."""


def detect(pair: Pair) -> Sign | None:
    """Return a sign where the loser's server sent more datagrams again, byte for byte, than the winner's, and not few.

    A QUIC packet that is sent again has another number, and so other bytes.
    """
    count = int(resent(pair.loser).sum())
    is_few = count < LEAST_PACKETS or _share(pair.loser) < LEAST_SHARE
    if is_few or count <= int(resent(pair.winner).sum()) or pair.excess_ns(*_CLASSES) <= 0:
        return None
    shown = resent_shown(pair.loser, "its server sends a datagram a second time, with the same bytes")
    return Sign(pair.excess_ns(*_CLASSES), shown, dose=float(count))


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
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


CAUSE = Cause(
    name="datagrams_sent_twice",
    title="Datagrams sent twice",
    sentence="its server sends whole datagrams twice (about {dose:.0f} a load)",
    source="RFC 9000, 12.3: a packet number is used once; RFC 9000, 13.3: what is lost is sent in new packets",
    role="server",
    classes=_CLASSES,
    needs=(),
    detect=detect,
    interventions=interventions,
    cured_by="a build that sends them once",
)
