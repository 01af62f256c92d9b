"""One trial from inside, as series over time: the types, and the functions that assemble them. Pure.

Time 0 is the first request (`Timeline.load_window_ns`), so that arms can be laid over each other. The sender's series
belong to the connection that carried most bytes; the link's series cover all its packets in that direction.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from longlook.core import Vantage
from longlook.explain.facts.columns import Integers
from longlook.explain.inside.playback import Stall, playback_bands, playback_series, stalls_of
from longlook.explain.inside.series import Bands, Marks, Series, changes
from longlook.explain.ledger import Ledger
from longlook.timeline import (
    LIMIT_ENDED,
    EventKind,
    Events,
    Kind,
    Playback,
    Timeline,
    among,
    doubts_of,
    new_payload_bytes,
    to_server,
    trusted,
)

_WRAP = np.uint32

_DROPPED_AT_QUEUE = ["queue", "aqm"]
"""The reasons of drops that saw the queue; a packet that was lost before has no queue length."""
COLUMNS = {
    "cwnd": "cwnd_bytes",
    "ssthresh": "ssthresh_bytes",
    "in_flight": "in_flight_bytes",
    "rtt": "latest_rtt_ns",
    "srtt": "srtt_ns",
    "min_rtt": "min_rtt_ns",
}
"""Our series by the column of events that holds them."""
GUESSED_RTT_NS = 333_000_000
"""The round trip time that is assumed before the first sample (RFC 9002, 6.2.2)."""
_OF_SAMPLES = ("rtt", "srtt", "min_rtt")

SSTHRESH_UNSET = 1 << 30
"""The smallest value that means that there is no threshold yet: stacks write the largest number that they hold."""
PACKETS = (Kind.PACKET_DELIVERED, Kind.PACKET_DROPPED, Kind.PACKET_QUEUED)


def link_series(timeline: Timeline, direction: str, start_ns: int) -> dict[str, Series]:
    """Return `passed` and `delivered`, bytes so far, and `queue`, bytes, if the link has a queue.

    `passed` counts all IP bytes that left the link towards the receiver, `delivered` their new payload, as in
    `goodput`.
    """
    packets = _towards(timeline.select([Kind.PACKET_DELIVERED], Vantage.LINK), direction)
    if packets.num_rows == 0:
        return {}
    left_ns = _integers(packets["time_ns"]) - start_ns
    series = {
        "passed": Series.of(left_ns, np.cumsum(_integers(packets["size_bytes"]))),
        "delivered": Series.of(left_ns, np.cumsum(new_payload_bytes(packets))),
    }
    arrivals = timeline.select([Kind.PACKET_DELIVERED, Kind.PACKET_DROPPED, Kind.PACKET_QUEUED], Vantage.LINK)
    queue = _queue(_towards(arrivals, direction), start_ns)
    return series if queue is None else {**series, "queue": queue}


def link_drops(packets: pa.Table, direction: str, start_ns: int) -> Marks:
    """Return the times at which the link dropped packets on their way to the receiver."""
    dropped = packets.filter(pc.equal(packets["kind"].cast(pa.string()), str(Kind.PACKET_DROPPED)))
    return Marks.of(_integers(_towards(dropped, direction)["time_ns"]) - start_ns)


def acknowledged_at_link(packets: pa.Table, direction: str, flow: str | None, start_ns: int) -> Series | None:
    """Return TCP's bytes acknowledged so far, from acknowledgements that left the link; None for other protocols."""
    back = _towards(packets, "up" if direction == "down" else "down")
    kind, protocol = back["kind"].cast(pa.string()), back["protocol"].cast(pa.string())
    mine = pc.and_(pc.equal(kind, str(Kind.PACKET_DELIVERED)), pc.equal(protocol, "tcp"))
    if flow is not None:
        mine = pc.and_(mine, pc.equal(back["flow"].cast(pa.string()), flow))
    rows = back.filter(pc.and_(mine, pc.greater(pc.fill_null(back["acknowledgement"], 0), 0)))
    if rows.num_rows == 0:
        return None
    number = _integers(rows["acknowledgement"])
    # Sequence numbers wrap at 2**32; neighbours in time are always within half of that.
    steps = np.diff(number).astype(_WRAP).astype(np.int32).astype(np.int64)
    so_far = np.maximum.accumulate(np.concatenate([[0], np.cumsum(steps)]))
    return changes(Series.of(_integers(rows["time_ns"]) - start_ns, so_far))


def _queue(packets: pa.Table, start_ns: int) -> Series | None:
    """Return the bytes in the queue that each packet met, and 0 from the moment when the last was sent and none
    followed.
    """
    seen = pc.or_(
        pc.not_equal(packets["kind"].cast(pa.string()), str(Kind.PACKET_DROPPED)),
        pc.is_in(packets["name"].cast(pa.string()), value_set=pa.array(_DROPPED_AT_QUEUE)),
    )
    there = pc.and_(pc.is_valid(packets["queue_bytes"]), pc.is_valid(packets["arrival_ns"]))
    known = packets.filter(pc.and_(seen, there))
    if known.num_rows == 0:
        return None
    order = np.argsort(_integers(known["arrival_ns"]), kind="stable")
    arrival_ns, found = _integers(known["arrival_ns"])[order], _integers(known["queue_bytes"])[order]
    waited = known["value"].combine_chunks().fill_null(np.nan).to_numpy(zero_copy_only=False)[order]
    delivered = pc.equal(known["kind"].cast(pa.string()), str(Kind.PACKET_DELIVERED)).to_numpy()[order]
    empty_ns = arrival_ns + np.where(delivered & np.isfinite(waited), waited * 1e9, np.iinfo(np.int32).max).astype(
        np.int64
    )
    drained = np.concatenate([empty_ns[:-1] < arrival_ns[1:], delivered[-1:] & np.isfinite(waited[-1:])])
    times = np.concatenate([arrival_ns, empty_ns[drained]])
    values = np.concatenate([found, np.zeros(int(drained.sum()), np.int64)])
    return changes(Series.of(times - start_ns, values))


def _towards(packets: pa.Table, direction: str) -> pa.Table:
    return packets.filter(pc.equal(packets["direction"].cast(pa.string()), direction))


def _integers(column: pa.ChunkedArray) -> Integers:
    values: Integers = column.combine_chunks().fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    return values


def endpoint_series(events: Events, vantage: str, flow: str, start_ns: int) -> dict[str, Series]:
    """Return the series of the connection's sender; a series that its trace lacks is left out."""
    rows = events.select([EventKind.METRICS, EventKind.PACKET_ACKED], vantage, flow)
    kind = rows["kind"].cast(pa.string())
    metrics = rows.filter(pc.equal(kind, str(EventKind.METRICS)))
    sampled = _sampled(metrics)
    series = {
        name: _column(sampled if name in _OF_SAMPLES else metrics, column, start_ns) for name, column in COLUMNS.items()
    }
    acked = _column(rows, "acked_bytes", start_ns)
    series["acked"] = acked if acked is not None and acked.value.any() else None  # 0: a log without acknowledgements
    if (threshold := series["ssthresh"]) is not None:
        known = threshold.value < SSTHRESH_UNSET
        series["ssthresh"] = Series.of(threshold.time_ns[known], threshold.value[known]) if known.any() else None
    return {name: found for name, found in series.items() if found is not None}


def endpoint_marks(events: Events, vantage: str, flow: str, start_ns: int) -> dict[str, Marks]:
    """Return `declared` (lost), `spurious` (declared, but delivered), `probes` (timeouts) and `blocked` (by a
    limit).
    """
    kinds = {
        "declared": EventKind.PACKET_LOST,
        "spurious": EventKind.PACKET_SPURIOUS,
        "probes": EventKind.PTO,
        "blocked": EventKind.BLOCKED,
    }
    return {name: _moments(events, kind, vantage, flow, start_ns) for name, kind in kinds.items()}


def endpoint_bands(events: Events, vantage: str, flow: str, start_ns: int) -> dict[str, Bands]:
    """Return `state`, and `app_limited` if the stack logs it.

    The kernel's flag is left out: it marks its last sample of the delivery rate, not a time
    (docs/reference/timeline.md#states).
    """
    own = events.select([str(kind) for kind in EventKind], vantage, flow)
    end_ns = pc.max(own["time_ns"]).as_py() if own.num_rows else start_ns
    states = events.select(EventKind.STATE, vantage, flow)
    limited = events.select(EventKind.APP_LIMITED, vantage, flow)
    limited = limited.filter(pc.invert(among(limited["source"], ["tcp"])))
    on = pc.equal(pc.fill_null(limited["value"], 0), 1).to_pylist()
    return {
        "state": _bands(states, states["name"].cast(pa.string()).to_pylist(), end_ns, start_ns),
        "app_limited": _bands(limited, ["app_limited" if value else None for value in on], end_ns, start_ns),
    }


def _sampled(metrics: pa.Table) -> pa.Table:
    """Return rows from the first sample of the round trip time on, if there are samples: earlier rows hold a guess.

    Some stacks log the guess as a sample too; then it is recognised by its value.
    """
    latest = pc.fill_null(metrics["latest_rtt_ns"], 0)
    samples = metrics.filter(pc.and_(pc.greater(latest, 0), pc.not_equal(latest, GUESSED_RTT_NS)))
    if samples.num_rows == 0:
        return metrics
    return metrics.filter(pc.greater_equal(metrics["time_ns"], pc.min(samples["time_ns"])))


def _column(rows: pa.Table, column: str, start_ns: int) -> Series | None:
    known = rows.filter(pc.is_valid(rows[column]))
    if known.num_rows == 0:
        return None
    return changes(Series.of(_integers(known["time_ns"]) - start_ns, _integers(known[column])))


def _moments(events: Events, kind: EventKind, vantage: str, flow: str, start_ns: int) -> Marks:
    rows = events.select(kind, vantage, flow)
    rows = rows.filter(pc.invert(among(rows["detail"], [LIMIT_ENDED])))
    several = kind is EventKind.PACKET_LOST  # a stack that only counts logs how many at once
    weight = np.where(pc.is_null(rows["packet_number"]).to_numpy(), _floats(rows["value"]), 1) if several else None
    return Marks.of(_integers(rows["time_ns"]) - start_ns, None if weight is None else np.maximum(weight, 1))


def _bands(rows: pa.Table, names: list[str | None], end_ns: int, start_ns: int) -> Bands:
    """Return a band for each run of rows with one name; a row holds until the next, and rows without a name make no
    band.
    """
    times, sources = _integers(rows["time_ns"]), rows["source"].cast(pa.string()).to_pylist()
    starts = [
        index
        for index, name in enumerate(names)
        if index == 0 or (name, sources[index]) != (names[index - 1], sources[index - 1])
    ]
    edges = np.append(times[starts], max(end_ns, int(times[-1]) if len(times) else end_ns)) - start_ns
    kept = [
        position
        for position, index in enumerate(starts)
        if names[index] is not None and edges[position + 1] > edges[position]
    ]
    return Bands(
        edges[kept].astype(np.int64),
        edges[[position + 1 for position in kept]].astype(np.int64),
        tuple(str(names[starts[position]]) for position in kept),
        tuple(sources[starts[position]] for position in kept),
    )


def _floats(column: pa.ChunkedArray) -> npt.NDArray[np.float64]:
    values: npt.NDArray[np.float64] = column.combine_chunks().fill_null(1.0).to_numpy(zero_copy_only=False)
    return values


@dataclass(frozen=True)
class Inside:
    """One trial from inside. `missing` names what is not shown, with the reason; `notes` hold what else a reader
    must know.
    """

    duration_s: float  # of the load
    flow: str | None  # whose connection the sender's series are of
    vantage: Vantage  # where the sender is
    series: Mapping[str, Series]
    marks: Mapping[str, Marks]
    bands: Mapping[str, Bands]  # `ledger`, `state`, `app_limited`, `viewer`
    missing: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    stalls: tuple[Stall, ...] = ()  # of a video


def look_inside(
    timeline: Timeline,
    events: Events | None,
    span_ns: tuple[int, int] | None = None,
    ledger: Ledger | None = None,
) -> Inside:
    """Return everything that is drawn of a trial. `events` is None if the trial has no trace of an endpoint.

    `span_ns` gives begin and end of the load if the timeline does not hold them; `ledger` is the trial's, if its
    load has one.
    """
    start_ns, end_ns = span_ns or timeline.load_window_ns() or _span(timeline)
    play = Playback.of(timeline)
    if play is not None:  # the viewer may wait beyond the last segment
        end_ns = max(end_ns, play.ended_ns)
    packets = timeline.select(PACKETS, Vantage.LINK)
    direction, flow, share = _busiest(packets)
    vantage = Vantage.SERVER if direction == "down" else Vantage.CLIENT
    series = link_series(timeline, direction, start_ns)
    marks = {"dropped": link_drops(packets, direction, start_ns)}
    bands = {} if ledger is None else {"ledger": _ledger_bands(ledger, start_ns)}
    notes = (
        [] if share > 0.999 else [f"the connection shown carried {share:.1%} of the bytes; the link's panels show all"]
    )
    missing = []
    doubts = () if events is None else doubts_of(events.metadata)
    notes += [doubt.sentence for doubt in doubts]
    events = None if events is None else trusted(events)
    known = None if events is None else _flow_of(events, vantage, flow)
    if events is not None and known is not None:
        series |= endpoint_series(events, vantage, known, start_ns)
        marks |= endpoint_marks(events, vantage, known, start_ns)
        bands |= endpoint_bands(events, vantage, known, start_ns)
        missing += _absent(series, bands)
    else:
        why = (
            "the trial captured no trace" if events is None else f"no trace of the {vantage}’s connection could be read"
        )
        missing.append(("congestion window, bytes in flight, round trip times, states, declared losses", why))
    missing += [] if events is None else _unread(events)
    if play is not None:
        series |= playback_series(play, start_ns)
        bands |= {"viewer": playback_bands(play, start_ns)}
    if "acked" not in series and (acked := acknowledged_at_link(packets, direction, flow, start_ns)) is not None:
        series["acked"] = acked
        notes.append("bytes acknowledged are those whose acknowledgements left the link")
    return Inside(
        duration_s=(end_ns - start_ns) / 1e9,
        flow=known or flow,
        vantage=vantage,
        series=series,
        marks={name: found for name, found in marks.items() if len(found.time_ns)},
        bands={name: found for name, found in bands.items() if len(found.start_ns)},
        missing=tuple(missing),
        notes=tuple(notes),
        stalls=() if play is None else stalls_of(play, ledger, start_ns),
    )


def look_into_flows(timeline: Timeline, events: Events | None) -> dict[str, tuple[str, Inside]]:
    """Return each flow of a trial in which several compete, by itself: name → group, inside.

    All flows are shown from the first start to the last end. The queue is the link's, so only the first flow has it.
    With a single flow nothing is returned.
    """
    facts = timeline.metadata.get("competition", {"flows": []})
    flows = [flow for flow in facts["flows"] if not flow["cross"] and None not in (flow["began_ns"], flow["ended_ns"])]
    if len(flows) < 2:
        return {}
    span_ns = min(flow["began_ns"] for flow in flows), max(flow["ended_ns"] for flow in flows)
    found: dict[str, tuple[str, Inside]] = {}
    for flow in flows:
        rows = Timeline(to_server(timeline.table, flow["server_address"]))
        own = None if events is None else Events(to_server(events.table, flow["server_address"]))
        inside = look_inside(rows, own, span_ns)
        series = {name: one for name, one in inside.series.items() if name != "queue"}
        if not found:
            direction = "down" if inside.vantage is Vantage.SERVER else "up"
            series |= {
                name: one for name, one in link_series(timeline, direction, span_ns[0]).items() if name == "queue"
            }
        found[str(flow["name"])] = str(flow["group"]), replace(inside, series=series)
    return found


def _span(timeline: Timeline) -> tuple[int, int]:
    times = timeline.table["time_ns"]
    return (0, max(1, pc.max(times).as_py())) if len(times) else (0, 1)


def _busiest(packets: pa.Table) -> tuple[str, str | None, float]:
    """Return direction and flow of most payload, and the flow's share of that direction's payload."""
    sums = packets.group_by(["direction", "flow"]).aggregate([("payload_bytes", "sum")]).to_pylist()
    if not sums:
        return "down", None, 1.0
    most = max(sums, key=lambda row: (row["payload_bytes_sum"] or 0, str(row["flow"])))
    total = sum(row["payload_bytes_sum"] or 0 for row in sums if row["direction"] == most["direction"])
    return most["direction"], most["flow"], (most["payload_bytes_sum"] or 0) / total if total else 1.0


def _flow_of(events: Events, vantage: Vantage, flow: str | None) -> str | None:
    """Return the link's name of the flow if the trace has it, else the flow of that vantage with most rows."""
    rows = events.table.filter(pc.and_(pc.equal(events.table["priming"], False), pc.is_valid(events.table["flow"])))
    own = rows.filter(pc.equal(rows["vantage"].cast(pa.string()), str(vantage)))
    counts = {str(row["values"]): row["counts"] for row in pc.value_counts(own["flow"].cast(pa.string())).to_pylist()}
    if flow in counts:
        return flow
    return max(counts, key=lambda name: (counts[name], name)) if counts else None


def _unread(events: Events) -> list[tuple[str, str]]:
    """Return the traces that exist but could not be read, with the reason."""
    sources = events.metadata.get("sources", {})
    return [
        (f"rows of {name}", f"it {str(account['error']).rpartition(f'{name} ')[2]}")
        for name, account in sorted(sources.items())
        if account.get("error")
    ]


_NEEDED = {
    "cwnd": "congestion window",
    "in_flight": "bytes in flight",
    "rtt": "samples of the round trip time",
}


def _ledger_bands(ledger: Ledger, start_ns: int) -> Bands:
    """Return the classes of the load's time; intervals of one class with other details are one band."""
    names = ledger.table["class"].to_pylist()
    starts = [index for index, name in enumerate(names) if index == 0 or name != names[index - 1]]
    edges_ns = np.append(ledger.table["start_ns"].to_numpy()[starts], ledger.span_ns[1]) - start_ns
    return Bands(edges_ns[:-1], edges_ns[1:], tuple(names[index] for index in starts), ("",) * len(starts))


def _absent(series: Mapping[str, Series], bands: Mapping[str, Bands]) -> list[tuple[str, str]]:
    absent = [(text, "the sender's trace does not say it") for name, text in _NEEDED.items() if name not in series]
    if "state" not in bands:
        absent.append(("states", "the sender's trace gives none and no rule could derive them"))
    return absent
