"""Loads for which Firefox itself chooses between QUIC and TCP, by what it remembers of the server.

All that is remembered is its own: that the server named HTTP/3 (Alt-Svc), and that QUIC failed. Before a load that is
to find it, the same user context gets it by earlier loads, whose connections are closed.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from longlook_adapter.browserjob import ALT_SVC, NOTHING, PAGE, BrowserJob
from longlook_adapter.job import PRIME
from longlook_adapter.lines import emit

from firefox_driver.recorder import Exchange
from firefox_driver.report import Load, report_load, report_unrequested

TRIAL_S = 1.0
"""How long it stays where it learned of HTTP/3: Firefox believes in it only after it has made a connection itself."""

READING_S = 15.0
"""How long the earlier page stays open, so that what becomes of QUIC beside it is known (adapters/CONTRACT.md)."""

PATIENCE_S = 30.0
"""The longest that the earlier page may take."""


@dataclass(frozen=True)
class Context:
    """A user context: how to load a URL in a new tab within a time (s), to close the tab and all connections, and to
    note when the tab showed the contents of its load.
    """

    load: Callable[[str, float], Awaitable[Load]]
    leave: Callable[[], Awaitable[None]]
    read_paints: Callable[[Load], Awaitable[None]]


async def run(context: Context, job: BrowserJob, origin: str) -> bool:
    """Do a job of protocol h3-or-h2 and print its lines; return whether all of it arrived."""
    loop = asyncio.get_running_loop()
    deadline_s = loop.time() + job.timeout_s

    async def earlier(path: str, limit_s: float, stay_s: float) -> Load:
        load = await context.load(origin + path, limit_s)
        await asyncio.sleep(stay_s)
        _report_connections(load, job, primes=True, has_tickets=True)
        await context.leave()
        return load

    if job.memory in (ALT_SVC, PAGE) and (error := _unknown(await earlier(PRIME, job.timeout_s, TRIAL_S))):
        report_unrequested(job, origin, f"priming failed: {error}")
        return False
    if job.memory == PAGE:
        left_s = deadline_s - loop.time()
        _report_earlier(await earlier(job.paths[0], min(left_s, PATIENCE_S), READING_S))
    load = await context.load(origin + job.paths[0], deadline_s - loop.time())
    _report_connections(load, job, primes=False, has_tickets=job.memory != NOTHING)
    await context.read_paints(load)
    return report_load(load, job)


def _unknown(load: Load) -> str | None:
    """Return why HTTP/3 is not known after the fetch of a small file, or None where it is."""
    answer = next(iter(load.recorder.exchanges.values()), None)
    if answer is None or answer.status != 200:
        return load.error or (answer.error if answer else None) or "no answer"
    if not answer.alt_svc:
        return "the answer has no Alt-Svc header, so that QUIC stays unknown: set the server's knob alt_svc_port"
    return None


def _report_earlier(load: Load) -> None:
    emit(
        "earlier_load",
        url=load.url,
        t_start_ns=load.t_start_ns,
        t_first_byte_ns=load.t_first_byte_ns,
        t_loaded_ns=load.t_loaded_ns,
        protocols=[exchange.protocol for exchange in load.recorder.exchanges.values()],
        error=load.error,
    )


def _report_connections(load: Load, job: BrowserJob, *, primes: bool, has_tickets: bool) -> None:
    """Print one line per connection that carried something.

    Firefox reports the times of a connection with the request that it was opened for. One that it opened by itself, to
    see whether HTTP/3 works as the server says, carries later requests, and its times are not known.
    """
    carried: dict[tuple[str, str | None], list[Exchange]] = {}
    for exchange in load.recorder.exchanges.values():
        if exchange.protocol is not None:
            carried.setdefault((exchange.protocol, exchange.local), []).append(exchange)
    resumed = None if has_tickets or len(carried) > 1 else False
    for (protocol, local), exchanges in carried.items():
        opener = next((exchange for exchange in exchanges if exchange.t_connect_ns is not None), exchanges[0])
        emit(
            "connection",
            protocol=protocol,
            local=local,
            remote=f"{job.address}:{job.port}",
            primes=primes,
            resumed=resumed,
            used_0rtt=resumed,
            t_start_ns=opener.t_connect_ns,
            t_handshake_ns=opener.t_secure_ns,
        )
