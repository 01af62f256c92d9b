"""How the server's sender saw its round trips."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from longlook.core import OF_SHARES, Better, Margin, Quantity
from longlook.metrics import Metric
from longlook.timeline import CLOCKS_AGREE_NS, EventKind, Kind, Timeline, among, round_trips_of, with_samples


def _server_min_rtt(timeline: Timeline) -> float | None:
    """Return the minimum in ms of the server's own estimate in the load, or None without its trace."""
    rows = timeline.events_in_load([EventKind.METRICS], timeline.sender)
    if rows is None:
        return None
    rows = with_samples(timeline, rows)
    known = rows["min_rtt_ns"].filter(pc.greater(rows["min_rtt_ns"], 0))  # some stacks write 0 before the first sample
    return pc.min(known).as_py() / 1e6 if len(known) else None


def _server_srtt(timeline: Timeline) -> float | None:
    """Return the mean over time in ms, each estimate held until the next, then the mean over connections."""
    rows = timeline.events_in_load([EventKind.METRICS], timeline.sender)
    window = timeline.load_window_ns()
    if rows is None or window is None or timeline.events is None:
        return None
    flows = [flow for flow, vantage in timeline.events.senders() if vantage == timeline.sender]
    means = [_mean_ns(rows.filter(among(rows["flow"], [flow])), window[1]) for flow in flows]
    known = [mean for mean in means if mean is not None]
    return float(np.mean(known)) / 1e6 if known else None


def _mean_ns(rows: pa.Table, end_ns: int) -> float | None:
    srtt_ns = rows["srtt_ns"].fill_null(0).to_numpy()
    held_ns = np.diff(rows["time_ns"].to_numpy(), append=end_ns)[srtt_ns > 0]
    return float(np.average(srtt_ns[srtt_ns > 0], weights=held_ns)) if held_ns.sum() > 0 else None


def _server_rtt_error(timeline: Timeline) -> float | None:
    """Return the mean error in % over all moments of the load at which a packet reached a server with a trace."""
    rows, window = timeline.events_in_load([EventKind.METRICS], timeline.sender), timeline.load_window_ns()
    if rows is None or window is None:
        return None
    rows = with_samples(timeline, rows)
    rows = rows.filter(rows["srtt_ns"].fill_null(0).to_numpy() > 0)
    errors = []
    for flow, trips in round_trips_of(timeline).items():
        own = rows.filter(among(rows["flow"], [flow]))
        at_ns, srtt_ns = own["time_ns"].to_numpy(), own["srtt_ns"].to_numpy()
        held = np.searchsorted(at_ns, trips.time_ns, side="right") - 1
        known = (held >= 0) & (trips.time_ns <= window[1])
        errors.append(np.abs(srtt_ns[held[known]] / trips.round_trip_ns[known] - 1))
    found = np.concatenate(errors) if errors else np.zeros(0)
    return 100.0 * float(found.mean()) if len(found) else None


def _impossible_rtt_samples(timeline: Timeline) -> float | None:
    """Return the share in % of the samples logged in the load; None without any: the kernel's TCP logs no samples."""
    rows = timeline.events_in_load([EventKind.METRICS], timeline.sender)
    if rows is None:
        return None
    rows = with_samples(timeline, rows)
    rows = rows.filter(rows["latest_rtt_ns"].fill_null(0).to_numpy() > 0)
    samples = impossible = 0
    for flow, trips in round_trips_of(timeline).items():
        logged_ns = rows.filter(among(rows["flow"], [flow]))["latest_rtt_ns"].to_numpy()
        fresh_ns = logged_ns[np.diff(logged_ns, prepend=0) != 0]  # a row repeats the newest sample
        samples += len(fresh_ns)
        impossible += int(np.count_nonzero(fresh_ns < trips.shortest_ns - CLOCKS_AGREE_NS))
    return 100.0 * impossible / samples if samples else None


OF_ROUND_TRIPS = Margin(3.0, "less than the ± 5 % within which rounds draw the round trip of the path")

METRICS = (
    Metric(
        name="server_min_rtt",
        label="Minimum round trip time at the server",
        unit="ms",
        better=Better.LOWER,
        margin=OF_ROUND_TRIPS,
        needs=(EventKind.METRICS,),
        measure=_server_min_rtt,
        summary="The minimum round trip time in the load as the server's stack or kernel estimates it (RFC 9002, "
        "5.2). Needs `[capture]` of traces.",
    ),
    Metric(
        name="server_srtt",
        label="Smoothed round trip time at the server",
        unit="ms",
        better=Better.LOWER,
        margin=OF_ROUND_TRIPS,
        needs=(EventKind.METRICS,),
        measure=_server_srtt,
        summary="Mean over the load of the smoothed round trip time as the server's stack or kernel estimates it "
        "(RFC 9002, 5.3; RFC 6298). Its distance to the minimum is the queueing that the sender sees. "
        "Needs `[capture]` of traces.",
    ),
    Metric(
        name="server_rtt_error",
        label="Error of the server's round trip time",
        unit="%",
        better=Better.LOWER,
        quantity=Quantity.AMOUNT,
        margin=Margin(1.0, "a point of the round trip, less than its neighbourhood of ± 5 %"),
        needs=(EventKind.METRICS, Kind.PACKET_DELIVERED),
        measure=_server_rtt_error,
        summary="Mean distance of the smoothed round trip time, as the server's stack or kernel estimates it, from "
        "the round trip through the link, in % of that, whenever a packet reaches the server. The truth is "
        "the time in the link of that packet and of the packet that had arrived at the client last before it. "
        "Smoothing, delayed acknowledgements and jitter are part of the error. Needs `[capture]` of traces.",
    ),
    Metric(
        name="impossible_rtt_samples",
        label="Impossible samples of the round trip time",
        unit="%",
        better=Better.LOWER,
        quantity=Quantity.SHARE,
        margin=OF_SHARES,
        needs=(EventKind.METRICS, Kind.PACKET_DELIVERED),
        measure=_impossible_rtt_samples,
        summary="Share of the server's samples of the round trip time in the load that no packet can have given. "
        "They are shorter, by over 1 ms, than the connection's shortest times in the link in both directions together. "
        "Such a sample comes from an acknowledgement taken for another packet's (Yu and Benson, WWW 2021). "
        "A lower bound: a wrong sample may also be possible. "
        "None for the kernel's TCP, which logs no single samples. "
        "Needs `[capture]` of traces.",
    ),
)
