"""One trial from inside, as series over time: the types, and the functions that assemble them. Pure.

Time 0 is the first request (`Timeline.load_window_ns`), so that arms can be laid over each other. The sender's series
belong to the connection that carried most bytes; the link's series cover all its packets in that direction.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from longlook.core import Vantage
from longlook.explain.inside.link import acknowledged_at_link, link_drops, link_series
from longlook.explain.inside.playback import Stall, playback_bands, playback_series, stalls_of
from longlook.explain.inside.sender import endpoint_bands, endpoint_marks, endpoint_series
from longlook.explain.inside.series import Bands, Marks, Series
from longlook.explain.ledger import Ledger
from longlook.timeline import Events, Kind, Playback, Timeline, doubts_of, to_server, trusted

PACKETS = (Kind.PACKET_DELIVERED, Kind.PACKET_DROPPED, Kind.PACKET_QUEUED)


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
