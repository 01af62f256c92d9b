"""Values in a trial's traces that contradict the rest of the traces, so that they are not counted. Pure.

The decoder finds contradictions (docs/reference/traces.md, `implausible`) and changes nothing. Every reader that draws
conclusions leaves the values out that a contradiction is about, and says so in one sentence.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from longlook.timeline.events import EVENT_SCHEMA, EventKind, Events, among


class DoubtfulValue(StrEnum):
    """A kind of values that a contradiction can be about."""

    ROUND_TRIPS = "round trip times"
    ACKNOWLEDGEMENTS = "acknowledgements"
    LOSSES = "declared losses"
    NUMBERS = "packet numbers"


ABOUT: Mapping[str, frozenset[DoubtfulValue]] = {
    "rtt_below_send_to_ack": frozenset({DoubtfulValue.ROUND_TRIPS}),
    "rtt_above_send_to_ack": frozenset({DoubtfulValue.ROUND_TRIPS}),
    "rtt_below_packet_times": frozenset({DoubtfulValue.ROUND_TRIPS}),
    "rtt_above_trace": frozenset({DoubtfulValue.ROUND_TRIPS}),
    "acked_none": frozenset({DoubtfulValue.ACKNOWLEDGEMENTS}),
    "acked_unsent": frozenset({DoubtfulValue.ACKNOWLEDGEMENTS}),
    "acked_more_than_sent": frozenset({DoubtfulValue.ACKNOWLEDGEMENTS}),
    "lost_more_than_sent": frozenset({DoubtfulValue.LOSSES}),
    "sent_twice": frozenset({DoubtfulValue.NUMBERS, DoubtfulValue.ACKNOWLEDGEMENTS, DoubtfulValue.LOSSES}),
}
"""Which values each check of the decoder puts in doubt."""

COLUMNS: Mapping[DoubtfulValue, tuple[str, ...]] = {
    DoubtfulValue.ROUND_TRIPS: ("srtt_ns", "rttvar_ns", "min_rtt_ns", "latest_rtt_ns"),
    DoubtfulValue.ACKNOWLEDGEMENTS: ("acked_bytes",),
}
"""The columns of `metrics` that a value is in."""

_BY_PACKET = (EventKind.PACKET_SPURIOUS, EventKind.PACKET_REFUSED)  # from losses and acknowledgements of packets
KINDS: Mapping[DoubtfulValue, tuple[EventKind, ...]] = {
    DoubtfulValue.ACKNOWLEDGEMENTS: (EventKind.PACKET_ACKED, *_BY_PACKET),
    DoubtfulValue.LOSSES: (EventKind.PACKET_LOST, *_BY_PACKET),
}
"""The kinds of rows that are a value, or follow from it."""


@dataclass(frozen=True)
class Doubt:
    """One contradiction in one connection of one trace; `flow` is None if the connection has no place at the link.

    `about` is empty for a check that this version does not know.
    """

    trace: str
    vantage: str
    flow: str | None
    check: str
    problem: str
    about: frozenset[DoubtfulValue]

    @property
    def sentence(self) -> str:
        """The implausible observation, and the values that are therefore not counted."""
        *most, last = sorted(map(str, self.about)) or [""]
        uncounted = f"{', '.join(most)} and {last}" if most else last
        not_counted = f"; its {uncounted} are not counted" if uncounted else ""
        return f"{self.trace} is implausible: {self.problem} ({self.check}){not_counted}"


def doubts_of(metadata: Mapping[str, Any]) -> tuple[Doubt, ...]:
    """Return the contradictions in the metadata of a trial's events, in the order of its traces."""
    found = []
    for name, source in sorted(metadata.get("sources", {}).items()):
        connections = source.get("connections", [])
        for each in source.get("implausible", []):
            place = each["connection"]
            flow = connections[place].get("flow") if place < len(connections) else None
            vantage = "server" if name.partition("/")[2].partition("/")[0].partition(".")[0] == "server" else "client"
            about = ABOUT.get(each["check"], frozenset())
            found.append(Doubt(name, vantage, flow, each["check"], each["problem"], about))
    return tuple(found)


def values_in_doubt(account: Mapping[str, Any], connection: int) -> frozenset[DoubtfulValue]:
    """Return which values of one connection of a decoded trace are in doubt, by its account."""
    checks = [each["check"] for each in account.get("implausible", []) if each["connection"] == connection]
    return frozenset(value for check in checks for value in ABOUT.get(check, ()))


def kinds_of(values: Iterable[DoubtfulValue]) -> frozenset[EventKind]:
    """Return the kinds of rows that are not counted if some values are in doubt."""
    return frozenset(kind for value in values for kind in KINDS.get(value, ()))


def columns_of(values: Iterable[DoubtfulValue]) -> frozenset[str]:
    """Return the columns that are not counted if some values are in doubt."""
    return frozenset(column for value in values for column in COLUMNS.get(value, ()))


def trusted(events: Events) -> Events:
    """Return the events without what is in doubt: rows of its kinds are left out, its columns are null."""
    table = events.table
    for doubt in doubts_of(events.metadata):
        own = among(table["vantage"], [doubt.vantage])
        here = pc.is_null(table["flow"]) if doubt.flow is None else among(table["flow"], [doubt.flow])
        own = pc.and_(own, here)
        for column in sorted(columns_of(doubt.about) & set(table.column_names)):
            field = EVENT_SCHEMA.field(column)
            values = pc.if_else(own, pa.scalar(None, field.type), table[column])
            table = table.set_column(table.column_names.index(column), field, values)
        if kinds := kinds_of(doubt.about):
            table = table.filter(pc.invert(pc.and_(own, among(table["kind"], sorted(kinds)))))
    return events if table is events.table else Events(table.replace_schema_metadata(events.table.schema.metadata))


def uncounted_kinds(doubts: Iterable[Doubt], vantage: str) -> Collection[EventKind]:
    """Return the kinds of rows that some trace of one end has in doubt: counts of them would be too small."""
    return kinds_of(value for doubt in doubts if doubt.vantage == vantage for value in doubt.about)
