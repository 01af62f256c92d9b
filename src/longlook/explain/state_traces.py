"""The states of an arm's senders as sequences for inference. Pure."""

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from longlook.timeline.events import EventKind, Events

COLUMNS = ("time_ns", "vantage", "kind", "priming", "flow", "name")
"""The columns of events that are read here."""


def state_traces(trials: Iterable[tuple[str, Events]], vantage: str) -> dict[str, list[tuple[str | None, int]]]:
    """Return one trace for each connection of each trial, by the trial's id and flow, up to its connection's last
    row.
    """
    traces: dict[str, list[tuple[str | None, int]]] = {}
    for trial_id, events in trials:
        rows = events.select(EventKind.STATE, vantage)
        for flow in sorted(filter(None, pc.unique(rows["flow"].cast(pa.string())).to_pylist())):
            own = rows.filter(pc.equal(rows["flow"].cast(pa.string()), flow))
            every = events.select([str(kind) for kind in EventKind], vantage, flow)
            steps = zip(own["name"].cast(pa.string()).to_pylist(), own["time_ns"].to_pylist(), strict=True)
            traces[f"{trial_id} {flow}"] = [*steps, (None, pc.max(every["time_ns"]).as_py())]
    return traces
