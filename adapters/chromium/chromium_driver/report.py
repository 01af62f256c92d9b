"""Print a load as lines of the contract."""

from typing import Any
from urllib.parse import urlsplit

from longlook_adapter.browserjob import BrowserJob
from longlook_adapter.clock import unix_ns
from longlook_adapter.lines import emit

from chromium_driver.recorder import Exchange
from chromium_driver.tab import Load


def report_connections(load: Load, *, primes: bool, has_tickets: bool) -> None:
    """Print one line per connection. Chromium does not report whether TLS resumed: None, unless it cannot have.

    The first connection of a context that never had another has no ticket.
    """
    connections = list(load.recorder.connections.values())
    certain = len(connections) == len(load.ends) == 1  # else it is unknown which address belongs to which connection
    resumed = None if has_tickets or len(connections) > 1 else False
    for connection in connections:
        emit(
            "connection",
            protocol=connection.protocol,
            local=load.ends[0] if certain else None,
            remote=connection.remote,
            primes=primes,
            resumed=resumed,
            used_0rtt=resumed,
            t_start_ns=unix_ns(connection.t_start_s),
            t_handshake_ns=unix_ns(connection.t_handshake_s),
            connection_id=connection.id,
        )


def report_load(load: Load, url: str, job: BrowserJob) -> bool:
    """Print an `object` line per path of the job and per other request, then the `page`; return whether all is well."""
    host = urlsplit(url).netloc
    by_path: dict[str, Exchange] = {}
    unexpected = []
    for exchange in load.recorder.exchanges:
        if urlsplit(exchange.url).netloc != host or exchange.path not in job.paths:
            exchange.error = exchange.error or "requested by the page, but not part of the job"
            unexpected.append(exchange)
        elif exchange.path in by_path:
            exchange.error = exchange.error or "requested twice"
            unexpected.append(exchange)
        else:
            by_path[exchange.path] = exchange
    origin = url[: url.index(host) + len(host)]
    ok = load.error is None and not unexpected
    for path in job.paths:
        if path in by_path:
            report_exchange(by_path[path])
            ok = ok and by_path[path].error is None
        else:
            _report_missing(origin + path, path, load.error or "the page never requested it")
            ok = False
    for exchange in unexpected:
        report_exchange(exchange)
    emit(
        "page",
        url=url,
        t_start_ns=unix_ns(load.t_start_s),
        t_first_byte_ns=unix_ns(load.t_first_byte_s),
        t_loaded_ns=unix_ns(load.t_loaded_s),
        t_first_contentful_paint_ns=unix_ns(load.t_first_contentful_paint_s),
        t_largest_contentful_paint_ns=unix_ns(load.t_largest_contentful_paint_s),
        error=load.error,
    )
    return ok


def report_unrequested(job: BrowserJob, origin: str, reason: str) -> None:
    """Print one failed `object` line per path, for a load that was never begun."""
    for path in job.paths:
        _report_missing(origin + path, path, reason)


def report_exchange(exchange: Exchange) -> None:
    """Print the `object` line of a request."""
    emit("object", **object_line(exchange))


def object_line(exchange: Exchange) -> dict[str, Any]:
    """Return the keys of a request's `object` line."""
    answered = exchange.status is not None
    return {
        "url": exchange.url,
        "path": exchange.path,
        **({} if exchange.local is None else {"local": exchange.local}),
        "protocol": exchange.protocol,
        "status": exchange.status,
        "t_start_ns": unix_ns(exchange.t_start_s),
        "t_first_byte_ns": unix_ns(exchange.t_first_byte_s),
        "t_end_ns": unix_ns(exchange.t_end_s) if answered else None,
        "bytes": exchange.body_bytes if answered else None,
        "digest": None,
        "error": exchange.error,
    }


def _report_missing(url: str, path: str, reason: str) -> None:
    emit(
        "object",
        url=url,
        path=path,
        protocol=None,
        status=None,
        t_start_ns=None,
        t_first_byte_ns=None,
        t_end_ns=None,
        bytes=None,
        digest=None,
        error=reason,
    )
