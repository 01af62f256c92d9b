"""Print a load as lines of the contract."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from longlook_adapter.browserjob import BrowserJob
from longlook_adapter.lines import emit

from firefox_driver.recorder import Exchange, Recorder


@dataclass
class Load:
    """The result of a navigation. Times in nanoseconds since 1970; None where it did not come so far."""

    url: str
    recorder: Recorder
    error: str | None = None
    t_start_ns: int | None = None
    t_first_byte_ns: int | None = None
    t_loaded_ns: int | None = None
    t_first_contentful_paint_ns: int | None = None
    t_largest_contentful_paint_ns: int | None = None


def report_connections(load: Load, remote: str, local: str | None) -> None:
    """Print one line per connection that a request had to open; values that Firefox does not report are null.

    The only connection of a user context that is new has no ticket, and so resumed nothing.
    """
    opened = {each.t_connect_ns: each for each in load.recorder.exchanges.values() if each.t_connect_ns is not None}
    resumed = False if len(opened) == 1 else None
    for exchange in opened.values():
        emit(
            "connection",
            protocol=exchange.protocol,
            local=local if len(opened) == 1 else None,
            remote=remote,
            primes=False,
            resumed=resumed,
            used_0rtt=resumed,
            t_start_ns=exchange.t_connect_ns,
            t_handshake_ns=exchange.t_secure_ns,
        )


def report_load(load: Load, job: BrowserJob) -> bool:
    """Print an `object` line per path of the job and per other request, then the `page`; return whether all is well."""
    exchanges = list(load.recorder.exchanges.values())
    origin = load.url[: load.url.index("/", len("https://"))]
    chosen = {path: _first(exchanges, origin + path) for path in job.paths}
    unexpected = [each for each in exchanges if each not in chosen.values()]
    for path, exchange in chosen.items():
        _report(exchange or Exchange(origin + path, error=load.error or "the page never requested it"), path)
    for exchange in unexpected:
        exchange.error = exchange.error or "requested by the page twice, or not part of the job"
        _report(exchange, exchange.path)
    emit(
        "page",
        url=load.url,
        t_start_ns=load.t_start_ns,
        t_first_byte_ns=load.t_first_byte_ns,
        t_loaded_ns=load.t_loaded_ns,
        t_first_contentful_paint_ns=load.t_first_contentful_paint_ns,
        t_largest_contentful_paint_ns=load.t_largest_contentful_paint_ns,
        error=load.error,
    )
    arrived = all(exchange is not None and exchange.error is None for exchange in chosen.values())
    return arrived and load.error is None and not unexpected


def report_unrequested(job: BrowserJob, origin: str, reason: str) -> None:
    """Print one failed `object` line per path, for a load that was never begun."""
    for path in job.paths:
        _report(Exchange(origin + path, error=reason), path)


def _first(exchanges: Sequence[Exchange], url: str) -> Exchange | None:
    return next((each for each in exchanges if urlsplit(each.url)._replace(fragment="").geturl() == url), None)


def _report(exchange: Exchange, path: str) -> None:
    emit("object", **object_line(exchange, path))


def object_line(exchange: Exchange, path: str) -> dict[str, Any]:
    """Return the keys of a request's `object` line."""
    return {
        "url": exchange.url,
        "path": path,
        **({} if exchange.local is None else {"local": exchange.local}),
        "protocol": exchange.protocol,
        "status": exchange.status,
        "t_start_ns": exchange.t_start_ns,
        "t_first_byte_ns": exchange.t_first_byte_ns,
        "t_end_ns": exchange.t_end_ns,
        "bytes": exchange.bytes,
        "digest": None,
        "error": exchange.error,
    }
