"""Samples of the round trip time that the path cannot have given."""

import numpy as np

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.events import EventKind, among
from longlook.timeline.round_trips import CLOCKS_AGREE_NS, round_trips, with_samples
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Return the share in % of the samples logged in the load; None without any: the kernel's TCP logs no samples."""
    rows = timeline.events_in_load([EventKind.METRICS], "server")
    if rows is None:
        return None
    rows = with_samples(timeline, rows)
    rows = rows.filter(rows["latest_rtt_ns"].fill_null(0).to_numpy() > 0)
    samples = impossible = 0
    for flow, trips in round_trips(timeline).items():
        logged_ns = rows.filter(among(rows["flow"], [flow]))["latest_rtt_ns"].to_numpy()
        fresh_ns = logged_ns[np.diff(logged_ns, prepend=0) != 0]  # a row repeats the newest sample
        samples += len(fresh_ns)
        impossible += int(np.count_nonzero(fresh_ns < trips.shortest_ns - CLOCKS_AGREE_NS))
    return 100.0 * impossible / samples if samples else None


METRIC = Metric(
    name="impossible_rtt_samples",
    label="Impossible samples of the round trip time",
    unit="%",
    better=Better.LOWER,
    needs=(EventKind.METRICS, Kind.PACKET_DELIVERED),
    measure=measure,
    summary="Share of the server's samples of the round trip time in the load that no packet can have given. "
    "They are shorter, by over 1 ms, than the connection's shortest times in the link in both directions together. "
    "Such a sample comes from an acknowledgement taken for another packet's (Yu and Benson, WWW 2021). "
    "A lower bound: a wrong sample may also be possible. "
    "None for the kernel's TCP, which logs no single samples. "
    "Needs `[capture]` of traces.",
)
