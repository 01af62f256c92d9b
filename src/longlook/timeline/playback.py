"""A played video as its viewer saw it: start, stalls and quality, from the rows of its player. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from longlook.timeline.competition import first_packet_ns, integral, to_server
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
    live_s: float = 0.0  # of the video were there when the play began; 0: all of it
    link_bps: float | None = None  # the link's mean rate towards the player; None: not known

    @classmethod
    def of(cls, timeline: Timeline) -> "Playback | None":
        """Return the play of a trial, of several players the first one's; None if no video was played to the end."""
        return next((play for _, play in cls.each(timeline)), None)

    @classmethod
    def each(cls, timeline: Timeline) -> "list[tuple[str, Playback]]":
        """Return the group and the play of each player in the order of the flows, computed once per timeline.

        The group is "" if there is only one. A player that did not come to its end is left out.
        """
        if _DERIVED not in timeline.derived:
            timeline.derived[_DERIVED] = list(_all(timeline))
        found: list[tuple[str, Playback]] = timeline.derived[_DERIVED]
        return found

    @property
    def bitrate_bps(self) -> float | None:
        """The mean declared bitrate of what was shown, by time; None if nothing was."""
        shown = self.shown()
        total_s = sum(seconds for _, seconds in shown)
        return sum(self.rungs_bps[part.rung] * seconds for part, seconds in shown) / total_s if shown else None

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

    def shown_from(self, bitrate_bps: float) -> float | None:
        """Return the share of what was shown that has this bitrate or more; None if nothing was shown."""
        shown = self.shown()
        if not shown:
            return None
        enough = sum(seconds for segment, seconds in shown if self.rungs_bps[segment.rung] >= bitrate_bps)
        return enough / sum(seconds for _, seconds in shown)

    def stretches_ns(self) -> list[tuple[int, int]]:
        """Return begin and end of each time in which the video played."""
        if self.started_ns is None:
            return []
        begins = [self.started_ns, *(end for _, end in self.stalls_ns)]
        ends = [*(begin for begin, _ in self.stalls_ns), self.ended_ns]
        return [(begin, end) for begin, end in zip(begins, ends, strict=True) if end > begin]

    def switches(self) -> int:
        """Return how often the rung of what was shown changed."""
        rungs = [segment.rung for segment, _ in self.shown()]
        return sum(1 for before, after in pairwise(rungs) if before != after)


def _all(timeline: Timeline) -> Iterator[tuple[str, Playback]]:
    if not timeline.metadata.get("video"):
        return
    flows = timeline.metadata.get("competition", {}).get("flows")
    views = [("", timeline)]
    if flows is not None:
        views = [(flow["group"], Timeline(to_server(timeline.table, flow["server_address"]))) for flow in flows]
    for group, view in views:
        if (play := _read(view)) is not None:
            yield group, play


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
        live_s=facts.get("live_s", 0.0),
        link_bps=_link_bps(timeline, facts.get("capacity"), states[-1]["time_ns"]),
    )


def _link_bps(timeline: Timeline, capacity: Mapping[str, Any] | None, end_ns: int) -> float | None:
    """Return the link's mean rate from its first packet to the end of the play."""
    span_ns = end_ns - first_packet_ns(timeline)
    return None if capacity is None or span_ns <= 0 else integral(capacity, 0, span_ns) / span_ns


def _segments(timeline: Timeline) -> list[Segment]:
    asked = {row["sequence"]: row["time_ns"] for row in _rows(timeline.select(Kind.SEGMENT_REQUESTED))}
    return [
        Segment(row["sequence"], row["name"], asked[row["sequence"]], row["time_ns"], row["size_bytes"])
        for row in sorted(_rows(timeline.select(Kind.SEGMENT_ARRIVED)), key=lambda row: row["sequence"])
    ]


def _rows(table: pa.Table) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = table.select(["time_ns", "name", "sequence", "size_bytes"]).to_pylist()
    return rows
