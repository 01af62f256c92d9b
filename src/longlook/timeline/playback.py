"""What a viewer saw: the start, the stalls and the quality of a played video, from the rows of its player. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from longlook.timeline.timeline import Kind, Timeline

_DERIVED = "playback"


@dataclass(frozen=True)
class Segment:
    """One segment of the video that arrived whole."""

    number: int  # in the video, from 0
    rung: str
    requested_ns: int
    arrived_ns: int
    size_bytes: int


@dataclass(frozen=True)
class Playback:
    """One play of a video. Times are ns of the timeline, `position_s` and `segment_s` are seconds of video."""

    began_ns: int  # the manifest was asked for
    started_ns: int | None  # None: nothing was ever shown
    ended_ns: int
    stalls_ns: tuple[tuple[int, int], ...]  # begin and end; the last may end with the play
    played_s: float
    segment_s: float
    rungs_bps: Mapping[str, int]  # the ladder, lowest first
    segments: tuple[Segment, ...]  # in the order of the video

    @classmethod
    def of(cls, timeline: Timeline) -> "Playback | None":
        """Return the play of a trial, computed once per timeline; None where no video was played to the end."""
        if _DERIVED not in timeline.derived:
            timeline.derived[_DERIVED] = _read(timeline)
        found: Playback | None = timeline.derived[_DERIVED]
        return found

    @property
    def stalled_s(self) -> float:
        """Seconds of all stalls together; the wait for the start is none."""
        return sum(end - begin for begin, end in self.stalls_ns) / 1e9

    @property
    def loaded_s(self) -> float:
        """Seconds of video that arrived."""
        return len(self.segments) * self.segment_s

    def shown(self) -> list[tuple[Segment, float]]:
        """Return the segments of which anything was shown, in order, each with the seconds of it."""
        parts = [
            (segment, min(self.segment_s, self.played_s - segment.number * self.segment_s)) for segment in self.segments
        ]
        return [(segment, seconds) for segment, seconds in parts if seconds > 0]

    def switches(self) -> int:
        """Return how often the rung of what was shown changed."""
        rungs = [segment.rung for segment, _ in self.shown()]
        return sum(1 for before, after in pairwise(rungs) if before != after)


def _read(timeline: Timeline) -> Playback | None:
    facts, changes = timeline.metadata.get("video"), timeline.select(Kind.PLAYBACK)
    requests = timeline.select(Kind.REQUEST_SENT)
    if not facts or not changes.num_rows or not requests.num_rows:
        return None
    states = changes.select(["time_ns", "name", "value"]).to_pylist()
    if states[-1]["name"] != "ended":
        return None
    stalls: list[tuple[int, int]] = []
    began: int | None = None
    for row in states:
        if row["name"] == "stalled":
            began = row["time_ns"]
        elif began is not None:
            stalls.append((began, row["time_ns"]))
            began = None
    return Playback(
        began_ns=int(pc.min(requests["time_ns"]).as_py()),
        started_ns=next((row["time_ns"] for row in states if row["name"] == "started"), None),
        ended_ns=states[-1]["time_ns"],
        stalls_ns=tuple(stalls),
        played_s=states[-1]["value"],
        segment_s=facts["segment_s"],
        rungs_bps={rung["name"]: rung["bitrate_bps"] for rung in facts["rungs"]},
        segments=tuple(_segments(timeline)),
    )


def _segments(timeline: Timeline) -> list[Segment]:
    asked = {row["sequence"]: row["time_ns"] for row in _rows(timeline.select(Kind.SEGMENT_REQUESTED))}
    return [
        Segment(row["sequence"], row["name"], asked[row["sequence"]], row["time_ns"], row["size_bytes"])
        for row in sorted(_rows(timeline.select(Kind.SEGMENT_ARRIVED)), key=lambda row: row["sequence"])
    ]


def _rows(table: pa.Table) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = table.select(["time_ns", "name", "sequence", "size_bytes"]).to_pylist()
    return rows
