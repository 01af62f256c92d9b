"""The two arms run different versions of one stack, and the server's makes the difference."""

from collections.abc import Sequence

from longlook.explain import changes
from longlook.explain.cause import Cause, Change, Evidence, Finding, Intervention, Sign, Target, Untestable
from longlook.explain.side import Pair, Side


def detect(pair: Pair) -> Sign | None:
    """Return a sign where both servers are of one stack, in different versions, over the same protocol."""
    own, other = pair.loser.trial, pair.winner.trial
    if (
        own.server.stack != other.server.stack
        or own.server.version == other.server.version
        or own.protocol != other.protocol
    ):
        return None
    shown = Evidence(0, f"the server is {own.server.version}, the other arm's {other.server.version}")
    return Sign(pair.loser.load_ns - pair.winner.load_ns, (shown,))


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return the winner's version for the loser, and the loser's for the winner."""
    return [
        changes.cure(Target.LOSER, _version_of(pair.winner)),
        changes.transplant(_version_of(pair.loser)),
    ]


def _version_of(side: Side) -> Change:
    end = side.trial.server
    return Change(f"{end.version} as server", {"server": f"{end.stack}@{end.version}"})


CAUSE = Cause(
    name="server_version",
    title="Version of the server",
    sentence="its server is of another version",
    source="which side a change between releases is on",
    role="server",
    classes=(),
    needs=(),
    detect=detect,
    interventions=interventions,
    cured_by="the winner's version of the server",
)
