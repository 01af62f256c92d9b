"""Loss epochs: how many packets are lost in the round trip that begins with a loss. Pure.

Langley et al. (SIGCOMM 2017, 7.3) asked with them how often the recovery of a single packet would help.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from longlook.timeline.events import among
from longlook.timeline.round_trips import RoundTrips, round_trips_of
from longlook.timeline.timeline import Kind, Timeline


def epochs_by_size(timeline: Timeline) -> dict[str, list[int]] | None:
    """Return columns `lost` and `epochs`: the number of loss epochs of the load that lost `lost` packets; None as
    below.
    """
    counts = loss_epochs_of(timeline)
    if counts is None:
        return None
    lost, epochs = np.unique(np.array(counts, np.int64), return_counts=True)
    return {"lost": lost.tolist(), "epochs": epochs.tolist()}


def loss_epochs_of(timeline: Timeline) -> list[int] | None:
    """Return how many packets each loss epoch of the load lost, flow by flow and in order of time.

    An epoch begins with a packet towards the client that the link drops, unless an epoch of its flow lasts already. It
    lasts for the round trip that the link gave the flow at that time. A flow from which nothing came back to the server
    has no round trip and is left out. None if nothing went round at all, or without a load.
    """
    trips = round_trips_of(timeline)
    if not trips or timeline.load_window_ns() is None:
        return None
    lost = timeline.packets_in_load([Kind.PACKET_DROPPED], timeline.data_direction)
    flows = [
        name for name in sorted(pc.unique(lost["flow"].cast(pa.string())).drop_null().to_pylist()) if name in trips
    ]
    return [count for name in flows for count in _of_flow(lost.filter(among(lost["flow"], [name])), trips[name])]


def _of_flow(lost: pa.Table, trips: RoundTrips) -> list[int]:
    times_ns = np.sort(lost["time_ns"].to_numpy())
    counts, first = [], 0
    while first < len(times_ns):
        end_ns = int(times_ns[first]) + trips.at(int(times_ns[first]))
        behind = max(first + 1, int(np.searchsorted(times_ns, end_ns, side="left")))
        counts.append(behind - first)
        first = behind
    return counts


@dataclass(frozen=True)
class Tail:
    """The packets of the last round trip before a sender fell silent: how many were lost, and whether the last was."""

    lost: int
    last_is_lost: bool


def tails(timeline: Timeline) -> list[Tail] | None:
    """Return the tail of every flight of the load towards the client, flow by flow and in order of time.

    A flight ends with a packet after which none of its flow follows for longer than a round trip, or none at all. Its
    tail are the packets of the last round trip before its end. None if `loss_epochs` returns None.
    """
    trips = round_trips_of(timeline)
    if not trips or timeline.load_window_ns() is None:
        return None
    packets = timeline.packets_in_load([Kind.PACKET_DELIVERED, Kind.PACKET_DROPPED], timeline.data_direction)
    found = []
    for name in sorted(trips):
        own = packets.filter(among(packets["flow"], [name])).sort_by("arrival_ns")
        lost = among(own["kind"], [Kind.PACKET_DROPPED]).to_numpy(zero_copy_only=False)
        found += _tails_of(own["arrival_ns"].to_numpy(), np.asarray(lost, np.bool_), trips[name])
    return found


def _tails_of(times_ns: npt.NDArray[np.int64], lost: npt.NDArray[np.bool_], trips: RoundTrips) -> list[Tail]:
    found, begin = [], 0
    for end, time_ns in enumerate(times_ns.tolist()):
        trip_ns = trips.at(time_ns)
        if end + 1 < len(times_ns) and int(times_ns[end + 1]) - time_ns <= trip_ns:
            continue
        first = max(begin, int(np.searchsorted(times_ns, time_ns - trip_ns, side="right")))
        found.append(Tail(int(lost[first : end + 1].sum()), bool(lost[end])))
        begin = end + 1
    return found
