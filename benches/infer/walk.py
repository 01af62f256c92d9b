"""A synthetic walk over eleven states, in traces of at most fifty events."""

import random

NEXT = {
    "init": ("slow_start",),
    "slow_start": ("slow_start", "avoidance", "application_limited", "recovery", "loss_probe"),
    "avoidance": ("maxed", "application_limited", "recovery", "loss_probe", "closing"),
    "maxed": ("avoidance", "recovery"),
    "application_limited": ("avoidance", "slow_start", "closing"),
    "recovery": ("avoidance", "timeout", "drain"),
    "loss_probe": ("recovery", "avoidance"),
    "timeout": ("slow_start",),
    "drain": ("avoidance", "probe"),
    "probe": ("drain", "avoidance"),
}
"""After a timeout no trace drains any more, which one state for each name cannot tell."""

LENGTH = 50


def walk(events: int, seed: int = 1) -> list[list[tuple[str | None, int]]]:
    """Return traces with `events` events in all, one each millisecond."""
    draw = random.Random(seed)
    traces: list[list[tuple[str | None, int]]] = []
    while events > 0:
        here, timed_out = "init", False
        trace: list[tuple[str | None, int]] = []
        for at in range(min(LENGTH, events)):
            trace.append((here, at * 1_000_000))
            if here == "closing":
                break
            timed_out |= here == "timeout"
            here = draw.choice(NEXT[here])
            if here == "drain" and timed_out:
                here = "avoidance"
        events -= len(trace)
        traces.append([*trace, (None, LENGTH * 1_000_000)])
    return traces
