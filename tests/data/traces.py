"""Timelines and events of made-up senders, of any length: slow start, a sawtooth, losses, states; packets at the link.

A window's packets leave the link evenly over its round trip, or at the link's rate where that is slower; a window
beyond the pipe and its queue loses its last packet, and so do packets at random.
"""

from typing import Any

import numpy as np
import pyarrow as pa

from longlook.timeline.events import EVENT_SCHEMA, Events
from longlook.timeline.timeline import SCHEMA, Timeline

PACKET_BYTES = 1_500
PAYLOAD_BYTES = 1_452
QUIC_FLOW = "udp 10.8.0.1:40000 10.8.0.2:443"
TCP_FLOW = "tcp 10.8.0.1:40001 10.8.0.2:443"


def traced(
    duration_s: float = 4.0,
    rate_bps: float = 10e6,
    rtt_s: float = 0.036,
    loss: float = 0.01,
    *,
    flow: str = QUIC_FLOW,
    beta: float = 0.7,
    start_ns: int = 5_000_000,
    seed: int = 1,
) -> tuple[Timeline, Events]:
    """A load of `duration_s` that begins `start_ns` after the trial; (timeline, events) of a sender at the server."""
    random = np.random.default_rng(seed)
    pipe = max(4.0, rate_bps * rtt_s / 8 / PACKET_BYTES)
    window, threshold, now_s, sent = 10.0, np.inf, rtt_s, 0
    state = "slow_start"
    rows: list[dict[str, Any]] = []
    times, lost, queues = [], [], []
    source = "qlog" if flow.startswith("udp") else "tcp"
    rows.append({"time_s": 0.0, "kind": "state", "name": "init", "source": "derived", "detail": "no controller yet"})
    rows.append({"time_s": now_s, "kind": "state", "name": state, "source": source})
    while now_s < duration_s:
        count = int(window)
        queue = max(0.0, window - pipe)
        lasts_s = max(rtt_s, count * PACKET_BYTES * 8 / rate_bps)
        fate = random.random(count) < loss
        if queue > pipe:
            fate[-1] = True
        at_s = now_s + (np.arange(count) + 0.5) / count * lasts_s
        times.append(at_s)
        lost.append(fate)
        queues.append(np.full(count, queue * PACKET_BYTES))
        for moment, gone in zip(at_s.tolist(), fate.tolist(), strict=True):
            sent += 1
            common = {"packet_number": sent, "space": "1rtt", "size_bytes": PAYLOAD_BYTES, "source": source}
            if gone:
                rows.append(
                    {"time_s": moment + rtt_s / 2, "kind": "packet_lost", "name": "reordering_threshold", **common}
                )
            elif sent % 2 == 0:
                rows.append(
                    {
                        "time_s": moment + rtt_s / 2,
                        "kind": "packet_acked",
                        "acked_bytes": sent * PAYLOAD_BYTES,
                        **common,
                    }
                )
                rows.append(
                    {
                        "time_s": moment + rtt_s / 2,
                        "kind": "metrics",
                        "source": source,
                        "cwnd_bytes": int(window * PACKET_BYTES) + sent % 97,
                        "ssthresh_bytes": None if threshold == np.inf else int(threshold * PACKET_BYTES),
                        "in_flight_bytes": int(min(window, 1 + (sent % count)) * PACKET_BYTES),
                        "latest_rtt_ns": int((lasts_s + random.exponential(rtt_s / 50)) * 1e9),
                        "srtt_ns": int(lasts_s * 1e9),
                        "min_rtt_ns": int(rtt_s * 1e9),
                    }
                )
        now_s += lasts_s
        if fate.any():
            window = threshold = max(2.0, window * beta)
            state = "recovery"
        elif window < threshold:
            window, state = min(window * 2, threshold), "slow_start"
        else:
            window, state = window + 1, "congestion_avoidance"
        if state != next(row["name"] for row in reversed(rows) if row["kind"] == "state"):
            rows.append({"time_s": now_s, "kind": "state", "name": state, "source": source})
    at = np.concatenate(times)
    return (
        link_timeline(at, np.concatenate(lost), np.concatenate(queues), duration_s, rtt_s, flow, start_ns, rate_bps),
        _events(rows, flow, start_ns),
    )


def link_timeline(
    at_s: Any, lost: Any, queue: Any, duration_s: float, rtt_s: float, flow: str, start_ns: int, rate_bps: float
) -> Timeline:
    """Packets that left the link at times since the load's start, or were lost before its queue, as it logs them."""
    count = len(at_s)
    left_ns = (at_s * 1e9).astype(np.int64) + start_ns
    sequence = np.cumsum(np.full(count, PAYLOAD_BYTES)) % 2**32
    packets = {
        "time_ns": left_ns,
        "vantage": ["link"] * count,
        "flow": [flow] * count,
        "kind": np.where(lost, "packet_dropped", "packet_delivered"),
        "priming": [False] * count,
        "protocol": [flow[:3]] * count,
        "direction": ["down"] * count,
        "size_bytes": [PACKET_BYTES] * count,
        "payload_bytes": [PAYLOAD_BYTES] * count,
        "transport_sequence": sequence,
        "queue_bytes": np.where(lost, 0, queue).astype(np.int64),
        "name": np.where(lost, "loss", None).tolist(),
        "arrival_ns": left_ns - int(rtt_s * 5e8),
        "value": queue * 8 / rate_bps,
    }
    ends = {
        "time_ns": [start_ns, start_ns + int(duration_s * 1e9)],
        "vantage": ["client", "client"],
        "flow": [flow, flow],
        "kind": ["request_sent", "object_done"],
        "priming": [False, False],
        "name": ["/download.bin"] * 2,
    }
    parts = [_table(columns, SCHEMA) for columns in (packets, ends)]
    return Timeline(pa.concat_tables(parts).unify_dictionaries().sort_by("time_ns")).with_metadata(
        {"started_unix_ns": 0}
    )


def _events(rows: list[dict[str, Any]], flow: str, start_ns: int) -> Events:
    rows.sort(key=lambda row: row["time_s"])
    common = {"vantage": "server", "flow": flow, "priming": False}
    names = EVENT_SCHEMA.names
    columns: dict[str, list[Any]] = {name: [] for name in names}
    for row in rows:
        full = {**common, **row, "time_ns": int(row["time_s"] * 1e9) + start_ns}
        for name in names:
            columns[name].append(full.get(name))
    return Events(_table(columns, EVENT_SCHEMA))


def _table(columns: dict[str, Any], schema: pa.Schema) -> pa.Table:
    count = len(next(iter(columns.values())))
    arrays = []
    for field in schema:
        values = columns.get(field.name)
        if values is None:
            arrays.append(pa.nulls(count, field.type))
        elif pa.types.is_dictionary(field.type):
            arrays.append(pa.array(values, pa.string()).dictionary_encode().cast(field.type))
        else:
            arrays.append(pa.array(values, field.type))
    return pa.Table.from_arrays(arrays, schema=schema)
