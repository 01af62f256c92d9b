"""The server takes longer from a request to its answer."""

from collections.abc import Sequence

import numpy as np

from longlook.explain import changes, remedies
from longlook.explain.cause import Cause, Finding, Intervention, Says, Sign, Surgery, Target, Touches, Untestable
from longlook.explain.ledger import LedgerClass
from longlook.explain.moments import Stretches, during, stretches, stretches_shown
from longlook.explain.pair import Pair, Side

_CLASSES = (LedgerClass.SERVER_THINK,)
_AT_ONCE_NS = 1_000_000


def detect(pair: Pair) -> Sign | None:
    """Return a sign where the loser's server is longer at work before the first bytes of its answers."""
    side, found = pair.loser, thinking(pair.loser)
    more_ns = min(found.total_ns - thinking(pair.winner).total_ns, pair.excess_ns(*_CLASSES))
    if more_ns <= 0:
        return None
    shown = stretches_shown(side, found, "a request has arrived, and nothing of its answer has left")
    return Sign(more_ns, shown, dose=found.total_ns / 1e6, transplant=_held(pair.winner, more_ns))


def thinking(side: Side) -> Stretches:
    """Return the times before answers that did not end with a packet from the client, which the server waited for then.

    A limit of streams or of credit also keeps an answer from its first byte.
    """
    found, link = stretches(side, *_CLASSES), side.up
    reached = np.sort(link.departure_ns[link.ours & link.delivered])
    last = np.append(reached, -1)[np.searchsorted(reached, found.end_ns, side="right") - 1]
    return found.where((last <= found.begin_ns) | (found.end_ns - last > _AT_ONCE_NS))


def _held(side: Side, time_ns: int) -> Surgery | None:
    """Return surgery that holds back the first answer of a load for a time; None where the load has no answer."""
    link = side.down
    requests = link.ours & link.carries_data & link.delivered & ~link.handshake & during(side, link.arrival_ns)
    after = side.start_ns + side.totals.get(LedgerClass.HANDSHAKE, 0) + side.totals.get(LedgerClass.REQUEST, 0) // 2
    answers = np.flatnonzero(requests & (link.arrival_ns >= after))
    return Surgery(down=f"hold {int(link.sequence[answers[0]])} {time_ns}ns") if len(answers) else None


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return the winner's server for the loser, and the winner's first answer held back by as much."""
    return [
        changes.cure(Touches.PROGRAM, Target.LOSER, remedies.winners_program(pair, "server")),
        changes.transplant(
            Touches.OCCASION,
            remedies.inflicted(
                finding, "its first answer held back as long as the loser's server thinks", "the winner has no answer"
            ),
        ),
    ]


CAUSE = Cause(
    name="server_think",
    title="Slow server",
    sentence="while its server takes {dose:.0f} ms from requests to the first bytes of its answers",
    source="Siekkinen et al., Computer Networks 2008",
    role="server",
    classes=_CLASSES,
    needs=(),
    detect=detect,
    interventions=interventions,
    cured_by="the winner's server; the winner's first answer held back",
    says=Says.WHERE,
)
