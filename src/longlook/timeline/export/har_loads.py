"""The page loads of a trial: which object was asked for when, over which connection. Reads the timeline."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from longlook.core.flows import FLOWS
from longlook.timeline.normalise.lines import Line, read_lines, text
from longlook.timeline.timeline import Kind, Timeline

_NO_HOST = "https://unknown.invalid"
_COLUMNS = ("time_ns", "kind", "vantage", "flow", "name", "detail", "protocol", "size_bytes", "value")
_KINDS = (
    *(Kind.CONNECTION_STARTED, Kind.HANDSHAKE_DONE, Kind.REQUEST_SENT, Kind.FIRST_BYTE),
    *(Kind.OBJECT_DONE, Kind.OBJECT_FAILED, Kind.PAGE_STARTED, Kind.PAGE_LOADED),
)

Row = Mapping[str, Any]


@dataclass
class Request:
    """One object that a client asked for; times are ns since the trial's start, None where there was no such moment."""

    path: str
    flow: str | None
    asked_ns: int
    ended_ns: int  # the last byte; of a failed object the last that is known of it
    protocol: str | None = None
    first_byte_ns: int | None = None
    size_bytes: int | None = None
    status: int | None = None
    error: str | None = None
    whole: bool = False


@dataclass
class Connection:
    """A connection that a load used, by the client's stamps; ns since the trial's start."""

    flow: str
    began_ns: int
    ready_ns: int | None = None  # it is secure
    accepted_ns: int | None = None  # TCP: the server's answer to its first packet left the link
    state: str | None = None  # cold, resumed or 0rtt, by either end

    @property
    def is_tcp(self) -> bool:
        """Whether the handshakes of transport and TLS are two."""
        return self.flow.startswith("tcp ")


@dataclass
class PageLoad:
    """The objects of a page, in the order in which the client asked for them."""

    flow_name: str  # of one of several flows; else empty
    urls: Mapping[str, str]  # path → URL, as the client reported it
    began_ns: int = 0
    loaded_ns: int | None = None  # None: it did not finish
    requests: list[Request] = field(default_factory=list)
    connections: dict[str, Connection] = field(default_factory=dict)  # by flow

    def url(self, path: str) -> str:
        """Return the URL of a path; of one that the client gave no URL for, with the host of the others."""
        known = self.urls.get(path)
        if known is None:
            other = next(iter(self.urls.items()), None)
            known = (other[1].removesuffix(other[0]) if other else _NO_HOST) + path
        return known


def loads_of(folder: Path, timeline: Timeline) -> list[PageLoad]:
    """Return the loads of a trial in which an object was asked for: one, or of competing flows one each."""
    rows = timeline.select(_KINDS).select(_COLUMNS).to_pylist()
    accepted = _accepted(timeline)
    competition = timeline.metadata.get("competition")
    if competition is None:
        loads = [_load("", _urls(folder), rows, accepted)]
    else:
        loads = [
            _load(
                flow["name"],
                _urls(folder / FLOWS / flow["name"]),
                [row for row in rows if _is_between(row["flow"], flow["client_address"], flow["server_address"])],
                accepted,
            )
            for flow in competition["flows"]
        ]
    return [load for load in loads if load.requests]


def _load(name: str, urls: Mapping[str, str], rows: Iterable[Row], accepted: Mapping[str, int]) -> PageLoad:
    load = PageLoad(name, urls)
    newest: dict[tuple[str | None, str], Request] = {}
    pages: dict[str, int] = {}
    for row in rows:
        kind = Kind(row["kind"])
        if kind in (Kind.PAGE_STARTED, Kind.PAGE_LOADED):
            pages[kind] = row["time_ns"]
        elif kind in (Kind.CONNECTION_STARTED, Kind.HANDSHAKE_DONE):
            _connect(load, row, accepted)
        else:
            _fetch(load, row, newest)
    load.requests.sort(key=lambda request: request.asked_ns)
    if load.requests:
        load.began_ns = pages.get(Kind.PAGE_STARTED, load.requests[0].asked_ns)
        arrived = all(request.whole for request in load.requests)
        last_ns = max(request.ended_ns for request in load.requests) if arrived else None
        load.loaded_ns = pages.get(Kind.PAGE_LOADED) if Kind.PAGE_STARTED in pages else last_ns
    return load


def _connect(load: PageLoad, row: Row, accepted: Mapping[str, int]) -> None:
    flow = row["flow"]
    if row["kind"] == Kind.CONNECTION_STARTED:
        load.connections[flow] = Connection(flow, row["time_ns"], accepted_ns=accepted.get(flow))
    elif (known := load.connections.get(flow)) is not None:
        if row["vantage"] == "client":
            known.ready_ns = row["time_ns"]
        known.state = row["name"] or known.state  # a browser does not know, the server does


def _fetch(load: PageLoad, row: Row, newest: dict[tuple[str | None, str], Request]) -> None:
    """Add what a row says of an object: to the newest request of its path and connection that lacks it."""
    kind, time_ns = Kind(row["kind"]), row["time_ns"]
    key = (row["flow"], row["name"] or "/")
    request = newest.get(key)
    if kind is Kind.REQUEST_SENT or request is None:
        request = newest[key] = Request(key[1], key[0], time_ns, time_ns, row["protocol"])
        load.requests.append(request)
    request.ended_ns = max(request.ended_ns, time_ns)
    if kind is Kind.FIRST_BYTE:
        request.first_byte_ns = time_ns
    elif kind is Kind.OBJECT_DONE:
        request.whole, request.size_bytes = True, row["size_bytes"]
        request.status = None if row["value"] is None else int(row["value"])
    elif kind is Kind.OBJECT_FAILED:
        request.error = row["detail"]


def _accepted(timeline: Timeline) -> dict[str, int]:
    """Return when the first packet towards the client left the link, by flow: of TCP, its SYN and ACK."""
    packets = timeline.select(Kind.PACKET_DELIVERED, "link").select(["flow", "direction", "time_ns"])
    down = packets.filter(pc.equal(packets["direction"].cast("string"), "down"))
    first = down.group_by("flow").aggregate([("time_ns", "min")]).to_pylist()
    return {row["flow"]: row["time_ns_min"] for row in first if row["flow"] is not None}


def _urls(folder: Path) -> dict[str, str]:
    urls: dict[str, str] = {}

    def note(line: Line) -> None:
        path, url = text(line, "path"), text(line, "url")
        if path is not None and url is not None:
            urls.setdefault(path, url)

    read_lines(folder / "client.jsonl", {"object": note})
    return urls


def _is_between(flow: str | None, client_address: str, server_address: str) -> bool:
    """Whether a flow's name has these two addresses."""
    if flow is None:
        return False
    _, client, server = flow.split(" ")
    return client.rpartition(":")[0] == client_address and server.rpartition(":")[0] == server_address
