"""The client: the phases of a job over one connection or several."""

import asyncio
import dataclasses
import ipaddress
import socket
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import TypeVar

from aioquic.h3.connection import ErrorCode
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.tls import SessionTicket
from longlook_adapter.clock import now_ns
from longlook_adapter.errors import ReportedError
from longlook_adapter.job import COLD, EARLY, Job
from longlook_adapter.lines import emit, endpoint

from aioquic_adapter import versions
from aioquic_adapter.fetching import Answer, Connection, FetchError
from aioquic_adapter.settings import configuration
from aioquic_adapter.trace import traces_wanted

PRIME = "/prime"

_T = TypeVar("_T")


async def run(job: Job) -> None:
    """Do a job; ReportedError where something did not arrive, which the lines have said."""
    traces = traces_wanted()
    settings = configuration(job.knobs, traces, is_client=True)
    settings.server_name = job.host
    settings.load_verify_locations(job.ca)
    try:
        complete = await _Run(job, settings).all_connections()
    finally:
        if traces is not None:
            traces.finish()
    if not complete:
        raise ReportedError


class _Run:
    """One job under way. Its time limit holds for everything together."""

    def __init__(self, job: Job, settings: QuicConfiguration) -> None:
        self._job, self._settings = job, settings
        self._deadline_s = asyncio.get_running_loop().time() + job.timeout_s

    async def all_connections(self) -> bool:
        """Whether everything arrived over every connection."""
        job, ticket = self._job, None
        if job.connection != COLD:
            try:
                ticket = await self._in_time(self._prime())
            except (FetchError, OSError) as error:
                for _ in range(job.connections):
                    self._report_unasked(job.phases, None, FetchError(f"priming connection: {error}"))
                return False
            if job.connection != EARLY:  # aioquic sends what it can early wherever the ticket allows it
                ticket = dataclasses.replace(ticket, max_early_data_size=None)
        return all(await asyncio.gather(*(self._fetch_all(ticket) for _ in range(job.connections))))

    async def _prime(self) -> SessionTicket:
        """Earn a ticket on a connection of its own."""
        tickets: asyncio.Queue[SessionTicket] = asyncio.Queue()
        async with self._connection(None, tickets, primes=True) as connection:
            connection.begin(self._address(), now_ns(), early=False)
            await connection.secured()
            (answer,) = connection.ask(self._job.authority, (PRIME,))
            await answer.ended
            if answer.status != 200:
                raise FetchError(f"HTTP status {answer.status}")
            return await tickets.get()

    async def _fetch_all(self, ticket: SessionTicket | None) -> bool:
        """All phases over one connection."""
        early, start_ns, complete = self._job.connection == EARLY, now_ns(), True
        local: str | None = None
        left = list(self._job.phases)
        try:
            async with self._connection(ticket, asyncio.Queue(), primes=False) as connection:
                local = connection.local
                connection.begin(self._address(), now_ns(), early=early)
                if not early:
                    await self._in_time(connection.secured())
                while left:
                    complete &= await self._fetch_phase(connection, left.pop(0), start_ns)
                    start_ns = now_ns()
        except (FetchError, OSError) as error:
            self._report_unasked(tuple(left), local, error)
            return False
        return complete

    async def _fetch_phase(self, connection: Connection, paths: tuple[str, ...], start_ns: int) -> bool:
        answers = connection.ask(self._job.authority, paths)
        reports = [
            self._report_when_ended(*each, connection.local, start_ns) for each in zip(paths, answers, strict=True)
        ]
        return all(await asyncio.gather(*reports))

    async def _report_when_ended(self, path: str, answer: Answer, local: str, start_ns: int) -> bool:
        error: str | None = None
        try:
            await self._in_time(answer.ended)
        except FetchError as failure:
            error = str(failure)
        if error is None and answer.status != 200:
            error = f"HTTP status {answer.status}"
        emit(
            "object",
            url=self._job.site + path,
            path=path,
            local=local,
            protocol=None if answer.status is None else "h3",
            status=answer.status,
            t_start_ns=start_ns,
            t_first_byte_ns=answer.t_first_byte_ns,
            t_end_ns=answer.t_end_ns,
            bytes=answer.bytes,
            digest=None if answer.t_end_ns is None else f"sha256:{answer.sha256.hexdigest()}",
            error=error,
        )
        return error is None

    def _report_unasked(self, phases: tuple[tuple[str, ...], ...], local: str | None, error: Exception) -> None:
        start_ns = now_ns()
        nothing = dict.fromkeys(("protocol", "status", "t_first_byte_ns", "t_end_ns", "digest"))
        for path in (path for paths in phases for path in paths):
            url = self._job.site + path
            emit("object", url=url, path=path, local=local, t_start_ns=start_ns, **nothing, bytes=0, error=str(error))

    async def _in_time(self, what: Awaitable[_T]) -> _T:
        """Its result, or a FetchError when the job's time is over."""
        try:
            async with asyncio.timeout_at(self._deadline_s):
                return await what
        except TimeoutError as error:
            raise FetchError(f"not done within {self._job.timeout_s:g} s") from error

    @asynccontextmanager
    async def _connection(
        self, ticket: SessionTicket | None, tickets: asyncio.Queue[SessionTicket], *, primes: bool
    ) -> AsyncIterator[Connection]:
        """A connection with a socket of its own, which tells the server when it is done with."""
        made = _socket_towards(self._address())
        local, remote = endpoint(made.getsockname()), endpoint(self._address())
        quic = QuicConnection(
            configuration=dataclasses.replace(self._settings, session_ticket=ticket),
            session_ticket_handler=tickets.put_nowait,
        )
        transport, connection = await asyncio.get_running_loop().create_datagram_endpoint(
            lambda: Connection(quic, primes=primes, local=local, remote=remote), sock=made
        )
        try:
            yield connection
        finally:
            versions.close(connection, ErrorCode.H3_NO_ERROR)
            transport.close()

    def _address(self) -> tuple[str, int]:
        return (self._job.address, self._job.port)


def _socket_towards(address: tuple[str, int]) -> socket.socket:
    """A UDP socket on the address that the kernel would send from."""
    family = socket.AF_INET6 if ipaddress.ip_address(address[0]).version == 6 else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect(address)  # sends nothing
        host = probe.getsockname()[0]
    made = socket.socket(family, socket.SOCK_DGRAM)
    made.setblocking(False)
    made.bind((host, 0))
    return made
