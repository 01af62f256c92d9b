"""The client: connections of aioquic for the job that longlook_adapter.fetching runs."""

import asyncio
import dataclasses
import socket

from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.tls import SessionTicket
from longlook_adapter.addresses import family_of, source_address
from longlook_adapter.fetching import run_job
from longlook_adapter.job import EARLY, Job
from longlook_adapter.lines import endpoint

from aioquic_adapter.connection import Connection
from aioquic_adapter.settings import configuration
from aioquic_adapter.trace import traces_wanted


async def run(job: Job) -> None:
    """Do a job; ReportedError where something did not arrive, which the lines have reported."""
    traces = traces_wanted()
    settings = configuration(job.knobs, traces, is_client=True)
    settings.server_name = job.host
    settings.load_verify_locations(job.ca)

    async def connect(ticket: SessionTicket | None, *, primes: bool) -> Connection:
        if ticket is not None and job.connection != EARLY:  # aioquic sends early whatever the ticket allows it to
            ticket = dataclasses.replace(ticket, max_early_data_size=None)
        return await _connection(job, dataclasses.replace(settings, session_ticket=ticket), primes=primes)

    try:
        await run_job(job, connect)
    finally:
        if traces is not None:
            traces.finish()


async def _connection(job: Job, settings: QuicConfiguration, *, primes: bool) -> Connection:
    """Return a connection that is not open yet, with a socket on the address that the kernel would send from."""
    family = family_of(job.address)
    sock = socket.socket(family, socket.SOCK_DGRAM)
    sock.setblocking(False)
    sock.bind((source_address((job.address, job.port)), 0))
    # As the socket names the sender of a datagram: aioquic takes any other form for another path, which it distrusts.
    remote = (job.address, job.port, 0, 0) if family == socket.AF_INET6 else (job.address, job.port)
    tickets: asyncio.Queue[SessionTicket] = asyncio.Queue()
    quic = QuicConnection(configuration=settings, session_ticket_handler=tickets.put_nowait)
    local = endpoint(sock.getsockname())
    _, connection = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: Connection(quic, job, tickets, remote, local, primes=primes), sock=sock
    )
    return connection
