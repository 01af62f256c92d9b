"""The raw traces in a trial's folder, and the connection of the trial that each is about.

The first rule that leaves one candidate wins; the trace's metadata name it. Candidates are the connections whose
packets crossed the link.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from longlook.core import files
from longlook.timeline.collectors import RECORDER
from longlook.timeline.normalise.datagrams import LinkPackets
from longlook.timeline.normalise.endpoint import port_of
from longlook.timeline.timeline import Kind, Timeline

TraceVantage = Literal["client", "server"]

QLOG, TCP, NETLOG = "qlog", "tcp", "netlog"
_ENDS: tuple[TraceVantage, ...] = ("client", "server")


@dataclass(frozen=True)
class RawTrace:
    """One file: its path below the trial's folder as `name`, its writer, and its vantage."""

    path: Path
    name: str
    source: str
    vantage: TraceVantage

    @property
    def transport(self) -> str:
        """The transport of its connections, as flows name it."""
        return "tcp" if self.source == TCP else "udp"


def raw_traces(folder: Path) -> list[RawTrace]:
    """Return every trace below a trial's folder, in a stable order, including empty files."""
    found: list[tuple[Path, str, TraceVantage]] = []
    for end in _ENDS:
        found += [(path, QLOG, end) for path in sorted((folder / "qlog" / end).rglob("*"))]
    found += [(folder / "tcp" / f"{end}.tcptrace", TCP, end) for end in _ENDS]
    found += [(folder / "netlog.json", NETLOG, "client")]
    there = [each for each in found if files.is_regular(each[0])]
    return [RawTrace(path, str(path.relative_to(folder)), source, end) for path, source, end in there]


def trace_sizes(folder: Path) -> dict[str, int]:
    """Return the bytes of the traces below a trial's folder, by the collector that wrote them."""
    sizes: dict[str, int] = {}
    for trace in raw_traces(folder):
        name = {QLOG: f"qlog of the {trace.vantage}", TCP: RECORDER, NETLOG: "netlog"}[trace.source]
        sizes[name] = sizes.get(name, 0) + trace.path.stat().st_size
    return sizes


Candidate = tuple[str, bool]
"""The flow, and whether it is priming."""

_IN_FILE_NAME = re.compile(r"^(?P<address>[0-9a-f.:]+)-(?P<port>\d{1,5})_")
"""The pattern of names that servers' adapters give a log without addresses and connection ids
(adapters/CONTRACT.md).
"""


@dataclass(frozen=True)
class TracePlace:
    """The place of a trace; `flow` is None if no rule found it, `rule` is the rule that did."""

    flow: str | None
    priming: bool
    rule: str


class Places:
    """The connections of a trial, and the properties that distinguish them."""

    def __init__(self, link: LinkPackets, timeline: Timeline) -> None:
        self._link = link
        started = timeline.select(Kind.CONNECTION_STARTED, "client", priming=None)
        columns = (started[name].to_pylist() for name in ("time_ns", "flow", "priming"))
        self._started: list[tuple[int, str, bool]] = sorted(zip(*columns, strict=True))

    def find(self, transport: str, file: str, connection: Mapping[str, Any], first_ns: int | None) -> TracePlace:
        """Place one connection of a trace (`account["connections"]`) whose file has that name.

        `transport` is `udp` or `tcp`; `first_ns` is its first event since the trial's start, None if its clock is
        unknown.
        """
        candidates = self._link.flows(transport) or [(flow, priming) for _, flow, priming in self._started]
        ports = {port_of(connection.get("client")), _port_in(file)} - {0}
        by_port = [one for one in candidates if port_of(one[0].split(" ")[1]) in ports]
        own_id = connection.get("connection_id")
        by_id = self._link.flows_to(own_id) if own_id else set()
        rules: Sequence[tuple[str, list[Candidate]]] = (
            ("connection id", sorted(by_id)),
            ("client's port", by_port),
            ("client's port and time", self._latest(by_port, first_ns)),
            ("time", self._latest(candidates, first_ns) if len({flow for flow, _ in candidates}) == 1 else []),
            ("only connection", candidates),
        )
        for rule, found in rules:
            if len(found) == 1:
                return TracePlace(*found[0], rule)
        return TracePlace(
            None, False, "none: several connections are possible" if candidates else "none: no such packets"
        )

    def _latest(self, candidates: Sequence[Candidate], first_ns: int | None) -> list[Candidate]:
        """Return the candidate that the client began last before a time (one socket may carry several in turn)."""
        if first_ns is None:
            return []
        begun = [(flow, priming) for time_ns, flow, priming in self._started if time_ns <= first_ns]
        return [one for one in begun if one in candidates][-1:]


def _port_in(file: str) -> int:
    found = _IN_FILE_NAME.match(PurePosixPath(file).name)
    return int(found["port"]) if found else 0
