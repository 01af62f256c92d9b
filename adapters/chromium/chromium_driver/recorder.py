"""Collect the exchanges of one load from its DevTools events. Pure; times in seconds of the browser's clock."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit


@dataclass
class Exchange:
    """One request and its answer; None where something was not seen."""

    url: str
    t_start_s: float  # the page asked for it
    t_first_byte_s: float | None = None
    t_end_s: float | None = None
    protocol: str | None = None
    status: int | None = None
    body_bytes: int = 0
    connection_id: int | None = None
    alt_svc: str | None = None  # the header of that name
    local: str | None = None  # address of the connection that carried it, where that is known
    error: str | None = None

    @property
    def path(self) -> str:
        """Return path and query, as requests are named in a job."""
        parts = urlsplit(self.url)
        return f"{parts.path}?{parts.query}" if parts.query else parts.path

    @property
    def settled(self) -> bool:
        """Return whether it has ended or failed."""
        return self.t_end_s is not None or self.error is not None


@dataclass
class Connection:
    """One transport connection, as the first response on it describes it."""

    id: int
    protocol: str
    remote: str
    t_start_s: float | None = None
    t_handshake_s: float | None = None


@dataclass
class Recorder:
    """Collects a load. `on_event` is fed every event of the page's session, in order."""

    exchanges: list[Exchange] = field(default_factory=list)
    connections: dict[int, Connection] = field(default_factory=dict)
    loaded: bool = False
    _open: dict[str, Exchange] = field(default_factory=dict)

    @property
    def in_flight(self) -> int:
        """Return the number of requests without an end yet."""
        return sum(not exchange.settled for exchange in self._open.values())

    def on_event(self, method: str, params: Mapping[str, Any]) -> None:
        """Take one event; those without meaning here are ignored."""
        match method:
            case "Network.requestWillBeSent":
                self._request(params)
            case "Network.responseReceived":
                self._response(params)
            case "Network.dataReceived":
                if exchange := self._open.get(params["requestId"]):
                    exchange.body_bytes += params["dataLength"]
            case "Network.loadingFinished":
                if exchange := self._open.get(params["requestId"]):
                    exchange.t_end_s = params["timestamp"]
            case "Network.loadingFailed":
                self._failed(params)
            case "Network.requestServedFromCache":
                if exchange := self._open.get(params["requestId"]):
                    exchange.error = "served from the browser's cache, not from the network"
            case "Page.loadEventFired":
                self.loaded = True

    def give_up(self, reason: str) -> None:
        """Mark every request that has no end."""
        for exchange in self._open.values():
            if not exchange.settled:
                exchange.error = reason

    def _request(self, params: Mapping[str, Any]) -> None:
        url = params["request"]["url"]
        if urlsplit(url).scheme != "https":
            return  # data: and the like never leave the browser
        if (before := self._open.get(params["requestId"])) and (redirect := params.get("redirectResponse")):
            self._answer(before, redirect)
            before.t_end_s = params["timestamp"]
            before.error = f"redirected to {url}"
        exchange = Exchange(url=url, t_start_s=params["timestamp"])
        self.exchanges.append(exchange)
        self._open[params["requestId"]] = exchange

    def _response(self, params: Mapping[str, Any]) -> None:
        if exchange := self._open.get(params["requestId"]):
            self._answer(exchange, params["response"])

    def _answer(self, exchange: Exchange, response: Mapping[str, Any]) -> None:
        exchange.protocol = response.get("protocol")
        exchange.status = response["status"]
        if response["status"] >= 400:
            exchange.error = f"HTTP status {response['status']}"
        headers = {name.lower(): value for name, value in response.get("headers", {}).items()}
        exchange.alt_svc = headers.get("alt-svc")
        timing = response.get("timing")
        if timing is not None:
            exchange.t_first_byte_s = _moment(timing, "receiveHeadersStart")
        if identity := response.get("connectionId"):
            exchange.connection_id = identity
            self._connection(identity, response, timing)

    def _connection(self, identity: int, response: Mapping[str, Any], timing: Mapping[str, float] | None) -> None:
        if identity not in self.connections:
            host, port = response.get("remoteIPAddress", ""), response.get("remotePort", 0)
            self.connections[identity] = Connection(identity, response.get("protocol", ""), f"{host}:{port}")
        connection = self.connections[identity]
        if connection.t_start_s is None and timing is not None:
            connection.t_start_s = _moment(timing, "connectStart")
            connection.t_handshake_s = _moment(timing, "connectEnd")

    def _failed(self, params: Mapping[str, Any]) -> None:
        exchange = self._open.get(params["requestId"])
        if exchange is None:
            return
        if params.get("blockedReason") == "inspector":  # we blocked it: it never reached the network
            self.exchanges.remove(exchange)
            del self._open[params["requestId"]]
            return
        exchange.error = params.get("errorText") or "failed"
        exchange.t_end_s = params["timestamp"]


def _moment(timing: Mapping[str, float], key: str) -> float | None:
    """Return a time of the browser's clock from milliseconds after `requestTime`; None for −1: it did not happen."""
    milliseconds = timing.get(key, -1)
    return None if milliseconds < 0 else timing["requestTime"] + milliseconds / 1e3
