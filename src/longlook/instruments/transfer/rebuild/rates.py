"""The rate of the path of a recording, by its queue, by packets that travelled together, or by what arrived. Pure."""

import numpy as np

from longlook.instruments.transfer.answer import TransferAnswer
from longlook.instruments.transfer.rebuild.losses import Losses
from longlook.instruments.transfer.recording import matched
from longlook.instruments.transfer.sender import BURST_NS

ROOM = 4
"""A path that showed no limit is made so much faster than anything that arrived, and then limits nothing."""
_LEAST_WAITS = 16
"""Packets whose waits, or gaps, show a rate."""
_LEAST_TRAIN = 6
"""Packets of a train that shows a rate, of which half must be acknowledged apart."""
_CLOSE_SHARE = 20
"""Packets that arrive within this part of a round trip are close to each other."""


def queued_rate_bps(answer: TransferAnswer, losses: Losses) -> float | None:
    """Return the rate at which a sender's packets left the queue of the path; None if no queue stood for long.

    A packet leaves the queue when its wait is over. The bytes of the longest time in which a queue stood, less those
    that were lost, are divided by the time from the first packet's leaving to the last packet's.
    """
    begins, ends = answer.case.waits
    if not answer.recording.sends or len(begins) < _LEAST_WAITS:
        return None
    bounds = np.flatnonzero(np.diff(begins) > (answer.path.median_rtt_ns or 0)) + 1
    firsts, lasts = np.append(0, bounds), np.append(bounds, len(begins)) - 1
    longest = int(np.argmax(ends[lasts] - ends[firsts]))
    first, last = int(firsts[longest]), int(lasts[longest])
    left_bytes = 0
    for sign, packets in ((1, answer.case.data), (-1, losses.lost)):
        own = (packets.time_ns > begins[first]) & (packets.time_ns <= begins[last])
        left_bytes += sign * int(np.maximum(packets.size_bytes[own], 0).sum())
    span_ns = int(ends[last] - ends[first])
    return left_bytes * 8e9 / span_ns if span_ns > 0 and left_bytes > 0 else None


def seen_rate(answer: TransferAnswer, losses: Losses) -> tuple[float | None, str]:
    """Return the rate of a path in bit/s of packets without their IP headers, and how it was seen.

    No path is slower than the whole transfer over it, so a queue that shows less was not the path's.
    """
    queued, burst = queued_rate_bps(answer, losses), _burst_rate_bps(answer)
    steady = answer.path.rate_bps or answer.path.mean_rate_bps
    passed_bytes = answer.path.data_bytes - losses.lost.total_bytes
    if queued is not None and queued >= passed_bytes * 8e9 / answer.intervals.total_ns:
        return queued, "the rate at which packets left a standing queue"
    if burst is not None and burst >= (steady or 0.0):
        if answer.recording.sends:
            return burst, "the rate at which packets arrived that had left together"
        return burst, "the rate at which packets came that were close to each other: the path's, or a pacer's"
    if answer.recording.sends and steady is not None:
        return ROOM * steady, f"no queue and no burst was seen: {ROOM} times what arrived, to limit nothing"
    return steady, "the highest steady rate that arrived: the path's, or the pacer's of its sender"


def _burst_rate_bps(answer: TransferAnswer) -> float | None:
    """Return the rate at which packets that left together arrived (their dispersion: Dovrolis et al. 2001), or None.

    The path needs the time from the first to the last acknowledgement of such a train. In a receiver's trace packets
    that came close to each other are taken for trains, though a pacer may have spread them.
    """
    data, recording = answer.case.data, answer.recording
    if not recording.sends:
        gaps_ns = np.diff(data.time_ns)
        near_ns = (answer.path.shortest_rtt_ns or 0) // _CLOSE_SHARE
        close = (gaps_ns > 0) & (gaps_ns < near_ns) & (data.size_bytes[1:] > 0)
        if int(close.sum()) < _LEAST_WAITS:
            return None
        return float(np.median(data.size_bytes[1:][close] * 8e9 / gaps_ns[close]))
    place = matched(data, recording.acked)
    acked_ns = np.where(place >= 0, np.append(recording.acked.time_ns, 0)[place], -1)
    rates = []
    for train in np.split(np.arange(len(data)), np.flatnonzero(np.diff(data.time_ns) > BURST_NS) + 1):
        times_ns, sizes = acked_ns[train], data.size_bytes[train]
        known = times_ns >= 0
        if known.sum() < _LEAST_TRAIN or len(np.unique(times_ns[known])) < _LEAST_TRAIN // 2:
            continue
        first_ns, last_ns = int(times_ns[known].min()), int(times_ns[known].max())
        rates.append(int(sizes[known & (times_ns > first_ns)].sum()) * 8e9 / (last_ns - first_ns))
    return float(np.median(rates)) if rates else None
