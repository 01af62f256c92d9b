"""Check that an end's clock agrees with the link's: nothing arrives before it was sent. Pure."""

from dataclasses import dataclass

import numpy as np

from longlook.timeline.normalise.packet_join import Joined
from longlook.timeline.normalise.rows import NULL, Integers, Rows

TOLERANCE_NS = 20_000
"""The error of a stamp beyond its own resolution: it is taken some instructions before or after the event."""


@dataclass(frozen=True)
class Lag:
    """The lag from one record of packets to the other, in ns: minimum, median and maximum over so many packets."""

    packets: int
    least_ns: int
    median_ns: int
    most_ns: int


def lag_of(packets: Rows, joined: Joined, times_ns: Integers, *, forwards: bool) -> Lag | None:
    """Return the time of packets between the end and the link, by both clocks, or None if no pair is known.

    If there are any, only packets with a short header count: each is a datagram of its own and waits for no keys.
    """
    paired = joined.datagram != NULL
    short = paired & packets.matches("space", "1rtt")
    paired = np.flatnonzero(short if short.any() else paired)
    if not len(paired):
        return None
    lag_ns = times_ns[joined.datagram[paired]] - packets["time_ns"][paired]
    lag_ns = lag_ns if forwards else -lag_ns
    return Lag(len(paired), int(lag_ns.min()), int(np.median(lag_ns)), int(lag_ns.max()))


def skew_problems(sent: Lag | None, received: Lag | None, resolution: int) -> list[str]:
    """Return the contradictions between the clocks, one sentence each. Times are left as they were stamped."""
    problems = []
    allowed = resolution + TOLERANCE_NS
    if sent is not None and sent.least_ns < -allowed:
        problems.append(f"a packet reached the link {-sent.least_ns} ns before its sender's clock says it was sent")
    if received is not None and received.least_ns < -allowed:
        problems.append(f"a packet was received {-received.least_ns} ns before it left the link")
    return problems
