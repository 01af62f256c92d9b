"""Page loads as HTTP Archive 1.2, which browsers and waterfall viewers open (docs/reference/capture.md has the rules).

A HAR is made from a trial's timeline and the URLs of its client's lines, so nothing is run again and the same trial
gives the same bytes.

Source of the format: Odvarko, Jain, Davies, HTTP Archive (HAR) format, W3C Web Performance Working Group, 14 August
2012, http://www.softwareishard.com/blog/har-12-spec/.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow.compute as pc

from longlook import __version__
from longlook.core import FLOWS_FOLDER, InputError, Outcome, Run, Trial, address_in
from longlook.timeline.export.trials import trial_of
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
    """One object that a client asked for; times are ns since the trial's start, or None without such a moment."""

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
class LoadConnection:
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
    connections: dict[str, LoadConnection] = field(default_factory=dict)  # by flow

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
                _urls(folder / FLOWS_FOLDER / flow["name"]),
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
        load.connections[flow] = LoadConnection(flow, row["time_ns"], accepted_ns=accepted.get(flow))
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
    return address_in(client) == client_address and address_in(server) == server_address


@dataclass(frozen=True)
class Timings:
    """The phases of one request in ns, one after the other; None if a phase does not apply or is not known.

    `ssl_ns` is part of `connect_ns`; the others add up to the request's whole time.
    """

    blocked_ns: int | None
    connect_ns: int | None
    ssl_ns: int | None
    wait_ns: int
    receive_ns: int
    comment: str = ""
    dns_ns: int | None = None  # names are not looked up
    send_ns: int = 0  # no client reports it: it is part of the wait


def timings_of(load: PageLoad) -> Iterator[tuple[Request, Timings]]:
    """Yield each request of a load with its phases, in the order of the load.

    The first request of a connection has `connect`, from the connection's beginning until it is secure. Others that
    were asked for before that were blocked for so long; early data (0-RTT) waits for no handshake.
    """
    opened: set[str] = set()
    for request in load.requests:
        connection = load.connections.get(request.flow) if request.flow is not None else None
        if connection is None or not _meets_handshake(request, connection):
            yield request, _rest(request, request.asked_ns)
        elif connection.flow in opened:
            ready_ns = request.asked_ns if connection.state == "0rtt" else _ready_ns(request, connection)
            blocked_ns = ready_ns - request.asked_ns
            yield request, _rest(request, ready_ns, blocked_ns=blocked_ns if blocked_ns else None)
        else:
            opened.add(connection.flow)
            yield request, _opening(request, connection)


def _meets_handshake(request: Request, connection: LoadConnection) -> bool:
    return connection.ready_ns is None or request.asked_ns < connection.ready_ns


def _opening(request: Request, connection: LoadConnection) -> Timings:
    began_ns = min(max(connection.began_ns, request.asked_ns), request.ended_ns)
    blocked_ns = began_ns - request.asked_ns
    if connection.state == "0rtt":
        took = "" if connection.ready_ns is None else f", which took {(connection.ready_ns - began_ns) / 1e6:.3f} ms"
        comment = f"0-RTT: the request did not wait for the handshake{took}"
        return _rest(request, began_ns, blocked_ns=blocked_ns, connect_ns=0, ssl_ns=0, comment=comment)
    ready_ns = _ready_ns(request, connection)
    connect_ns = ready_ns - began_ns
    ssl_ns: int | None = connect_ns  # QUIC's handshake is that of TLS
    if connection.is_tcp:
        accepted_ns = connection.accepted_ns
        ssl_ns = None if accepted_ns is None or accepted_ns > ready_ns else ready_ns - max(accepted_ns, began_ns)
    comment = f"connection: {connection.state}" if connection.state else ""
    return _rest(request, ready_ns, blocked_ns=blocked_ns, connect_ns=connect_ns, ssl_ns=ssl_ns, comment=comment)


def _ready_ns(request: Request, connection: LoadConnection) -> int:
    """Return when the connection let the request go; its answer's beginning or its failure if nothing says when."""
    known = (connection.ready_ns, request.first_byte_ns, request.ended_ns)
    return max(min(time_ns for time_ns in known if time_ns is not None), request.asked_ns)


def _rest(
    request: Request,
    sent_ns: int,
    *,
    blocked_ns: int | None = None,
    connect_ns: int | None = None,
    ssl_ns: int | None = None,
    comment: str = "",
) -> Timings:
    """Return all phases of a request that could leave at a moment."""
    answered_ns = request.ended_ns if request.first_byte_ns is None else max(request.first_byte_ns, sent_ns)
    return Timings(
        blocked_ns=blocked_ns,
        connect_ns=connect_ns,
        ssl_ns=ssl_ns,
        wait_ns=answered_ns - sent_ns,
        receive_ns=request.ended_ns - answered_ns,
        comment=comment,
    )


NOT_AVAILABLE = -1
"""HAR's number for what does not apply or is not known."""

_COMMENT = (
    "Longlook: times are the client's own. Names are not looked up, and sending a request is part of waiting for it. "
    "The connection that only obtains a session ticket is left out."
)
_MIME_TYPES: Mapping[str, str] = {
    ".html": "text/html",
    ".png": "image/png",
    ".css": "text/css",
    ".js": "application/javascript",
}
"""By the ending of the path, so that viewers colour entries; clients do not report the header."""
_PHASES = ("blocked", "dns", "connect", "ssl", "send", "wait", "receive")


def trial_har(folder: Path) -> dict[str, Any] | None:
    """Return the page loads of a trial's folder as a HAR: one page, or one for each flow that asked for objects.

    None if no object was asked for. Raise InputError if the folder holds no finished trial.
    """
    trial, run, timeline = trial_of(folder)
    loads = loads_of(folder, timeline)
    if not loads:
        return None
    pages = [_page(load, trial, run) for load in loads]
    entries = [
        (request.asked_ns, _entry(load, request, timings, page["id"], run.started_unix_ns))
        for load, page in zip(loads, pages, strict=True)
        for request, timings in timings_of(load)
    ]
    return {
        "log": {
            "version": "1.2",
            "creator": {"name": "Longlook", "version": __version__},
            "browser": {"name": trial.client.stack, "version": trial.client.version},
            "pages": pages,
            "entries": [entry for _, entry in sorted(entries, key=lambda item: item[0])],
            "comment": _COMMENT,
        }
    }


def write(har: Mapping[str, Any], out: Path) -> int:
    """Write a HAR and return the number of its entries. Raise InputError if `out` cannot be written."""
    partial = out.with_name(f".{out.name}.new")
    try:
        partial.write_text(json.dumps(har, indent=1, allow_nan=False) + "\n", encoding="utf-8")
        partial.replace(out)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise InputError(f"--out {out}: cannot be written: {error.strerror}", "name another place") from error
    return len(har["log"]["entries"])


def _page(load: PageLoad, trial: Trial, run: Run) -> dict[str, Any]:
    name = "_".join(filter(None, (trial.id, load.flow_name)))
    conditions = ", ".join(f"{factor} {label}" for factor, label in trial.cell.items())
    title = f"{trial.arm}: {conditions}; round {trial.round + 1}" + (f"; {load.flow_name}" if load.flow_name else "")
    loaded = NOT_AVAILABLE if load.loaded_ns is None else ms(load.loaded_ns - load.began_ns)
    page: dict[str, Any] = {
        "startedDateTime": date(run.started_unix_ns + load.began_ns),
        "id": name,
        "title": title,
        "pageTimings": {"onContentLoad": NOT_AVAILABLE, "onLoad": loaded},
        "_longlook": {
            "study": trial.study,
            "trial": trial.id,
            "cell": dict(trial.cell),
            "arm": trial.arm,
            "round": trial.round + 1,
            "engine": run.engine,
            "protocol": trial.protocol,
            "connection": str(trial.connection),
            "server": f"{trial.server.stack}@{trial.server.version}",
            "outcome": str(run.outcome),
        },
    }
    if run.outcome is not Outcome.OK:
        page["comment"] = f"{run.outcome}: {run.reason or 'no reason is known'}"
    return page


def _entry(load: PageLoad, request: Request, timings: Timings, page: str, started_unix_ns: int) -> dict[str, Any]:
    protocol = request.protocol or "unknown"
    ending = PurePosixPath(request.path).suffix
    shared = {"httpVersion": protocol, "cookies": [], "headers": [], "headersSize": NOT_AVAILABLE}
    entry: dict[str, Any] = {
        "pageref": page,
        "startedDateTime": date(started_unix_ns + request.asked_ns),
        "time": ms(request.ended_ns - request.asked_ns),
        "request": {"method": "GET", "url": load.url(request.path), "queryString": [], "bodySize": 0, **shared},
        "response": {
            "status": request.status or 0,
            "statusText": "",  # HTTP/2 and later have none
            "content": {
                "size": request.size_bytes or 0,
                "mimeType": _MIME_TYPES.get(ending, "application/octet-stream"),
            },
            "redirectURL": "",
            "bodySize": NOT_AVAILABLE if request.size_bytes is None else request.size_bytes,
            **shared,
        },
        "cache": {},
        "timings": _phases(timings),
    }
    comments = [timings.comment] if timings.comment else []
    if request.error is not None:
        entry["response"]["_error"] = request.error  # as Chrome names it
        comments.append(f"failed: {request.error}")
    if comments:
        entry["comment"] = "; ".join(comments)
    if request.flow is not None:
        entry.update(_ends(request.flow))
    return entry


def _phases(timings: Timings) -> dict[str, float]:
    """Return HAR's timings in ms; without their comment, which readers that add them up take for a time."""
    phases = {name: getattr(timings, f"{name}_ns") for name in _PHASES}
    return {name: NOT_AVAILABLE if value is None else ms(value) for name, value in phases.items()}


def _ends(flow: str) -> dict[str, str]:
    """Return the server's address and the client's port of a flow's name, as far as it has them."""
    _, client, server = flow.split(" ")
    address, port = address_in(server), client.rpartition(":")[2]
    return {
        **({"serverIPAddress": address} if address else {}),
        **(
            {"connection": port, "_connectionId": port} if port.isdigit() else {}
        ),  # the second is for Chrome's importer
    }


def ms(duration_ns: int) -> float:
    """Return a time in ns in the unit of HAR's times."""
    return duration_ns / 1_000_000


def date(unix_ns: int) -> str:
    """Return ISO 8601 in UTC with microseconds, rounded down: readers of dates take no more digits."""
    seconds, rest_ns = divmod(unix_ns, 1_000_000_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest_ns // 1000:06d}Z"
