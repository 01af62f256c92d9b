"""Causes: reductions of the congestion window, by their signal, number and size, and whether they are undone."""

from collections.abc import Sequence
from statistics import median

import numpy as np

from longlook.core import units
from longlook.explain import (
    MOST_EVIDENCE,
    QUEUE_REASONS,
    RANDOM_REASONS,
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
    effective_value,
    false_losses,
    longer_queues,
    losses_on_path,
    numbers,
    windows_kept,
    within,
)

_RANDOM_LOSS_RESPONSE_CLASSES = (
    LedgerClass.CONGESTION_WINDOW,
    LedgerClass.TIMER,
    LedgerClass.LOSS_DETECTION,
    LedgerClass.ACK_WAIT,
)


def random_loss_response_sign(pair: Pair) -> Sign | None:
    """Return a sign if packets to the client were dropped at random and the loser waits longer than the winner."""
    shown, count = losses_on_path(pair.loser, "a packet to the client is dropped at random", *RANDOM_REASONS)
    if not count:
        return None
    return Sign(pair.excess_ns(*_RANDOM_LOSS_RESPONSE_CLASSES), shown, dose=float(count))


def random_loss_response_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return a path without random loss for both arms."""
    return [
        changes.cure(Touches.OCCASION, Target.BOTH, changes.path({"loss": "0%"}, "no random loss", pair.loser.trial))
    ]


RANDOM_LOSS_RESPONSE = Cause(
    name="random_loss_response",
    title="Random losses",
    sentence="at random losses (about {dose:.0f} a load) and in what its sender does about them",
    source="Kakhki et al., IMC 2017, 5.2; RFC 9002, 7.3.2",
    role="server",
    classes=_RANDOM_LOSS_RESPONSE_CLASSES,
    needs=(),
    detect=random_loss_response_sign,
    interventions=random_loss_response_changes,
    cured_by="no random loss on the path",
    says=Says.WHERE,
)
"""The sender takes losses of the path for congestion and shrinks its window."""


_QUEUE_LOSS_RESPONSE_CLASSES = (
    LedgerClass.CONGESTION_WINDOW,
    LedgerClass.TIMER,
    LedgerClass.LOSS_DETECTION,
    LedgerClass.ACK_WAIT,
    LedgerClass.LINK_WASTE,
)
_QUEUE_LOSS_RESPONSE_TIMES = (2, 4, 8)


def queue_loss_response_sign(pair: Pair) -> Sign | None:
    """Return a sign if the queue dropped packets of the load and the loser waits longer than the winner."""
    shown, count = losses_on_path(pair.loser, "the queue has no room for a packet to the client", *QUEUE_REASONS)
    if not count:
        return None
    return Sign(pair.excess_ns(*_QUEUE_LOSS_RESPONSE_CLASSES), shown, dose=float(count))


def queue_loss_response_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return queues up to eight times as long for both arms, and behind a middle if a queue overflowed there."""
    side = pair.loser
    overflowed = any(dropped_for(side, link, *QUEUE_REASONS).any() for link in side.down_all[1:])
    trial = side.trial if overflowed else None
    longer = longer_queues(side, _QUEUE_LOSS_RESPONSE_TIMES, trial)
    return [
        changes.cure(Touches.OCCASION, Target.BOTH, longer[-1][1], longer[-1][0]),
        *changes.doses(Touches.OCCASION, Target.BOTH, longer[:-1]),
    ]


QUEUE_LOSS_RESPONSE = Cause(
    name="queue_loss_response",
    title="Drops of a full queue",
    sentence="at drops of the full queue (about {dose:.0f} a load) and in what its sender does about them",
    source="Siekkinen et al., Computer Networks 2008 (congestion); RFC 9002, 7.3.2",
    role="server",
    classes=_QUEUE_LOSS_RESPONSE_CLASSES,
    needs=(),
    detect=queue_loss_response_sign,
    interventions=queue_loss_response_changes,
    cured_by="a queue eight times as long",
    says=Says.WHERE,
)
"""The sender overflows the bottleneck's queue, and shrinks its window for it."""


_ECN_RESPONSE_CLASSES = (
    LedgerClass.CONGESTION_WINDOW,
    LedgerClass.PACING,
    LedgerClass.ACK_WAIT,
    LedgerClass.LINK_WASTE,
)
_ECN_RESPONSE_TIMES = (2, 4, 8)
_STEPS = {"step": ("threshold_ns", "step_threshold"), "dualpi2": ("step_ns", "dualpi2_step")}
"""Discipline → parameter and setting of the wait above which it marks."""
_STEP_NS = 1_000_000


def ecn_response_sign(pair: Pair) -> Sign | None:
    """Return a sign if the link marked more packets of the load than the winner's, and the loser waits longer."""
    marked = _marked(pair.loser)
    more = int(marked.sum()) - int(_marked(pair.winner).sum())
    if more <= 0:
        return None
    shown = drops_shown(pair.loser, pair.loser.down, marked, "the queue marks a packet to the client")
    return Sign(pair.excess_ns(*_ECN_RESPONSE_CLASSES), shown, dose=float(marked.sum()))


def _marked(side: Side) -> Booleans:
    first_ns, last_ns = side.ledger.span_ns
    link = side.down
    return np.asarray(link.ours & link.marked & (link.arrival_ns >= first_ns) & (link.arrival_ns <= last_ns), np.bool_)


def ecn_response_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return packets that cannot be marked, if the winner's were not; later marks; and marks for the winner."""
    off = changes.tuned(
        pair.loser.trial, "server", {"ecn": False}, {"tcp_ecn": False}, "packets that the queue cannot mark"
    )
    made = [] if _marked(pair.winner).any() else [changes.cure(Touches.MECHANISM, Target.LOSER, off)]
    later = _later(pair.loser)
    on = changes.tuned(pair.winner.trial, "server", {"ecn": True}, {"tcp_ecn": True}, "packets that the queue can mark")
    return [*made, *later, changes.transplant(Touches.MECHANISM, on)]


def _later(side: Side) -> Sequence[Intervention | Untestable]:
    """Return higher thresholds of the queue for both arms, the highest as cure, all as doses."""
    found = next((stage for stage in side.trial.link.down if stage.kind in _STEPS), None)
    if found is None:
        return [changes.cure(Touches.OCCASION, Target.BOTH, "no setting moves the threshold of this queue")]
    parameter, setting = _STEPS[found.kind]
    now_ns = found.parameters.get(parameter, 0 if found.kind == "step" else _STEP_NS)
    if not isinstance(now_ns, int) or now_ns == 0:
        return [changes.cure(Touches.OCCASION, Target.BOTH, "the queue's threshold is not a time")]
    doses = [(float(times), _threshold(setting, now_ns * times)) for times in _ECN_RESPONSE_TIMES]
    return [
        changes.cure(Touches.OCCASION, Target.BOTH, doses[-1][1], doses[-1][0]),
        *changes.doses(Touches.OCCASION, Target.BOTH, doses[:-1]),
    ]


def _threshold(setting: str, wait_ns: int) -> Change:
    wait = units.print_time(wait_ns)
    return changes.path({setting: wait}, f"marks above a wait of {wait}")


ECN_RESPONSE = Cause(
    name="ecn_response",
    title="Response to marks (ECN)",
    sentence="the queue marks its packets (about {dose:.0f} a load), and it shrinks its window for that",
    source="RFC 3168; RFC 9002, 7.1; RFC 8257, 3.3",
    role="server",
    classes=_ECN_RESPONSE_CLASSES,
    needs=(),
    detect=ecn_response_sign,
    interventions=ecn_response_changes,
    cured_by="packets that cannot be marked, or a threshold eight times as high",
    where="at marks of the queue (ECN)",
)
"""The sender shrinks its window for marks of the queue (ECN), if the winner had none or fewer."""


_WINDOW_AFTER_LOSS_CLASSES = (LedgerClass.CONGESTION_WINDOW, LedgerClass.ACK_WAIT)
_SMALLER = 0.05
_RANGE = (0.1, 0.99)
_STANDARD = (0.5, 0.7)
"""The shares that Reno (RFC 5681, 3.1) and Cubic (RFC 9438, 4.6) keep. Shares in a log are a little off, as windows go
on growing and count whole packets.
"""


def window_after_loss_sign(pair: Pair) -> Sign | None:
    """Return a sign if the loser keeps less of its window at its losses than the winner, in the median."""
    own, other = windows_kept(pair.loser), windows_kept(pair.winner)
    if not own or not other or median(own) > median(other) - _SMALLER:
        return None
    shown = Evidence(0, f"of the window {median(own):.2f} is left after a loss, of the other arm's {median(other):.2f}")
    return Sign(pair.excess_ns(*_WINDOW_AFTER_LOSS_CLASSES), (shown,), dose=median(own))


def window_after_loss_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return the winner's share for the loser, the loser's for the winner, and shares around them as doses."""
    own, other = median(windows_kept(pair.loser)), _meant(median(windows_kept(pair.winner)))
    doses = [(share, _kept(pair.loser, share)) for share in sorted({0.5, round((own + other) / 2, 2), 0.9})]
    return [
        changes.cure(Touches.MECHANISM, Target.LOSER, _kept(pair.loser, other)),
        changes.transplant(Touches.MECHANISM, _kept(pair.winner, own)),
        *changes.doses(Touches.MECHANISM, Target.LOSER, doses),
    ]


def _meant(share: float) -> float:
    """Return the standard's share if a measured one is close to it, else the measured one."""
    return next((standard for standard in _STANDARD if abs(share - standard) < _SMALLER), share)


def _kept(side: Side, share: float) -> Change | str:
    share = round(min(max(share, _RANGE[0]), _RANGE[1]), 2)
    label = f"{share:g} of the window left after a loss"
    return changes.tuned(side.trial, "server", {"window_after_loss": share}, {"tcp_window_after_loss": share}, label)


WINDOW_AFTER_LOSS = Cause(
    name="window_after_loss",
    title="Larger cut at a loss",
    sentence="it keeps only {dose:.2f} of its window at a loss",
    source="RFC 9438, 4.6; RFC 9002, 7.3.2; Kakhki et al., IMC 2017, 5.1",
    role="server",
    classes=_WINDOW_AFTER_LOSS_CLASSES,
    needs=("metrics", "state"),
    detect=window_after_loss_sign,
    interventions=window_after_loss_changes,
    cured_by="the winner's share of the window after a loss",
)
"""The sender keeps a smaller share of its window after a loss than the other one."""


_MULTIPLE_REDUCTIONS_CLASSES = (LedgerClass.CONGESTION_WINDOW, LedgerClass.ACK_WAIT, LedgerClass.PACING)
_CUT = 0.9


def multiple_reductions_sign(pair: Pair) -> Sign | None:
    """Return a sign if the loser cuts its window again within a round trip, more often than the winner."""
    side, again = pair.loser, repeated_cuts(pair.loser)
    if len(again) == 0 or len(again) <= len(repeated_cuts(pair.winner)):
        return None
    shown = tuple(
        Evidence(time_ns - side.start_ns, "the window is cut for the second time within a round trip")
        for time_ns in again[:MOST_EVIDENCE].tolist()
    )
    link, round_trip_ns = side.down, 2 * max(side.round_trip_ns, 1)
    near = [(link.arrival_ns <= time_ns) & (link.arrival_ns > time_ns - round_trip_ns) for time_ns in again.tolist()]
    spared = drops(side, link) & np.logical_or.reduce(near)
    return Sign(
        pair.excess_ns(*_MULTIPLE_REDUCTIONS_CLASSES), shown, dose=float(len(again)), packets=numbers(link, spared)[1:]
    )


def repeated_cuts(side: Side) -> Integers:
    """Return when the server's window was cut within a round trip of a cut before.

    The threshold of slow start shows cuts if it is logged, else the window does. The kernel's TCP is left out: its
    window shrinks packet by packet (RFC 6937), and the threshold that it reports moves with the window between cuts.
    """
    sender = side.server
    steps = None if sender is None else sender.threshold if sender.threshold is not None else sender.window
    if sender is None or steps is None or sender.source == "tcp":
        return np.zeros(0, np.int64)
    cut = _cuts(within(side, steps))
    rtt_ns = np.full(len(cut), side.round_trip_ns)
    if sender.smoothed_rtt is not None:
        rtt_ns = sender.smoothed_rtt.at(cut, side.round_trip_ns)
    return np.asarray(cut[1:][np.diff(cut) < rtt_ns[1:]], np.int64)


def _cuts(steps: Steps) -> Integers:
    value = steps.value.astype(np.float64)
    return np.asarray(steps.time_ns[1:][value[1:] < _CUT * value[:-1]], np.int64)


def multiple_reductions_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return the loser with one loss in the place of several, and another version of its stack."""
    forgiven = changes.forgiven(finding, "of the losses of a round trip all but the first forgiven")
    return [
        changes.cure(Touches.OCCASION, Target.LOSER, forgiven),
        changes.cure(Touches.PROGRAM, Target.LOSER, changes.other_version(pair.loser, "server")),
    ]


MULTIPLE_REDUCTIONS = Cause(
    name="multiple_reductions",
    title="Several cuts within a round trip",
    sentence="at second cuts of its window within a round trip of the first (about {dose:.0f} a load)",
    source="RFC 9002, 7.3.2; RFC 5681; RFC 6582",
    role="server",
    classes=_MULTIPLE_REDUCTIONS_CLASSES,
    needs=("metrics",),
    detect=multiple_reductions_sign,
    interventions=multiple_reductions_changes,
    cured_by="one loss in the place of several; another version",
    says=Says.WHERE,
)
"""The sender cuts its window more than once within a round trip."""


_KEPT_REDUCTION_CLASSES = (LedgerClass.CONGESTION_WINDOW, LedgerClass.ACK_WAIT)


def kept_reduction_sign(pair: Pair) -> Sign | None:
    """Return a sign if the loser's server declared packets lost that arrived, and then waited for its window."""
    shown, count = false_losses(pair.loser, "the window was reduced for a packet that arrives")
    return None if count == 0 else Sign(pair.excess_ns(*_KEPT_REDUCTION_CLASSES), shown, dose=float(count))


def kept_reduction_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return a loser that takes such reductions back, and a winner that does not."""
    return [
        changes.cure(Touches.MECHANISM, Target.LOSER, _undoing(pair.loser, True)),
        changes.transplant(Touches.MECHANISM, _undoing(pair.winner, False)),
    ]


def _undoing(side: Side, on: bool) -> Change | str:
    label = "reductions for packets that arrive are taken back" if on else "reductions are kept"
    heard = {"tcp_timestamps": on, "tcp_dsack": on}  # without them the kernel never learns that a packet had arrived
    return changes.tuned(side.trial, "server", {"undo_spurious_losses": on}, heard, label)


KEPT_REDUCTION = Cause(
    name="kept_reduction",
    title="Reductions kept after spurious losses",
    sentence="it keeps the window reduced for packets that arrive after all (about {dose:.0f} a load)",
    source="RFC 4015 (Eifel response); RFC 3522; Linux tcp_try_undo_recovery; quic-go 0.65, Reno alone",
    role="server",
    classes=_KEPT_REDUCTION_CLASSES,
    needs=("packet_spurious",),
    detect=kept_reduction_sign,
    interventions=kept_reduction_changes,
    cured_by="a window that is given back when the losses prove to be none",
)
"""The sender keeps its window reduced when a packet that it declared lost arrives after all."""


_PERSISTENT_CONGESTION_CLASSES = (LedgerClass.CONGESTION_WINDOW, LedgerClass.ACK_WAIT, LedgerClass.TIMER)
_SMALLEST_PACKETS, _FROM_TIMES = 2, 3
_BACK_ROUND_TRIPS = 20
_KNOB, _LATER = "persistent_congestion_threshold", 10


def persistent_congestion_sign(pair: Pair) -> Sign | None:
    """Return a sign if the loser's window falls to its smallest in one step, more often than the winner's."""
    side, times = pair.loser, collapses(pair.loser)
    if len(times) == 0 or len(times) <= len(collapses(pair.winner)):
        return None
    shown = tuple(
        Evidence(time_ns - side.start_ns, "the window falls to its smallest at once")
        for time_ns in times[:MOST_EVIDENCE].tolist()
    )
    link, back_ns = side.down, _BACK_ROUND_TRIPS * max(side.round_trip_ns, 1)
    near = [(link.arrival_ns <= time_ns) & (link.arrival_ns > time_ns - back_ns) for time_ns in times.tolist()]
    spared = drops(side, link) & np.logical_or.reduce(near)
    return Sign(
        pair.excess_ns(*_PERSISTENT_CONGESTION_CLASSES), shown, dose=float(len(times)), packets=numbers(link, spared)
    )


def collapses(side: Side) -> Integers:
    """Return when the server's window fell at once from several times its smallest size to that, after a timeout."""
    sender, packet = side.server, datagram_bytes(side)
    if sender is None or sender.window is None or packet == 0:
        return np.zeros(0, np.int64)
    window = within(side, sender.window)
    smallest = _SMALLEST_PACKETS * (packet + 100)  # a window counts headers that a datagram's payload leaves out
    fell = (window.value[1:] <= smallest) & (window.value[:-1] >= _FROM_TIMES * smallest)
    times = window.time_ns[1:][fell]
    # Without a timeout before it, it is an ordinary cut of a window that was small already.
    first = np.searchsorted(sender.timeouts.time_ns, times - _BACK_ROUND_TRIPS * max(side.round_trip_ns, 1))
    after_timeouts = np.searchsorted(sender.timeouts.time_ns, times, side="right") > first
    return np.asarray(times[after_timeouts], np.int64)


def persistent_congestion_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return the losses before it forgiven, a later fall and, as doses, larger smallest windows for the loser."""
    own = effective_value(pair.loser, "server", _KNOB)
    later: Change | str = "it is not known after how many probe timeouts of losses its sender starts again"
    if own is not None:
        count = round(_LATER * own)
        later = changes.knob(
            pair.loser.trial, "server", _KNOB, count, f"a fall to the smallest window after {count} probe timeouts"
        )
    doses = [
        (
            float(count),
            changes.knob(pair.loser.trial, "server", "min_window", count, f"a window of {count} packets at least"),
        )
        for count in (4, 10, 20)
    ]
    return [
        changes.cure(
            Touches.OCCASION, Target.LOSER, changes.forgiven(finding, "the losses before the window fell forgiven")
        ),
        changes.cure(Touches.MECHANISM, Target.LOSER, later),
        *changes.doses(Touches.MECHANISM, Target.LOSER, doses),
    ]


PERSISTENT_CONGESTION = Cause(
    name="persistent_congestion",
    title="Persistent congestion",
    sentence="timeouts (about {dose:.0f} a load) throw its window back to the smallest, as in persistent congestion",
    source="RFC 9002, 7.6; RFC 5681, 3.1",
    role="path",
    classes=_PERSISTENT_CONGESTION_CLASSES,
    needs=("metrics",),
    detect=persistent_congestion_sign,
    interventions=persistent_congestion_changes,
    cured_by="the losses before it forgiven",
    where="at losses before its window falls to its smallest size",
)
"""Losses over so long a time that the sender starts again with its smallest window."""


CAUSES = (
    RANDOM_LOSS_RESPONSE,
    QUEUE_LOSS_RESPONSE,
    ECN_RESPONSE,
    WINDOW_AFTER_LOSS,
    MULTIPLE_REDUCTIONS,
    KEPT_REDUCTION,
    PERSISTENT_CONGESTION,
)
