"""Lines of clients and servers, of echoes and players too → rows, and the connection that each packet belongs to."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from longlook.core import LOAD_FILE, Vantage, find_protocol, with_port
from longlook.timeline.normalise.lines import (
    MAX_UNIX_NS,
    Account,
    BadLineError,
    Line,
    count,
    optional_time_ns,
    read_lines,
    text,
    time_ns,
)
from longlook.timeline.timeline import Kind

Add = Callable[[int, Kind, Mapping[str, Any]], None]


def echo_events(add: Add) -> dict[str, Callable[[Line], None]]:
    """Return what reads each event of an echo: it calls `add` with rows."""

    def echo(line: Line) -> None:
        payload_bytes, tries = count(line, "payload_bytes"), count(line, "tries")
        if payload_bytes is None or tries is None:
            raise BadLineError("no payload_bytes or no tries")
        answered, given_up = optional_time_ns(line, "t_answer_ns"), optional_time_ns(line, "t_end_ns")
        common = {"vantage": Vantage.CLIENT, "priming": False, "size_bytes": payload_bytes}
        started = time_ns(line, "t_start_ns")
        if answered is None and given_up is None:
            raise BadLineError("neither t_answer_ns nor t_end_ns")
        add(started, Kind.ECHO_STARTED, common)
        if answered is not None:
            add(answered, Kind.ECHO_ANSWERED, common | {"value": float(tries)})
        elif given_up is not None:
            add(given_up, Kind.ECHO_UNANSWERED, common | {"value": float(tries), "detail": text(line, "refused")})

    return {"echo": echo}


PLAY_STATES = ("started", "stalled", "resumed", "ended")
"""The states that `play` lines say have begun for the viewer."""


def live_events(add: Add) -> dict[str, Callable[[Line], None]]:
    """Return what reads each event of the client of a live source: it calls `add` with rows."""

    def frames(line: Line) -> None:
        first, began, interval_ns = count(line, "first"), time_ns(line, "t_first_ns"), count(line, "interval_ns")
        latencies = line.get("latency_ns")
        if first is None or interval_ns is None or not isinstance(latencies, list):
            raise BadLineError("no first, interval_ns or latency_ns")
        if any(each is not None and (type(each) is not int or not 0 <= each < MAX_UNIX_NS) for each in latencies):
            raise BadLineError("latency_ns has what is no time in ns")
        ended = began + len(latencies) * interval_ns
        for offset, latency_ns in enumerate(latencies):
            produced, row = began + offset * interval_ns, {**_BY_CLIENT, "sequence": first + offset}
            if latency_ns is None:
                add(produced, Kind.FRAME_MISSED, row)
            else:
                add(produced + latency_ns, Kind.FRAME_ARRIVED, row | {"value": latency_ns / 1e9})
                ended = max(ended, produced + latency_ns)
        add(ended, Kind.LOAD_ENDED, _BY_CLIENT | {"size_bytes": count(line, "bytes")})

    def live(line: Line) -> None:
        if (began := optional_time_ns(line, "t_source_ns")) is not None:
            add(began, Kind.LOAD_STARTED, _BY_CLIENT)

    return {"frames": frames, "live": live}


_BY_CLIENT = {"vantage": Vantage.CLIENT, "priming": False}


def player_events(add: Add, video: dict[str, Any]) -> dict[str, Callable[[Line], None]]:
    """Return what reads each event of a player: it calls `add` with rows, and fills `video`."""

    def manifest(line: Line) -> None:
        rungs = line.get("rungs")
        if not isinstance(rungs, list) or not rungs:
            raise BadLineError("no rungs")
        found = [(text(rung, "name"), count(rung, "bitrate_bps")) for rung in rungs if isinstance(rung, dict)]
        if len(found) != len(rungs) or any(None in pair for pair in found):
            raise BadLineError("a rung without a name or a bitrate")
        video.update(
            quality=text(line, "quality"),
            length_s=_seconds(line, "length_s"),
            segment_s=_seconds(line, "segment_s"),
            **({"live_s": _seconds(line, "live_s")} if line.get("live_s") is not None else {}),
            rungs=[{"name": name, "bitrate_bps": bitrate_bps} for name, bitrate_bps in found],
        )

    def segment(line: Line) -> None:
        asked, arrived, number = time_ns(line, "t_start_ns"), optional_time_ns(line, "t_end_ns"), count(line, "index")
        if number is None:
            raise BadLineError("no index")
        common = {**_BY_CLIENT, "name": text(line, "rung"), "sequence": number}
        add(asked, Kind.SEGMENT_REQUESTED, common)
        if arrived is not None and line.get("error") is None:
            rest = {"size_bytes": count(line, "bytes"), "value": _seconds(line, "buffer_s")}
            add(arrived, Kind.SEGMENT_ARRIVED, common | rest)

    def play(line: Line) -> None:
        if (state := text(line, "state")) not in PLAY_STATES:
            raise BadLineError("no state that is known")
        add(time_ns(line, "t_ns"), Kind.PLAYBACK, {**_BY_CLIENT, "name": state, "value": _seconds(line, "position_s")})

    return {"video": manifest, "segment": segment, "play": play}


def _seconds(line: Line, key: str) -> float:
    value = line.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < MAX_UNIX_NS:
        raise BadLineError(f"{key} is no number of seconds")
    return float(value)


UPLOAD_METHODS = ("POST", "PUT")
"""The methods of requests with a body (adapters/CONTRACT.md, Uploads)."""

PRIMING_PATH = "/prime"
"""The reserved path that a priming connection fetches (adapters/CONTRACT.md)."""

_LOCAL = "local"
"""The key of a row until its connection is known: the client's address, if an object line gives it."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Connection:
    """One connection of the client. Times are ns since 1970."""

    started_unix_ns: int
    local_port: int
    flow: str
    priming: bool
    server_address: str | None = None  # if several flows differ by it


@dataclass
class Endpoints:
    """Rows of the client and the server with absolute times in `time_ns`, and the client's connections."""

    rows: list[Row] = field(default_factory=list)
    connections: list[Connection] = field(default_factory=list)
    accounts: dict[str, Account] = field(default_factory=dict)
    video: dict[str, Any] = field(default_factory=dict)  # what a player's manifest says
    uploads: bool = False  # the client sent bodies
    http2_windows: dict[str, dict[str, int | None]] = field(default_factory=dict)  # by flow, as the client offers them


def read_endpoints(folder: Path, addresses: tuple[str, str] | None = None) -> Endpoints:
    """Return everything in `client.jsonl` and `server.jsonl` of a folder, and in the file of a load without lines.

    `addresses` are given for client and server if the laboratory knows them better than the client, which may see its
    own address as a wildcard.
    """
    found = Endpoints()
    client = _Client(found, addresses)
    found.accounts["client.jsonl"] = read_lines(folder / "client.jsonl", client.events)
    without_lines = read_lines(folder / LOAD_FILE, client.seen_by_laboratory)
    if without_lines.present:
        found.accounts[LOAD_FILE] = without_lines
    _assign_flows(found)
    server = _Server(found)
    found.accounts["server.jsonl"] = read_lines(
        folder / "server.jsonl",
        {"connection": server.connection, "upload": server.upload, "source": server.source},
    )
    return found


class _Client:
    def __init__(self, found: Endpoints, addresses: tuple[str, str] | None) -> None:
        self._found = found
        self._addresses = addresses
        self._latest_ns: int | None = None  # of all stamps so far
        self.events = {"connection": self.connection, "object": self.object, "page": self.page}
        self.events |= {"move": self.move, "path": self.path}
        self.events |= player_events(self._add, found.video) | echo_events(self._add) | live_events(self._add)
        self.seen_by_laboratory = {"flow": self.flow, "load": self.load}

    def flow(self, line: Line) -> None:
        """Let packets belong to a connection that the laboratory saw, unless the client itself reported it."""
        local, started = text(line, "local"), time_ns(line, "t_start_ns")
        if any(known.local_port == port_of(local) for known in self._found.connections):
            return
        flow = flow_name(text(line, "protocol"), local, text(line, "remote"))
        self._found.connections.append(Connection(started, port_of(local), flow, line.get("primes") is True))

    def load(self, line: Line) -> None:
        started, ended, size_bytes = time_ns(line, "t_start_ns"), time_ns(line, "t_end_ns"), count(line, "bytes")
        common = {"vantage": Vantage.LINK, "priming": False}
        self._add(started, Kind.LOAD_STARTED, common)
        self._add(ended, Kind.LOAD_ENDED, common | {"size_bytes": size_bytes})

    def connection(self, line: Line) -> None:
        started = time_ns(line, "t_start_ns")
        secure = optional_time_ns(line, "t_handshake_ns")
        priming = line.get("primes") is True
        protocol = text(line, "protocol")
        local, remote, server_address = text(line, "local"), text(line, "remote"), None
        if self._addresses is not None:
            client_address, server_address = self._addresses
            local, remote = with_port(client_address, port_of(local)), with_port(server_address, port_of(remote))
        flow = flow_name(protocol, local, remote)
        offered = {name: count(line, f"http2_{name}_window") for name in ("stream", "connection")}
        if any(bytes_ is not None for bytes_ in offered.values()):
            self._found.http2_windows[flow] = offered
        self._found.connections.append(Connection(started, port_of(local), flow, priming, server_address))
        common = {"vantage": Vantage.CLIENT, "flow": flow, "priming": priming, "protocol": protocol}
        self._add(started, Kind.CONNECTION_STARTED, common)
        if secure is not None:
            self._add(secure, Kind.HANDSHAKE_DONE, common | {"name": handshake_name(line)})

    def move(self, line: Line) -> None:
        """Let packets from the address that a QUIC connection has moved to belong to its flow.

        Over TCP the client moves by another connection, which has a line of its own.
        """
        self._also(text(line, "from"), text(line, "to"), time_ns(line, "t_start_ns"))

    def path(self, line: Line) -> None:
        """Let packets of a further path of a QUIC connection belong to its flow; the first path is the connection's."""
        connection, local = text(line, "connection"), text(line, "local")
        if local != connection:
            self._also(connection, local, time_ns(line, "t_start_ns"))

    def _also(self, connection: str | None, address: str | None, since_ns: int) -> None:
        """Add another address of the client to the connection that it began at `connection`."""
        port = port_of(connection)
        of = [known for known in self._found.connections if known.local_port == port]
        if of:
            self._found.connections.append(replace(of[-1], started_unix_ns=since_ns, local_port=port_of(address)))

    def object(self, line: Line) -> None:
        stamps = {key: optional_time_ns(line, key) for key in ("t_start_ns", "t_first_byte_ns", "t_end_ns")}
        path = text(line, "path") or _path_of(line)
        self._found.uploads |= line.get("method") in UPLOAD_METHODS
        error = line.get("error")
        size_bytes, status = count(line, "bytes"), count(line, "status")
        ended = stamps["t_end_ns"]
        if error is None and ended is None:
            raise BadLineError("neither t_end_ns nor an error")
        common = {
            "vantage": Vantage.CLIENT,
            "priming": path == PRIMING_PATH,
            "name": path,
            "protocol": text(line, "protocol"),
            _LOCAL: text(line, "local"),
        }
        if stamps["t_start_ns"] is not None:
            priority = text(line, "priority")
            asked = common if priority is None else common | {"detail": priority}
            self._add(stamps["t_start_ns"], Kind.REQUEST_SENT, asked)
        if stamps["t_first_byte_ns"] is not None:
            self._add(stamps["t_first_byte_ns"], Kind.FIRST_BYTE, common)
        if error is None and ended is not None:
            value = None if status is None else float(status)
            self._add(ended, Kind.OBJECT_DONE, common | {"size_bytes": size_bytes, "value": value})
        else:
            known = [stamp for stamp in stamps.values() if stamp is not None]
            when = max(known) if known else self._latest_ns
            if when is None:
                raise BadLineError("failed, and no time is known")
            self._add(when, Kind.OBJECT_FAILED, common | {"detail": str(error)})

    def page(self, line: Line) -> None:
        started = time_ns(line, "t_start_ns")
        first_byte, loaded = (optional_time_ns(line, key) for key in ("t_first_byte_ns", "t_loaded_ns"))
        common = {"vantage": Vantage.CLIENT, "priming": False, "name": _path_of(line)}
        self._add(started, Kind.PAGE_STARTED, common)
        if first_byte is not None:
            self._add(first_byte, Kind.PAGE_FIRST_BYTE, common)
        if loaded is not None:
            self._add(loaded, Kind.PAGE_LOADED, common)
        for kind in (Kind.FIRST_CONTENTFUL_PAINT, Kind.LARGEST_CONTENTFUL_PAINT):
            if (painted := optional_time_ns(line, f"t_{kind}_ns")) is not None:
                self._add(painted, kind, common)

    def _add(self, unix_ns: int, kind: Kind, row: Mapping[str, Any]) -> None:
        self._latest_ns = max(unix_ns, self._latest_ns or 0)
        self._found.rows.append({"time_ns": unix_ns, "kind": kind, **row})


class _Server:
    def __init__(self, found: Endpoints) -> None:
        self._found = found

    def upload(self, line: Line) -> None:
        """Add what the server received whole."""
        if line.get("error") is not None or (ended := optional_time_ns(line, "t_end_ns")) is None:
            return
        self._found.rows.append(
            {
                "time_ns": ended,
                "kind": Kind.UPLOAD_DONE,
                "vantage": Vantage.SERVER,
                "priming": False,
                "name": text(line, "path"),
                "size_bytes": count(line, "bytes"),
                "detail": text(line, "method"),
            }
        )

    def source(self, line: Line) -> None:
        ended = time_ns(line, "t_end_ns")
        for name in ("sent", "reset", "dropped"):
            row = {"time_ns": ended, "kind": Kind.FRAMES_HANDLED, "vantage": Vantage.SERVER, "priming": False}
            self._found.rows.append({**row, "name": name, "value": float(count(line, name) or 0)})

    def connection(self, line: Line) -> None:
        secure = optional_time_ns(line, "t_handshake_ns")
        if secure is None:
            return  # a foreign program that reports its connections, not their times
        protocol = text(line, "protocol")
        remote = text(line, "remote")
        transport = transport_of(protocol)
        own = [item for item in self._found.connections if item.flow.startswith(f"{transport} ")]
        owner = owner_of(own, port_of(remote), secure)
        self._found.rows.append(
            {
                "time_ns": secure,
                "kind": Kind.HANDSHAKE_DONE,
                "vantage": Vantage.SERVER,
                # Both ends must name a flow alike, and a client may see its own address as a wildcard.
                "flow": owner.flow if owner else flow_name(protocol, remote, text(line, "local")),
                "priming": owner is not None and owner.priming,
                "protocol": protocol,
                "name": handshake_name(line),
            }
        )


def _assign_flows(found: Endpoints) -> None:
    """Give object lines their connection: by the local address that they name, else only if there was just one."""
    for priming in (False, True):
        ports = {item.flow: item.local_port for item in found.connections if item.priming is priming}
        for row in (row for row in found.rows if row["priming"] is priming and "flow" not in row):
            named, spoken = port_of(row.pop(_LOCAL, None)), row.get("protocol")
            flows = [flow for flow, port in ports.items() if port == named > 0] or list(ports)
            if len(flows) > 1 and spoken is not None:  # a socket of either transport with one port
                flows = [flow for flow in flows if flow.startswith(f"{transport_of(spoken)} ")]
            if len(flows) == 1:
                (row["flow"],) = flows


def owner_of(connections: Iterable[Connection], client_port: int, unix_ns: int) -> Connection | None:
    """Return the connection that used `client_port` at a time: the last one begun before it, else the first.

    A client may use one UDP socket for its priming and its measured connection.
    """
    candidates = sorted(
        (item for item in connections if item.local_port == client_port and client_port > 0),
        key=lambda item: item.started_unix_ns,
    )
    begun = [item for item in candidates if item.started_unix_ns <= unix_ns]
    return begun[-1] if begun else candidates[0] if candidates else None


def handshake_name(line: Line) -> str | None:
    """Return `0rtt`, `resumed` or `cold` as the program saw it, or None if it does not know (browsers)."""
    if line.get("used_0rtt") is True:
        return "0rtt"
    resumed = line.get("resumed")
    return "resumed" if resumed is True else "cold" if resumed is False else None


def transport_of(protocol: str | None) -> str:
    """Return `udp` for HTTP/3, bare datagrams and echoes, `tcp` for protocols over TCP."""
    return "tcp" if protocol is None else find_protocol(protocol).transport


def flow_name(protocol: str | None, client: str | None, server: str | None) -> str:
    """Return `tcp 198.18.0.1:40000 198.18.0.2:443`, client first, with `*` for what is unknown."""
    return f"{transport_of(protocol)} {client or '*'} {server or '*'}"


def port_of(address: str | None) -> int:
    """Return the port of "ip:port", 0 if there is none."""
    port = (address or "").rpartition(":")[2]
    return int(port) if port.isascii() and port.isdigit() else 0


def _path_of(line: Line) -> str | None:
    url = text(line, "url")
    if url is None:
        return None
    try:
        return urlsplit(url).path or "/"
    except ValueError:  # e.g. unbalanced brackets of an IPv6 address
        return url
