"""Timers double after each other, so that the sender is silent long after the path works again."""

from collections.abc import Sequence

import numpy as np

from longlook.core import units
from longlook.explain import changes, remedies
from longlook.explain.cause import Cause, Finding, Intervention, Sign, Target, Touches, Untestable
from longlook.explain.effective_settings import effective_value
from longlook.explain.ledger import LedgerClass
from longlook.explain.moments import Stretches, bounded_ns, drops, numbers, stretches, stretches_shown
from longlook.explain.pair import Pair, Side

_CLASSES = (LedgerClass.TIMER,)
_LEAST_IN_A_ROW = 2
_LINUX_MS = 200


def detect(pair: Pair) -> Sign | None:
    """Return a sign where the loser waits for a timer that has gone off before without an acknowledgement since."""
    side = pair.loser
    found = doubled(side)
    if found is None or len(found) == 0:
        return None
    link = side.down
    until = int(found.end_ns.max())
    first_ns = int(found.begin_ns.min()) - 2 * max(side.round_trip_ns, 1)
    probes = drops(side, link) & (link.arrival_ns >= first_ns) & (link.arrival_ns <= until)
    shown = stretches_shown(side, found, "the sender waits for a timer that has doubled")
    longest_ms = int((found.end_ns - found.begin_ns).max()) / 1e6
    return Sign(bounded_ns(pair, found.total_ns, *_CLASSES), shown, dose=longest_ms, packets=numbers(link, probes))


def doubled(side: Side) -> Stretches | None:
    """Return the waits for a timer that ended with the second timeout in a row or a later one; None without a log."""
    sender, waits = side.server, stretches(side, *_CLASSES)
    if sender is None:
        return None
    fired = sender.timeouts.time_ns
    acked = np.sort(sender.acked.time_ns)
    last_ack = np.append(acked, -1)[np.searchsorted(acked, waits.end_ns, side="left") - 1] if len(acked) else -1
    in_a_row = np.searchsorted(np.sort(fired), waits.end_ns, side="right") - np.searchsorted(
        np.sort(fired), last_ack, side="right"
    )
    return waits.where(in_a_row >= _LEAST_IN_A_ROW)


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return the losses between the timeouts forgiven, and shorter timers for the loser."""
    side = pair.loser
    forgiven = changes.forgiven(finding, "the losses before and between the timeouts forgiven")
    own, least_ms = effective_value(side, "server", "pto_factor") or 1.0, _least_ms(side)
    doses = [
        (
            factor,
            remedies.tuned(
                side.trial,
                "server",
                {"pto_factor": factor * own},
                {"tcp_rto_min": f"{max(1, round(least_ms * factor))}ms"},
                label,
            ),
        )
        for factor, label in (
            (0.25, "timers a quarter as long"),
            (0.5, "timers half as long"),
            (2.0, "timers twice as long"),
        )
    ]
    return [
        changes.cure(Touches.OCCASION, Target.LOSER, forgiven),
        changes.cure(Touches.MECHANISM, Target.LOSER, doses[0][1]),
        *changes.doses(Touches.MECHANISM, Target.LOSER, doses),
    ]


def _least_ms(side: Side) -> float:
    """Return the least timeout of the kernel's TCP, as set or as Linux has it."""
    value = changes.tcp_value(side.trial, "tcp_rto_min") if not changes.over_quic(side.trial) else None
    return _LINUX_MS if value is None else units.parse_time(value) / 1e6


CAUSE = Cause(
    name="rto_backoff",
    title="Timers double",
    sentence="its timer doubles at each timeout in a row, up to {dose:.0f} ms of silence",
    source="RFC 6298, 5.5; RFC 9002, 6.2.1; RFC 5682",
    role="path",
    classes=_CLASSES,
    needs=("pto",),
    detect=detect,
    interventions=interventions,
    cured_by="the losses between the timeouts forgiven; shorter timers",
    where="at losses before and between timeouts in a row",
)
