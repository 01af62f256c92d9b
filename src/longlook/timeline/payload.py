"""New payload of packets that left the link, and goodput over time. Pure."""

import math

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from longlook.timeline.timeline import Kind, Timeline

Integers = npt.NDArray[np.int64]


def goodput_timeline(timeline: Timeline, bin_s: float) -> pa.Table:
    """Return goodput over the load: columns `t_s` (start of a bin of `bin_s`, since the load's start) and
    `goodput_mbps`.

    Empty bins are 0; the last bin is divided by its full length though the load ends within it. There are no rows if
    the timeline has no load or no packets.
    """
    if bin_s <= 0:
        raise ValueError(f"bin_s is {bin_s}, must be positive")
    window = timeline.load_window_ns()
    packets = timeline.packets_in_load([Kind.PACKET_DELIVERED], timeline.data_direction)
    if window is None or packets.num_rows == 0:
        return pa.table({"t_s": pa.array([], pa.float64()), "goodput_mbps": pa.array([], pa.float64())})
    bins = max(1, math.ceil((window[1] - window[0]) / 1e9 / bin_s))
    bin_of = np.minimum((_column(packets, "time_ns") - window[0]) / 1e9 // bin_s, bins - 1).astype(np.int64)
    sums = np.bincount(bin_of, weights=new_payload_bytes(packets), minlength=bins)
    return pa.table({"t_s": np.arange(bins) * bin_s, "goodput_mbps": sums * 8 / 1e6 / bin_s})


def new_payload_bytes(packets: pa.Table) -> Integers:
    """Return the payload bytes of each packet that no earlier row delivered.

    UDP payload counts whole, as only TCP has sequence numbers. `packets` are rows of delivered packets of one direction
    in order of departure.
    """
    payload = _column(packets, "payload_bytes")
    flow = _column(packets, "flow")
    is_tcp = pc.equal(packets["protocol"].cast(pa.string()), "tcp").fill_null(False).to_numpy()
    sequence = _column(packets, "transport_sequence")
    fresh = payload.copy()
    for code in np.unique(flow[is_tcp]):
        members = np.flatnonzero(is_tcp & (flow == code) & (payload > 0))
        fresh[members] = _first_delivered_bytes(sequence[members], payload[members])
    return fresh


def _first_delivered_bytes(sequence: Integers, length: Integers) -> Integers:
    """Return the bytes of each segment that no earlier segment covered; segments may overlap in part when
    re-packetised.
    """
    if len(sequence) == 0:
        return length
    # Sequence numbers wrap at 2**32; neighbours in time are always within half of that.
    steps = np.diff(sequence).astype(np.uint32).astype(np.int32).astype(np.int64)
    start = np.concatenate([[0], np.cumsum(steps)])
    edges = np.unique(np.concatenate([start, start + length]))
    first, last = np.searchsorted(edges, start), np.searchsorted(edges, start + length)
    pieces = last - first
    owner = np.repeat(np.arange(len(start)), pieces)
    piece = np.arange(pieces.sum()) - np.repeat(np.cumsum(pieces) - pieces, pieces) + np.repeat(first, pieces)
    covered, earliest = np.unique(piece, return_index=True)
    sums = np.bincount(owner[earliest], weights=(edges[covered + 1] - edges[covered]), minlength=len(start))
    return sums.astype(np.int64)


def _column(table: pa.Table, name: str) -> Integers:
    column = table[name].combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.indices
    values: Integers = column.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return values
