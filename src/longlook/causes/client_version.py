"""The two arms run different versions of one stack, and the client's makes the difference."""

from collections.abc import Sequence

from longlook.explain import changes
from longlook.explain.cause import Cause, Change, Evidence, Finding, Intervention, Sign, Target, Untestable
from longlook.explain.side import Pair, Side


def detect(pair: Pair) -> Sign | None:
    """Return a sign where both clients are of one stack, in different versions, over the same protocol."""
    own, other = pair.loser.trial, pair.winner.trial
    if (
        own.client.stack != other.client.stack
        or own.client.version == other.client.version
        or own.protocol != other.protocol
    ):
        return None
    shown = Evidence(0, f"the client is {own.client.version}, the other arm's {other.client.version}")
    return Sign(pair.loser.load_ns - pair.winner.load_ns, (shown,))


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return the winner's version for the loser, and the loser's for the winner."""
    return [
        changes.cure(Target.LOSER, _version_of(pair.winner)),
        changes.transplant(_version_of(pair.loser)),
    ]


def _version_of(side: Side) -> Change:
    end = side.trial.client
    return Change(f"{end.version} as client", {"client": f"{end.stack}@{end.version}"})


CAUSE = Cause(
    name="client_version",
    title="Version of the client",
    sentence="its client is of another version",
    source="which side a change between releases is on",
    role="client",
    classes=(),
    needs=(),
    detect=detect,
    interventions=interventions,
    cured_by="the winner's version of the client",
)
