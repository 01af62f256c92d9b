"""The server's program gives its transport nothing to send, in the middle of an answer."""

from collections.abc import Sequence

from longlook.explain import changes, remedies
from longlook.explain.cause import Cause, Finding, Intervention, Says, Sign, Target, Touches, Untestable
from longlook.explain.ledger import LedgerClass
from longlook.explain.moments import stretches, stretches_shown
from longlook.explain.pair import Pair

_CLASSES = (LedgerClass.APPLICATION,)


def detect(pair: Pair) -> Sign | None:
    """Return a sign where the loser's transport waits longer for its program."""
    more_ns, side = pair.excess_ns(*_CLASSES), pair.loser
    if more_ns <= 0:
        return None
    found = stretches(side, *_CLASSES)
    shown = stretches_shown(side, found, "the window has room, and the program gives nothing to send")
    return Sign(more_ns, shown, dose=found.total_ns / 1e6)


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return the winner's server for the loser: all of them serve from memory, so nothing else could be faster."""
    return [
        changes.cure(Touches.PROGRAM, Target.LOSER, remedies.winners_program(pair, "server")),
        changes.transplant(Touches.PROGRAM, "no setting makes a server's program slower than it is"),
    ]


CAUSE = Cause(
    name="application_limited",
    title="Nothing to send",
    sentence="while its server's program gives the transport nothing to send, for {dose:.0f} ms",
    source="Zhang et al., T-RAT, SIGCOMM 2002; RFC 9002, 7.8",
    role="server",
    classes=_CLASSES,
    needs=("app_limited",),
    detect=detect,
    interventions=interventions,
    cured_by="the winner's server",
    says=Says.WHERE,
)
