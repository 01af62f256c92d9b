"""Collect the exchanges of one load from its BiDi events. Pure; times in nanoseconds since 1970."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit


@dataclass
class Exchange:
    """One request and its answer; None where something was not seen."""

    url: str
    t_start_ns: int | None = None  # the page asked for it
    t_connect_ns: int | None = None  # its connection was begun; only where it had to be opened
    t_secure_ns: int | None = None
    t_first_byte_ns: int | None = None
    t_end_ns: int | None = None
    t_failed_ns: int | None = None  # whole milliseconds
    protocol: str | None = None
    status: int | None = None
    bytes: int | None = None  # of the body
    alt_svc: str | None = None  # the answer's header
    local: str | None = None  # this machine's end of the connection, where it is known
    error: str | None = None

    @property
    def path(self) -> str:
        """Return path and query, as requests are named in a job."""
        parts = urlsplit(self.url)
        return f"{parts.path}?{parts.query}" if parts.query else parts.path


@dataclass
class Recorder:
    """Collects the load of one tab. `on_event` is fed every event, in order."""

    context: str
    exchanges: dict[str, Exchange] = field(default_factory=dict)
    in_flight: set[str] = field(default_factory=set)

    def on_event(self, method: str, params: Mapping[str, Any]) -> None:
        """Take one event; those of other tabs, and of requests that never leave the browser, are ignored."""
        request = params.get("request", {})
        if params.get("context") != self.context or urlsplit(request.get("url", "")).scheme != "https":
            return
        identity = f"{request['request']}/{params['redirectCount']}"
        exchange = self.exchanges.setdefault(identity, Exchange(request["url"]))
        exchange.t_start_ns = _moment(request["timings"], "requestTime") or exchange.t_start_ns
        if method == "network.beforeRequestSent":
            self.in_flight.add(identity)
            return
        self.in_flight.discard(identity)
        if method == "network.fetchError":
            exchange.error = params["errorText"]
            exchange.t_failed_ns = params["timestamp"] * 1_000_000
        elif method == "network.responseCompleted":
            self._completed(exchange, request["timings"], params["response"])

    def give_up(self, reason: str) -> None:
        """Mark every request that has no end."""
        for identity in self.in_flight:
            self.exchanges[identity].error = reason

    def _completed(self, exchange: Exchange, timings: Mapping[str, float], response: Mapping[str, Any]) -> None:
        exchange.protocol, exchange.status = response["protocol"], response["status"]
        exchange.bytes = response["bodySize"]
        exchange.alt_svc = _header(response, "alt-svc")
        if timings.get("connectEnd", 0) > timings.get("connectStart", 0):
            exchange.t_connect_ns = _moment(timings, "connectStart")
            exchange.t_secure_ns = _moment(timings, "connectEnd")
        exchange.t_first_byte_ns = _moment(timings, "responseStart")
        exchange.t_end_ns = _moment(timings, "responseEnd")
        if response.get("fromCache"):
            exchange.error = "served from the browser's cache, not from the network"
        elif response["status"] >= 300:
            exchange.error = f"HTTP status {response['status']}"


def _header(response: Mapping[str, Any], name: str) -> str | None:
    values = (each["value"]["value"] for each in response["headers"] if each["name"].lower() == name)
    return next(values, None)


def _moment(timings: Mapping[str, float], key: str) -> int | None:
    """Return a time given in milliseconds in nanoseconds; zero means that it did not happen (None)."""
    milliseconds = timings.get(key) or 0
    return round(milliseconds * 1e3) * 1000 if milliseconds > 0 else None  # whole microseconds, as Firefox has them
