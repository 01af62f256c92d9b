"""A connection over the whole path competes with one that a proxy splits: its losses and its window take two links."""

from collections.abc import Sequence

from longlook.core import registry
from longlook.core.model import Endpoint, Trial
from longlook.explain import changes
from longlook.explain.cause import Cause, Finding, Intervention, Sign, Target, Touches, Untestable
from longlook.explain.moments import SENDER_WAITS, stretches, stretches_shown
from longlook.explain.pair import Pair


def detect(pair: Pair) -> Sign | None:
    """Return a sign where a proxy splits the winner's path alone, and the loser's senders wait for longer."""
    more_ns, side = pair.excess_ns(*SENDER_WAITS), pair.loser
    if pair.winner.trial.proxy is None or side.trial.proxy is not None or more_ns <= 0:
        return None
    shown = stretches_shown(side, stretches(side, *SENDER_WAITS), "its sender waits for the far end of both links")
    return Sign(more_ns, shown, dose=side.round_trip_ns / 1e6)


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return a proxy for the loser, and none for the winner."""
    trial, winner = pair.loser.trial, pair.winner.trial
    proxies = [winner.proxy] if winner.proxy is not None else []
    proxies += [proxy for proxy in _able(trial) if all(proxy.stack != known.stack for known in proxies)]
    tried = [changes.through_proxy(trial, proxy, f"a proxy ({proxy.stack}) midway") for proxy in proxies]
    return [
        *(changes.cure(Touches.MECHANISM, Target.LOSER, change) for change in tried),
        changes.transplant(Touches.MECHANISM, changes.without_proxy(winner, "no proxy")),
    ]


def _able(trial: Trial) -> list[Endpoint]:
    """Return every proxy here that ends connections of a trial's protocol, with its defaults; a tunnel ends none."""
    stacks = [stack for stack in registry.stacks().values() if "proxy" in stack.roles and stack.relay_command is None]
    able = [stack for stack in stacks if stack.speaks(stack.default_version, trial.protocol)]
    return [Endpoint(stack.name, stack.default_version) for stack in able]


CAUSE = Cause(
    name="unsplit_path",
    title="A path that no proxy splits",
    sentence="a proxy splits the other's path, and its own sender hears from the far end after {dose:.0f} ms",
    source="RFC 3135, 2.4 (split connections); Kakhki et al., IMC 2017, fig. 17",
    role="path",
    classes=SENDER_WAITS,
    needs=(),
    detect=detect,
    interventions=interventions,
    cured_by="a proxy midway for the loser; none for the winner",
)
