"""How much a link could carry: its rate towards the client, as the timeline's metadata have it. Pure."""

from collections.abc import Mapping
from typing import Any

import pyarrow.compute as pc

from longlook.timeline.timeline import Kind, Timeline


def first_packet_ns(timeline: Timeline) -> int:
    """Return when the first packet came to the link, of priming connections too; 0 where there was none."""
    kinds = (Kind.PACKET_DELIVERED, Kind.PACKET_DROPPED)
    return pc.min(timeline.select(kinds, "link", priming=None)["arrival_ns"]).as_py() or 0


def integral(capacity: Mapping[str, Any], begin_ns: float, end_ns: float) -> float:
    """Return bit/s × ns of a rate in steps from `begin_ns` to `end_ns`, which count from the first packet.

    The first step holds before link time 0 too.
    """
    steps, repeat_ns, phase_ns = capacity["steps"], capacity["repeat_ns"], capacity.get("phase_ns", 0)

    def until(moment_ns: float) -> float:
        if moment_ns <= 0:
            return float(steps[0][1] * moment_ns)
        rounds, rest_ns = divmod(moment_ns, repeat_ns) if repeat_ns else (0, moment_ns)
        ends = [*(step[0] for step in steps[1:]), repeat_ns or float("inf")]
        spans = [(at, end, rate) for (at, rate), end in zip(steps, ends, strict=True)]
        whole = rounds * sum(rate * (end - at) for at, end, rate in spans) if rounds else 0
        return float(whole + sum(rate * max(0, min(rest_ns, end) - at) for at, end, rate in spans))

    return until(end_ns + phase_ns) - until(begin_ns + phase_ns)
