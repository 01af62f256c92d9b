"""The sender shrinks its window after a pause, although nothing was lost."""

from collections.abc import Sequence

import numpy as np

from longlook.explain import changes, remedies
from longlook.explain.cause import Cause, Change, Evidence, Finding, Intervention, Sign, Target, Touches, Untestable
from longlook.explain.facts import Integers
from longlook.explain.ledger import LedgerClass
from longlook.explain.pair import Pair, Side
from longlook.explain.signs import MOST_EVIDENCE, within

_CLASSES = (LedgerClass.CONGESTION_WINDOW, LedgerClass.ACK_WAIT)
_LEFT = 0.8


def detect(pair: Pair) -> Sign | None:
    """Return a sign where the loser's window shrinks after a pause without a loss, more often than the winner's."""
    side, times = pair.loser, shrunk_idle(pair.loser)
    if len(times) == 0 or len(times) <= len(shrunk_idle(pair.winner)):
        return None
    shown = tuple(
        Evidence(time_ns - side.start_ns, "the window is smaller after a pause, and nothing was lost")
        for time_ns in times[:MOST_EVIDENCE].tolist()
    )
    return Sign(pair.excess_ns(*_CLASSES), shown, dose=float(len(times)))


def shrunk_idle(side: Side) -> Integers:
    """Return when the server's window was a fifth smaller than before a pause of more than a round trip."""
    sender, link = side.server, side.down
    if sender is None or sender.window is None:
        return np.zeros(0, np.int64)
    window = within(side, sender.window)
    sent = link.arrival_ns[link.of_flow(sender.flow)]
    pauses = np.flatnonzero(np.diff(sent) > max(side.round_trip_ns, 1))
    begins, ends = sent[pauses], sent[pauses + 1]
    before = window.at(begins, 0)
    after = window.at(ends + side.round_trip_ns // 2, 0)
    lost = np.sort(np.concatenate([sender.lost.time_ns, sender.timeouts.time_ns]))
    quiet = np.searchsorted(lost, ends + side.round_trip_ns, side="right") == np.searchsorted(
        lost, begins - side.round_trip_ns, side="left"
    )
    return np.asarray(ends[(after > 0) & (after < _LEFT * before) & quiet], np.int64)


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return a window that stays for the loser, and one that falls back for the winner."""
    return [
        changes.cure(Touches.MECHANISM, Target.LOSER, _restarting(pair.loser, False)),
        changes.transplant(Touches.MECHANISM, _restarting(pair.winner, True)),
    ]


def _restarting(side: Side, on: bool) -> Change | str:
    label = "a window that falls back after a pause" if on else "a window that stays after a pause"
    return remedies.tuned(side.trial, "server", {"idle_restart": on}, {"tcp_idle_restart": on}, label)


CAUSE = Cause(
    name="idle_restart",
    title="Smaller window after a pause",
    sentence="its window falls back after pauses (about {dose:.0f} a load), although nothing was lost",
    source="RFC 2861; RFC 7661; RFC 9002, 7.8",
    role="server",
    classes=_CLASSES,
    needs=("metrics",),
    detect=detect,
    interventions=interventions,
    cured_by="a window that stays after a pause",
)
