"""The packets of a load that the link lost at random, by its log. Pure."""

from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from longlook.network import DROPPING_AT_RANDOM
from longlook.timeline.competition import server_of
from longlook.timeline.normalise.packets import FLIPPED
from longlook.timeline.normalise.trial import LINK_LOGS, OVER_SECOND, UNREADABLE
from longlook.timeline.timeline import Kind, Timeline

CORRUPTING_AT_RANDOM = "corrupt"
"""The kind of stage that flips a bit at random: the packet arrives, and its receiver discards it."""


class _Row(NamedTuple):
    """A packet's row of the timeline; the fields are its columns."""

    vantage: str
    direction: str
    sequence: int
    flow: str | None
    kind: str
    detail: str | None

    @property
    def packet(self) -> tuple[str, bool, str, int]:
        """The packet that the row is of: copies that a link makes of it have its number."""
        return self.vantage, OVER_SECOND in (self.detail or ""), self.direction, self.sequence

    @property
    def is_whole(self) -> bool:
        """Whether it left the link as it came."""
        return self.kind == Kind.PACKET_DELIVERED.value and FLIPPED not in (self.detail or "")


def random_losses(timeline: Timeline) -> int | None:
    """Return how many packets of a load its links lost at random, in both directions together.

    These packets arrived at a link from the load's first moment to its last, and no copy of them left it whole: a stage
    dropped them at random, or flipped a bit in them. Packets of priming connections and of cross traffic do not count,
    nor packets that a queue or a rule of the path dropped. On a path of several links the losses of each link count.
    None if a link's log is missing or cannot be read, or if the load did not begin or did not end.
    """
    window_ns = timeline.load_window_ns()
    if window_ns is None or not _has_logs(timeline):
        return None
    packets = timeline.select([Kind.PACKET_DELIVERED, Kind.PACKET_DROPPED])
    arrival_ns = packets["arrival_ns"]
    packets = packets.filter(
        pc.and_(pc.greater_equal(arrival_ns, window_ns[0]), pc.less_equal(arrival_ns, window_ns[1]))
    )
    texts = {name: packets[name].cast(pa.string()) for name in ("kind", "name", "detail")}
    dropped = pc.and_(
        pc.equal(texts["kind"], Kind.PACKET_DROPPED.value),
        pc.is_in(texts["name"], value_set=pa.array(DROPPING_AT_RANDOM)),
    )
    flipped = pc.and_(
        pc.equal(texts["kind"], Kind.PACKET_DELIVERED.value),
        pc.fill_null(pc.match_substring(texts["detail"], FLIPPED), fill_value=False),
    )
    lost = packets.filter(pc.or_(dropped, flipped))
    cross = _servers_of_cross_traffic(timeline)
    candidates = {row.packet for row in _rows(lost) if server_of(row.flow) not in cross}
    alike = packets.filter(pc.is_in(packets["sequence"], value_set=pc.unique(lost["sequence"])))
    return len(candidates - {row.packet for row in _rows(alike) if row.is_whole})


def _has_logs(timeline: Timeline) -> bool:
    """Return whether the log of each link of the trial was read."""
    logs = [account for name, account in timeline.metadata.get("sources", {}).items() if name in LINK_LOGS]
    unreadable = [reason for account in logs for reason in account["skipped"] if reason.startswith(UNREADABLE)]
    return bool(logs) and all(account["present"] for account in logs) and not unreadable


def _rows(packets: pa.Table) -> list[_Row]:
    return [_Row(**row) for row in packets.select(list(_Row._fields)).to_pylist()]


def _servers_of_cross_traffic(timeline: Timeline) -> frozenset[str]:
    flows = (timeline.metadata.get("competition") or {}).get("flows", [])
    return frozenset(flow["server_address"] for flow in flows if flow["cross"])
