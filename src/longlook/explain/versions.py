"""Causes that say on which side a change between releases is: the version of the server or of the client. Pure."""

from collections.abc import Sequence

from longlook.core.model import Endpoint
from longlook.explain import changes
from longlook.explain.cause import (
    Cause,
    Change,
    Evidence,
    Finding,
    Intervention,
    Says,
    Sign,
    Target,
    Touches,
    Untestable,
)
from longlook.explain.pair import Pair, Side


def version_cause(role: str) -> Cause:
    """Return the cause of a role, server or client, whose version the arms do not share."""

    def detect(pair: Pair) -> Sign | None:
        own, other = _end(pair.loser, role), _end(pair.winner, role)
        same_protocol = pair.loser.trial.protocol == pair.winner.trial.protocol
        if own.stack != other.stack or own.version == other.version or not same_protocol:
            return None
        shown = Evidence(0, f"the {role} is {own.version}, the other arm's {other.version}")
        return Sign(pair.loser.load_ns - pair.winner.load_ns, (shown,))

    def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
        """Return the winner's version for the loser, and the loser's for the winner."""
        return [
            changes.cure(Touches.PROGRAM, Target.LOSER, _version_of(pair.winner, role)),
            changes.transplant(Touches.PROGRAM, _version_of(pair.loser, role)),
        ]

    detect.__doc__ = (
        f"Return a sign where both {role}s are of one stack, in different versions, over the same protocol."
    )
    return Cause(
        name=f"{role}_version",
        title=f"Version of the {role}",
        sentence=f"with the version of its {role}",
        source="which side a change between releases is on",
        role=role,
        classes=(),
        needs=(),
        detect=detect,
        interventions=interventions,
        cured_by=f"the winner's version of the {role}",
        says=Says.WHERE,
    )


def _end(side: Side, role: str) -> Endpoint:
    return side.trial.server if role == "server" else side.trial.client


def _version_of(side: Side, role: str) -> Change:
    end = _end(side, role)
    return Change(f"{end.version} as {role}", {role: f"{end.stack}@{end.version}"})
