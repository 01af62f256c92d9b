"""The settings that an arm really has, and what is looser than they are, as a cure must be. Pure.

A value in a trace counts before a setting of the study, and that before a default that the stack declares. If none of
them says the value, nothing is known to be looser, and the change cannot be made.
"""

import math
from collections.abc import Sequence

from longlook.core import Scalar, Trial, registry, units
from longlook.explain import changes
from longlook.explain.cause import Change
from longlook.explain.pair import Side
from longlook.explain.signs import bdp_bytes
from longlook.study import tcp

_LOGGED = {"packet_threshold": "reordering_threshold", "time_threshold": "time_threshold"}
"""Knobs of a server → the name that its log gives them among the parameters of loss recovery, in the same unit."""

_LENGTHS = ("queue_bytes", "queue_packets")


def effective_value(side: Side, role: str, name: str) -> float | None:
    """Return the number that an end's knob has in force; None if no log, setting or declaration says it."""
    sender = side.server if role == "server" else side.client
    logged = None if sender is None else sender.parameters.get("recovery", {}).get(_LOGGED.get(name, ""))
    for value in (logged, changes.in_effect(side.trial, role, name)):
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
    return None


def raised(side: Side, name: str, factor: float) -> int | float | str:
    """Return the server's own value of a knob, or of a setting of TCP, times a factor, within bounds; else why not.

    A factor above 1 must give more than the server has.
    """
    server, own, is_whole = (
        side.trial.server,
        changes.tcp_value(side.trial, name) if name in tcp.SETTINGS else None,
        True,
    )
    most, whose = float(tcp.MOST_PACKETS), "TCP"
    if name not in tcp.SETTINGS:
        known = registry.stack(server.stack).knobs.get(name)
        if known is None:
            return str(changes.knob(side.trial, "server", name, 0, ""))
        own, most = effective_value(side, "server", name), known.maximum if known.maximum is not None else math.inf
        is_whole, whose = known.kind is int, f"server {server.stack}@{server.version}"
    if not isinstance(own, int | float):
        return f"no log, setting or declaration says what {name} {whose} has"
    value = min(own * factor, most)
    value = round(value) if is_whole else value
    if factor > 1 and value <= own:
        return f"{whose} has {name} {own:g} already, and allows no more"
    return value


def setting_bytes(trial: Trial, name: str) -> int | None:
    """Return a size that the kernel's TCP has in force, as set or as Linux has it; None if it has none."""
    value = changes.tcp_value(trial, name)
    return None if value is None else units.parse_size(str(value))


def longer_queues(side: Side, factors: Sequence[float], trial: Trial | None = None) -> list[tuple[float, Change | str]]:
    """Return queues that are longer by each factor than the queue to the client, with the factor, for both directions.

    They are counted as the queue is. If a trial is given, the link behind its middle is changed, too.
    """
    own = [
        (name, stage.parameters[name])
        for stage in side.trial.link.down
        for name in _LENGTHS
        if name in stage.parameters
    ]
    lengths = [(name, value) for name, value in own if isinstance(value, int)]
    if len(lengths) != 1:
        reason = "the queue to the client varies or has no one length: nothing is known to be longer"
        return [(factor, reason) for factor in factors]
    (name, length), product = lengths[0], bdp_bytes(side)
    if name == "queue_bytes" and product:
        own_length, unit, said = length / product, "bdp", "BDP"
    else:
        unit, said = ("packets", "packets") if name == "queue_packets" else ("B", "bytes")
        own_length = float(length)
    texts = {factor: f"{round(factor * own_length, 2 if unit == 'bdp' else None):g}" for factor in factors}
    return [(factor, _queue({"queue": f"{text}{unit}"}, f"{text} {said}", trial)) for factor, text in texts.items()]


def _queue(settings: dict[str, Scalar], length: str, trial: Trial | None) -> Change:
    return changes.path(settings, f"a queue of {length}", trial)
