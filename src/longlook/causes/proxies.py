"""Causes: a proxy in the middle of a path, or its absence."""

from collections.abc import Sequence

from longlook.core import Endpoint, Trial, registry
from longlook.explain import (
    BEHIND_PROXY,
    SENDER_WAITS,
    Cause,
    Finding,
    Intervention,
    LedgerClass,
    Pair,
    Side,
    Sign,
    Target,
    Touches,
    Untestable,
    changes,
    stretches,
    stretches_shown,
)

_CLASSES = (LedgerClass.HANDSHAKE,)


def proxy_connection_sign(pair: Pair) -> Sign | None:
    """Return a sign if the loser's proxy is longer at the handshake with the server than the winner's, if any."""
    own, others = (_details(side) for side in (pair.loser, pair.winner))
    more_ns = sum(own.values()) - sum(others.values())
    if more_ns <= 0:
        return None
    longest = max(own, key=lambda detail: own[detail])
    found = stretches(pair.loser, *_CLASSES, detail=longest)
    shown = stretches_shown(pair.loser, found, "the proxy is at its handshake with the server")
    return Sign(more_ns, shown, dose=sum(own.values()) / 1e6)


def _details(side: Side) -> dict[str, int]:
    details = side.ledger.details(LedgerClass.HANDSHAKE)
    return {text: lasts_ns for text, lasts_ns in details.items() if text is not None and text.startswith(BEHIND_PROXY)}


def proxy_connection_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return a connection that is open already, early data on it, and no proxy, for the loser."""
    trial = pair.loser.trial
    warm = changes.knob(trial, "proxy", "upstream_connections", "warm", "a connection behind the proxy that is open")
    early = changes.knob(trial, "proxy", "upstream_0rtt", True, "early data behind the proxy")
    without = changes.without_proxy(trial, "no proxy")
    return [
        *(changes.cure(Touches.MECHANISM, Target.LOSER, change) for change in (warm, early)),
        changes.cure(Touches.OCCASION, Target.LOSER, without),
    ]


PROXY_CONNECTION = Cause(
    name="proxy_connection",
    title="The proxy's own connection",
    sentence="its proxy is {dose:.0f} ms at a handshake with the server before it can ask for anything",
    source="Kakhki et al., IMC 2017, fig. 18 (a proxy without 0-RTT)",
    role="path",
    classes=_CLASSES,
    needs=(),
    detect=proxy_connection_sign,
    interventions=proxy_connection_changes,
    cured_by="a connection behind the proxy that is open already; early data on it; no proxy",
    where="while its proxy opens a connection of its own to the server",
)
"""A proxy opens a connection of its own to the server before it can ask for anything."""


def unsplit_path_sign(pair: Pair) -> Sign | None:
    """Return a sign if a proxy splits the winner's path alone, and the loser's senders wait for longer."""
    more_ns, side = pair.excess_ns(*SENDER_WAITS), pair.loser
    if pair.winner.trial.proxy is None or side.trial.proxy is not None or more_ns <= 0:
        return None
    shown = stretches_shown(side, stretches(side, *SENDER_WAITS), "its sender waits for the far end of both links")
    return Sign(more_ns, shown, dose=side.round_trip_ns / 1e6)


def unsplit_path_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
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
    able = [stack for stack in stacks if stack.speaks(stack.default_version, trial.protocol, "proxy")]
    return [Endpoint(stack.name, stack.default_version) for stack in able]


UNSPLIT_PATH = Cause(
    name="unsplit_path",
    title="A path that no proxy splits",
    sentence="a proxy splits the other's path, and its own sender hears from the far end after {dose:.0f} ms",
    source="RFC 3135, 2.4 (split connections); Kakhki et al., IMC 2017, fig. 17",
    role="path",
    classes=SENDER_WAITS,
    needs=(),
    detect=unsplit_path_sign,
    interventions=unsplit_path_changes,
    cured_by="a proxy midway for the loser; none for the winner",
)
"""A connection over the whole path competes with one that a proxy splits: its losses and its window take two links."""


CAUSES = (PROXY_CONNECTION, UNSPLIT_PATH)
