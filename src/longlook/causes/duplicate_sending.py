"""The bottleneck serves data that the client has, or gets twice."""

from collections.abc import Sequence

import numpy as np

from longlook.explain import changes, remedies
from longlook.explain.cause import Cause, Evidence, Finding, Intervention, Sign, Target, Touches, Untestable
from longlook.explain.ledger import LedgerClass
from longlook.explain.moments import stretches, stretches_shown
from longlook.explain.pair import Pair, Side
from longlook.explain.signs import resent
from longlook.explain.thresholds import later_losses

_CLASSES = (LedgerClass.LINK_WASTE,)


def detect(pair: Pair) -> Sign | None:
    """Return a sign where the bottleneck spends more time on data of the loser that is delivered twice.

    Datagrams that a sender sends again as they are count elsewhere (`datagrams_sent_twice`).
    """
    side = pair.loser
    more_ns = pair.excess_ns(*_CLASSES) - max(0, _resent_ns(side) - _resent_ns(pair.winner))
    if more_ns <= 0:
        return None
    found, link = stretches(side, *_CLASSES), side.down
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


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return a path that makes no copies for both arms, higher thresholds and longer timers for the loser."""
    side = pair.loser
    found: list[Intervention | Untestable] = []
    if np.any(side.down.copy):
        found.append(
            changes.cure(
                Touches.OCCASION, Target.BOTH, changes.path({"duplicate": "0%"}, "a path that makes no copies")
            )
        )
    patient = remedies.tuned(
        side.trial, "server", {"pto_factor": 4.0}, {"tcp_tail_loss_probe": False, "tcp_rto_min": "1s"}, "longer timers"
    )
    return [
        *found,
        *later_losses(side),
        changes.cure(Touches.MECHANISM, Target.LOSER, patient),
    ]


CAUSE = Cause(
    name="duplicate_sending",
    title="Data sent twice",
    sentence="the bottleneck spends {dose:.1f} ms on data that is delivered twice",
    source="RFC 3708; RFC 9002, 6.2.4",
    role="server",
    classes=_CLASSES,
    needs=(),
    detect=detect,
    interventions=interventions,
    cured_by="a path without copies; later declarations of loss; longer timers",
    where="where the path makes copies of packets",
)
