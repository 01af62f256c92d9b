"""When the first connection of a load opened, and when its client could send a request. Pure."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from longlook.core.model import ConnectionState, Trial
from longlook.explain.facts.columns import NEVER, are, integers
from longlook.explain.facts.link import LinkFacts
from longlook.timeline.timeline import Kind, Timeline


@dataclass(frozen=True)
class OpeningFacts:
    """The opening of a load's first connection, in ns since the trial's start."""

    started_ns: int  # the client began to open it
    ready_ns: int  # the client could send its first request; `started_ns` with 0-RTT data

    @classmethod
    def of(cls, timeline: Timeline, trial: Trial) -> "OpeningFacts | None":
        """Return the opening, or None if no connection was opened that the link saw; computed once per timeline."""
        if "opening facts" not in timeline.derived:
            up, down = (LinkFacts.of(timeline, trial, direction) for direction in ("up", "down"))
            timeline.derived["opening facts"] = _opening(timeline, up, down)
        known: OpeningFacts | None = timeline.derived["opening facts"]
        return known


def _opening(timeline: Timeline, up: LinkFacts, down: LinkFacts) -> OpeningFacts | None:
    rows = timeline.select([Kind.CONNECTION_STARTED, Kind.HANDSHAKE_DONE], "client")
    rows = rows.filter(pa.array(down.is_ours(rows["flow"])))
    times = integers(rows["time_ns"])
    started = times[are(rows["kind"], Kind.CONNECTION_STARTED)]
    done = are(rows["kind"], Kind.HANDSHAKE_DONE)
    if len(started) == 0 or not up.ours.any():
        return None
    first = int(started.min())
    if (done & are(rows["name"], ConnectionState.ZERO_RTT)).any() or (up.ours & up.early).any():
        return OpeningFacts(first, first)
    if done.any():
        return OpeningFacts(first, max(first, int(times[done].min())))
    return OpeningFacts(first, _second_flight(down, up, first))


def _second_flight(down: LinkFacts, up: LinkFacts, started_ns: int) -> int:
    """Return when the client's first packet behind its handshake arrived at the link, for clients that do not say.

    Of QUIC it is the first with a short header, of TCP the first with data after data from the server.
    """
    answered = down.departure_ns[down.ours & (down.payload_bytes > 0) & down.delivered]
    first_answer = int(answered.min()) if len(answered) else NEVER
    later = up.arrival_ns[up.ours & up.carries_data & (~up.is_tcp | (up.arrival_ns > first_answer))]
    return max(started_ns, int(np.min(later))) if len(later) else started_ns
