"""A video as its viewer saw it, as series and bands over time, with its stalls and late segments. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from longlook.explain.facts.columns import Integers
from longlook.explain.inside.series import Bands, Series
from longlook.explain.ledger import Ledger, LedgerClass
from longlook.timeline import Playback, Segment

SAMPLE_NS = 50_000_000
"""While the video plays the buffer is a value each so often."""

VIEWER = ("waiting", "playing", "stalled")
"""The states of a viewer's screen: nothing yet, the video, a picture that stands still."""


def playback_series(play: Playback, start_ns: int) -> dict[str, Series]:
    """Return `buffer`, ns of video that arrived and was not shown, and `rung`, bit/s of the segment asked for last."""
    times, values = _buffer(play)
    asked = np.array([segment.requested_ns for segment in play.segments], np.int64)
    rates = np.array([play.rungs_bps[segment.rung] for segment in play.segments], np.int64)
    return {"buffer": Series.of(times - start_ns, values), "rung": Series.of(asked - start_ns, rates)}


def playback_bands(play: Playback, start_ns: int) -> Bands:
    """Return the stretches of VIEWER, from the request of the manifest to the end."""
    edges = [play.began_ns]
    names = ["waiting"]
    if play.started_ns is not None:
        edges.append(play.started_ns)
        names.append("playing")
    for begin, end in play.stalls_ns:
        edges += [begin, end]
        names += ["stalled", "playing"]
    found = [
        (begin, end, name)
        for begin, end, name in zip(edges, [*edges[1:], play.ended_ns], names, strict=True)
        if end > begin
    ]
    return Bands(
        np.array([begin for begin, _, _ in found], np.int64) - start_ns,
        np.array([end for _, end, _ in found], np.int64) - start_ns,
        tuple(name for _, _, name in found),
        ("derived",) * len(found),
    )


def _buffer(play: Playback) -> tuple[Integers, Integers]:
    """Return times in ns and the buffer in ns: before and after each segment, and when playing stops or goes on."""
    segment_ns = round(play.segment_s * 1e9)
    moves = [(play.started_ns, True)] if play.started_ns is not None else []
    moves += [(at, runs) for begin, end in play.stalls_ns for at, runs in ((begin, False), (end, True))]
    changes: list[tuple[int, int, bool | None]] = [(segment.arrived_ns, segment_ns, None) for segment in play.segments]
    changes += [(at, 0, runs) for at, runs in moves]  # a segment comes before what it makes begin
    times, values = [play.began_ns], [0]
    level, playing, before = 0, False, play.began_ns
    for at, added, runs in [*sorted(changes, key=lambda change: (change[0], change[1] == 0)), (play.ended_ns, 0, None)]:
        if playing:  # the page draws steps: small ones look like the slope that it is
            between = list(range(before + SAMPLE_NS, at, SAMPLE_NS))
            times += between
            values += [max(0, level - (moment - before)) for moment in between]
            level = max(0, level - (at - before))
        times += [at, at]
        values += [level, level + added]
        level, before = level + added, at
        playing = playing if runs is None else runs
    return np.array(times, np.int64), np.array(values, np.int64)


@dataclass(frozen=True)
class Stall:
    """One stall. Times are ns since the first request of the load."""

    start_ns: int
    end_ns: int
    late: Segment | None  # the segment with which playing went on; None: the stall lasted to the end
    position_ns: tuple[int, int] | None  # when that segment was asked for and came
    spent_ns: Mapping[LedgerClass, int]  # what the time of its load went on, most first; empty without a ledger


def stalls_of(play: Playback, ledger: Ledger | None, start_ns: int) -> tuple[Stall, ...]:
    """Return the stalls of a play in order.

    The segment that came late is the one with whose arrival playing went on. If going on takes several segments,
    earlier ones came late, too, and are not looked at.
    """
    arrived = {segment.arrived_ns: segment for segment in play.segments}
    found = []
    for begin_ns, end_ns in play.stalls_ns:
        late = arrived.get(end_ns)
        found.append(
            Stall(
                begin_ns - start_ns,
                end_ns - start_ns,
                late,
                None if late is None else (late.requested_ns - start_ns, late.arrived_ns - start_ns),
                {} if late is None or ledger is None else spent(ledger, late.requested_ns, late.arrived_ns),
            )
        )
    return tuple(found)


def spent(ledger: Ledger, begin_ns: int, end_ns: int) -> dict[LedgerClass, int]:
    """Return what a part of a load's time went on, most first; what lies outside of the load is left out."""
    starts, ends = (ledger.table[name].to_numpy() for name in ("start_ns", "end_ns"))
    inside = np.minimum(ends, end_ns) - np.maximum(starts, begin_ns)
    sums: dict[LedgerClass, int] = {}
    for name, time_ns in zip(ledger.table["class"].to_pylist(), inside.tolist(), strict=True):
        if time_ns > 0:
            sums[LedgerClass(name)] = sums.get(LedgerClass(name), 0) + time_ns
    return dict(sorted(sums.items(), key=lambda item: -item[1]))
