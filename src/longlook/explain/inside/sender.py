"""The sender's own trace, as series, marks and bands over time. Pure."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from longlook.explain.facts.columns import Integers
from longlook.explain.inside.series import Bands, Marks, Series, changes
from longlook.timeline import LIMIT_ENDED, EventKind, Events, among

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


def _integers(column: pa.ChunkedArray) -> Integers:
    values: Integers = column.combine_chunks().fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    return values


def _floats(column: pa.ChunkedArray) -> npt.NDArray[np.float64]:
    values: npt.NDArray[np.float64] = column.combine_chunks().fill_null(1.0).to_numpy(zero_copy_only=False)
    return values
