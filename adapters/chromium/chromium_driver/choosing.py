"""Loads for which the browser itself chooses between QUIC and TCP, by what it remembers of the server.

All that is remembered is its own: that the server named HTTP/3 (Alt-Svc), and that QUIC failed. Before a load that is
to find it, the same context gets it by earlier loads, whose connections are closed.
"""

import asyncio
import time

from longlook_adapter import sockets
from longlook_adapter.browserjob import ALT_SVC, NOTHING, PAGE, BrowserJob
from longlook_adapter.clock import unix_ns
from longlook_adapter.errors import UnsupportedError
from longlook_adapter.job import PRIME
from longlook_adapter.lines import emit

from chromium_driver.context import Context
from chromium_driver.flags import Target
from chromium_driver.recorder import Connection
from chromium_driver.report import report_load, report_unrequested
from chromium_driver.tab import Load

READING_S = 15.0
"""How long the earlier page stays open. A QUIC handshake that is not answered fails after 10 s at most, and only then
does Chromium remember that QUIC is broken, although the page came over TCP long before."""

PATIENCE_S = 30.0
"""The longest that the earlier page may take."""


async def run(context: Context, target: Target, job: BrowserJob, deadline_s: float) -> bool:
    """Do a job of protocol h3-or-h2 and print its lines; return whether all of it arrived."""
    origin = target.url(job.protocol, "")
    if job.memory in (ALT_SVC, PAGE) and (error := await _learn(context, job, f"{origin}{PRIME}", deadline_s)):
        report_unrequested(job, origin, f"priming failed: {error}")
        return False
    page = f"{origin}{job.paths[0]}"
    if job.memory == PAGE:
        await _read_page(context, job, page, deadline_s)
    tab = await context.open_tab()
    load = await tab.navigate(page, deadline_s, lambda protocol: _locals(job, protocol))
    if load.is_download:
        raise UnsupportedError(f"{job.paths[0]} is not a page: the browser would save it to a file")
    await tab.read_paints(load)
    _report_connections(load, primes=False, has_tickets=job.memory != NOTHING)
    return report_load(load, page, job)


async def _learn(context: Context, job: BrowserJob, url: str, deadline_s: float) -> str | None:
    """Fetch a small file, over TCP as nothing is known yet; return why HTTP/3 is not known then, or None."""
    load = await _earlier(context, job, url, deadline_s, 0.0)
    answer = load.recorder.exchanges[0] if load.recorder.exchanges else None
    if answer is None or answer.status != 200:
        return load.error or (answer.error if answer else None) or "no answer"
    if not answer.alt_svc:
        return "the answer has no Alt-Svc header, so that QUIC stays unknown: set the server's knob alt_svc_port"
    return None


async def _read_page(context: Context, job: BrowserJob, url: str, deadline_s: float) -> None:
    """Load the page once, whatever comes of it, and keep it open for a while."""
    load = await _earlier(context, job, url, min(deadline_s, time.monotonic() + PATIENCE_S), READING_S)
    emit(
        "earlier_load",
        url=url,
        t_start_ns=unix_ns(load.t_start_s),
        t_first_byte_ns=unix_ns(load.t_first_byte_s),
        t_loaded_ns=unix_ns(load.t_loaded_s),
        protocols=[exchange.protocol for exchange in load.recorder.exchanges],
        error=load.error,
    )


async def _earlier(context: Context, job: BrowserJob, url: str, deadline_s: float, stay_s: float) -> Load:
    closer = await context.open_closer()
    tab = await context.open_tab()
    load = await tab.navigate(url, deadline_s, lambda protocol: _locals(job, protocol))
    await asyncio.sleep(stay_s)
    _report_connections(load, primes=True, has_tickets=True)
    await tab.close()
    await closer.close_connections()
    return load


def _locals(job: BrowserJob, protocol: str) -> list[str]:
    return sockets.connections("h3" if protocol.startswith("h3") else "h2", job.address, job.port)


def _report_connections(load: Load, *, primes: bool, has_tickets: bool) -> None:
    """Print one line per connection that answered, and note on each object which carried it.

    Chromium does not report whether TLS resumed: None, unless it cannot have.
    """
    locals_ = _locals_of(load)
    resumed = None if has_tickets or len(locals_) > 1 else False
    for identity, connection in load.recorder.connections.items():
        emit(
            "connection",
            protocol=connection.protocol,
            local=locals_[identity],
            remote=connection.remote,
            primes=primes,
            resumed=resumed,
            used_0rtt=resumed,
            t_start_ns=unix_ns(connection.t_start_s),
            t_handshake_ns=unix_ns(connection.t_handshake_s),
            connection_id=identity,
        )
    for exchange in load.recorder.exchanges:
        if exchange.connection_id is not None:
            exchange.local = locals_[exchange.connection_id]


def _locals_of(load: Load) -> dict[int, str | None]:
    """Return the address of each connection: the one of its transport that no earlier one has; None where several may
    be it."""
    found: dict[int, str | None] = {}
    for identity, ends in load.ends_by_connection.items():
        connection: Connection = load.recorder.connections[identity]
        taken = {found[other] for other in found if load.recorder.connections[other].protocol == connection.protocol}
        free = [end for end in ends if end not in taken]
        found[identity] = free[0] if len(free) == 1 else None
    return found
