"""The server is at work before it answers in the handshake: a wait at an end, and no round trip."""

from collections.abc import Sequence

import numpy as np

from longlook.explain import changes, remedies
from longlook.explain.cause import Cause, Finding, Intervention, Sign, Surgery, Target, Touches, Untestable
from longlook.explain.ledger import LedgerClass
from longlook.explain.ledger.handshake import SERVER
from longlook.explain.moments import hold, stretches, stretches_shown
from longlook.explain.pair import Pair, Side

_CLASSES = (LedgerClass.HANDSHAKE,)


def detect(pair: Pair) -> Sign | None:
    """Return a sign where the loser's handshake waits for the server's computing, for longer than the winner's."""
    more_ns, side = min(pair.excess_detail_ns(LedgerClass.HANDSHAKE, SERVER), pair.excess_ns(*_CLASSES)), pair.loser
    if more_ns <= 0:
        return None
    found = stretches(side, *_CLASSES, detail=SERVER)
    shown = stretches_shown(side, found, "the client's packets have arrived, and the server's answer has not left")
    return Sign(more_ns, shown, dose=found.total_ns / 1e6, transplant=_held(pair.winner, more_ns))


def _held(side: Side, time_ns: int) -> Surgery | None:
    """Return surgery that holds back the server's first flight for a time."""
    link = side.down
    own = np.flatnonzero(link.ours & (link.arrival_ns >= side.start_ns))
    if len(own) == 0:
        return None
    flight = own[link.arrival_ns[own] < link.arrival_ns[own[0]] + max(side.round_trip_ns, 1)]
    return Surgery(down=hold(link, flight, time_ns))


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return free computing and the winner's server for the loser, and the winner's first answer held back as long."""
    found: list[Intervention | Untestable] = [
        changes.cure(Touches.MECHANISM, Target.LOSER, change) for change in remedies.freed(pair.loser.trial, "server")
    ]
    held = remedies.inflicted(
        finding, "its server's first answer held back for as long", "the winner's server sends nothing to hold back"
    )
    return [
        *found,
        changes.cure(Touches.PROGRAM, Target.LOSER, remedies.winners_program(pair, "server")),
        changes.transplant(Touches.OCCASION, held),
    ]


CAUSE = Cause(
    name="handshake_computing",
    title="Server at work in the handshake",
    sentence="its server computes for {dose:.0f} ms before it answers in the handshake",
    source="RFC 9000, 7; Nawrocki et al., CoNEXT 2022 (instant acknowledgements)",
    role="server",
    classes=_CLASSES,
    needs=(),
    detect=detect,
    interventions=interventions,
    cured_by="free computing; the winner's server",
    where="while its server computes before it answers in the handshake",
)
