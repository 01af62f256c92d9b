"""The round trips that the link gave each flow, to compare a sender's estimate of the round trip time with. Pure.

Endpoints are next to the link and add nothing but their own waiting. A round trip is therefore the time in the link of
a packet towards the client and of the packet that went back after it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from longlook.timeline.events import among
from longlook.timeline.timeline import Kind, Timeline

Integers = npt.NDArray[np.int64]


CLOCKS_AGREE_NS = 1_000_000
"""How far a log's stamps and round trip times may be off: some have whole milliseconds."""


@dataclass(frozen=True)
class RoundTrips:
    """One flow's round trips in order of time; arrays of one length, which is at least 1.

    Each packet that left the link towards the server makes one. It is the sum of its own time in the link and the time
    of the packet that had arrived at the client last before it. `shortest_ns` is the sum of the shortest times of the
    flow's packets in both directions. No true sample of the round trip time is below it.
    """

    time_ns: Integers
    round_trip_ns: Integers
    shortest_ns: int

    def at(self, time_ns: int) -> int:
        """Return the newest round trip that was known at the server at a moment; before the first one, that one."""
        found = int(np.searchsorted(self.time_ns, time_ns, side="right")) - 1
        return int(self.round_trip_ns[max(0, found)])


def round_trips_of(timeline: Timeline) -> Mapping[str, RoundTrips]:
    """Return the round trips of each measured flow by its name, computed once; flows without any are left out."""
    if "round_trips" not in timeline.derived:
        rows = timeline.select(Kind.PACKET_DELIVERED, "link")
        names = pc.unique(rows["flow"].cast(pa.string())).drop_null().to_pylist()
        ways = timeline.data_direction, timeline.back_direction
        found = {name: _of_flow(rows.filter(among(rows["flow"], [name])), ways) for name in names}
        timeline.derived["round_trips"] = {name: trips for name, trips in found.items() if trips is not None}
    known: Mapping[str, RoundTrips] = timeline.derived["round_trips"]
    return known


def with_samples(timeline: Timeline, rows: pa.Table) -> pa.Table:
    """Return the events of senders that come after their flow's first round trip.

    Before it a sender has no sample, and some stacks log the round trip time that they assume. Rows of flows without
    a round trip at the link are kept.
    """
    keep = np.ones(rows.num_rows, bool)
    for flow, trips in round_trips_of(timeline).items():
        early = rows["time_ns"].to_numpy() < trips.time_ns[0] - CLOCKS_AGREE_NS
        keep &= ~(early & among(rows["flow"], [flow]).to_numpy(zero_copy_only=False))
    return rows.filter(pa.array(keep))


def _of_flow(rows: pa.Table, ways: tuple[str, str]) -> RoundTrips | None:
    """Return the round trips of a flow: the ways of its data and of what comes back to their sender."""
    data, answers = (_by_departure(rows.filter(among(rows["direction"], [way]))) for way in ways)
    if not len(data[0]) or not len(answers[0]):
        return None
    before = np.searchsorted(data[1], answers[0], side="right") - 1
    back = before >= 0
    if not back.any():
        return None
    in_link = [departed - arrived for arrived, departed in (data, answers)]
    return RoundTrips(
        time_ns=answers[1][back],
        round_trip_ns=in_link[0][before[back]] + in_link[1][back],
        shortest_ns=int(in_link[0].min() + in_link[1].min()),
    )


def _by_departure(packets: pa.Table) -> tuple[Integers, Integers]:
    """Return when packets arrived at the link and when they left it, in the order in which they left."""
    arrived, departed = (packets[name].to_numpy().astype(np.int64) for name in ("arrival_ns", "time_ns"))
    order = np.argsort(departed, kind="stable")
    return arrived[order], departed[order]
