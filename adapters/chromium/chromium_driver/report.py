"""A load as lines of the contract."""

from urllib.parse import urlsplit

from longlook_adapter.browserjob import BrowserJob
from longlook_adapter.lines import emit

from chromium_driver.clock import Clock
from chromium_driver.recorder import Exchange
from chromium_driver.tab import Load


def report_connections(load: Load, clock: Clock, *, primes: bool, has_tickets: bool) -> None:
    """One line per connection. Chromium does not say whether TLS resumed: only that it cannot have is ours to know.

    The first connection of a context that never had another has no ticket.
    """
    connections = list(load.recorder.connections.values())
    certain = len(connections) == len(load.ends) == 1  # else no telling which end belongs to which connection
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
            t_start_ns=clock.unix_ns(connection.t_start_s),
            t_handshake_ns=clock.unix_ns(connection.t_handshake_s),
            connection_id=connection.id,
        )


def report_load(load: Load, url: str, job: BrowserJob, clock: Clock) -> bool:
    """One `object` line per path of the job and per request beside it, then the `page`; whether all went well."""
    host = urlsplit(url).netloc
    by_path: dict[str, Exchange] = {}
    strays = []
    for exchange in load.recorder.exchanges:
        if urlsplit(exchange.url).netloc != host or exchange.path not in job.paths:
            exchange.error = exchange.error or "requested by the page, but not part of the job"
            strays.append(exchange)
        elif exchange.path in by_path:
            exchange.error = exchange.error or "requested twice"
            strays.append(exchange)
        else:
            by_path[exchange.path] = exchange
    origin = url[: url.index(host) + len(host)]
    ok = load.error is None and not strays
    for path in job.paths:
        if path in by_path:
            _report_exchange(by_path[path], clock)
            ok = ok and by_path[path].error is None
        else:
            _report_missing(origin + path, path, load.error or "the page never asked for it")
            ok = False
    for exchange in strays:
        _report_exchange(exchange, clock)
    emit(
        "page",
        url=url,
        t_start_ns=clock.unix_ns(load.t_start_s),
        t_first_byte_ns=clock.unix_ns(load.t_first_byte_s),
        t_loaded_ns=clock.unix_ns(load.t_loaded_s),
        error=load.error,
    )
    return ok


def report_not_tried(job: BrowserJob, origin: str, reason: str) -> None:
    """One failed `object` line per path, for a load that was never begun."""
    for path in job.paths:
        _report_missing(origin + path, path, reason)


def _report_exchange(exchange: Exchange, clock: Clock) -> None:
    answered = exchange.status is not None
    emit(
        "object",
        url=exchange.url,
        path=exchange.path,
        protocol=exchange.protocol,
        status=exchange.status,
        t_start_ns=clock.unix_ns(exchange.t_start_s),
        t_first_byte_ns=clock.unix_ns(exchange.t_first_byte_s),
        t_end_ns=clock.unix_ns(exchange.t_end_s) if answered else None,
        bytes=exchange.body_bytes if answered else None,
        digest=None,
        error=exchange.error,
    )


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
