"""The link's view of a trial, as series over time. Pure."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from longlook.core import Vantage
from longlook.explain.facts.columns import Integers
from longlook.explain.inside.series import Marks, Series, changes
from longlook.timeline import Kind, Timeline, new_payload_bytes

_WRAP = np.uint32

_DROPPED_AT_QUEUE = ["queue", "aqm"]
"""The reasons of drops that saw the queue; a packet that was lost before has no queue length."""


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
