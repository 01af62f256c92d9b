"""A client's job over connections of any library: priming, phases, the time limit and the `object` lines.

An adapter hands `run_job` a function that makes connections; everything else that the contract demands of a client
is here, once. Its counterpart in Rust is adapters/lib/rust/src/load.rs.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from longlook_adapter.clock import now_ns
from longlook_adapter.errors import ReportedError
from longlook_adapter.job import COLD, EARLY, PRIME, Job
from longlook_adapter.lines import emit

_T = TypeVar("_T")
TicketT = TypeVar("TicketT")
_TicketT_co = TypeVar("_TicketT_co", covariant=True)


class FetchError(Exception):
    """The reason why an object did not arrive."""


@dataclass
class Answer:
    """The answer to one request, as far as it has come. `ended` fails with a FetchError where the body does not end."""

    path: str
    ended: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    status: int | None = None
    t_first_byte_ns: int | None = None
    t_end_ns: int | None = None
    body_bytes: int = 0
    sha256: Any = field(default_factory=hashlib.sha256)

    def begin(self, status: int) -> None:
        """Note the headers, which are arriving now; later ones (trailers) do not count."""
        if self.status is None:
            self.status, self.t_first_byte_ns = status, now_ns()

    def add(self, data: bytes) -> None:
        """Add a piece of the body."""
        self.sha256.update(data)
        self.body_bytes += len(data)

    def end(self) -> None:
        """Note the end of the body, which is now."""
        self.t_end_ns = now_ns()
        if not self.ended.done():
            self.ended.set_result(None)

    def fail(self, error: FetchError) -> None:
        """Let whoever waits for the answer fail."""
        fail(self.ended, error)


class Connection(Protocol[_TicketT_co]):
    """One connection to the server, over a socket of its own.

    Everything that waits for it fails with a FetchError when it breaks. It prints its own `connection` line.
    """

    @property
    def local(self) -> str:
        """`ip:port` of its socket."""

    def begin(self, *, early: bool) -> None:
        """Open it. With `early` nothing is sent before the first requests, which then go with the first packet."""

    async def secured(self) -> None:
        """Wait until its handshake is complete."""

    def ask(self, paths: tuple[str, ...]) -> list[Answer]:
        """Request all paths at once, and send what may be sent."""

    async def ticket(self) -> _TicketT_co:
        """Wait for the next session ticket, and return it."""

    def close(self) -> None:
        """Close it properly, so that the server is informed."""


class Connect(Protocol[TicketT]):
    """Make a connection that resumes from `ticket` (None: cold); it is opened by `begin`."""

    async def __call__(self, ticket: TicketT | None, *, primes: bool) -> Connection[TicketT]:
        """Return the connection; `primes` is for its `connection` line. OSError where there is no socket for it."""


async def run_job(job: Job, connect: Connect[TicketT]) -> None:
    """Do a job; ReportedError where something did not arrive, which the lines have reported."""
    if not await _Run(job, connect).all_connections():
        raise ReportedError


def fail(future: asyncio.Future[None], error: FetchError) -> None:
    """Let a future fail that may be done already; it does not matter whether anybody waits for it."""
    if not future.done():
        future.set_exception(error)
        future.exception()  # marks the exception as seen: without it asyncio complains about futures nobody awaited


class _Run(Generic[TicketT]):
    """One job under way. Its time limit holds for everything together."""

    def __init__(self, job: Job, connect: Connect[TicketT]) -> None:
        self._job, self._connect = job, connect
        self._deadline_s = asyncio.get_running_loop().time() + job.timeout_s

    async def all_connections(self) -> bool:
        """Fetch everything over every connection; return whether all of it arrived."""
        job, ticket = self._job, None
        if job.connection != COLD:
            try:
                ticket = await self._in_time(self._prime())
            except (FetchError, OSError) as error:
                for _ in range(job.connections):
                    self._report_unrequested(job.phases, None, FetchError(f"priming connection: {error}"))
                return False
        return all(await asyncio.gather(*(self._fetch_all(ticket) for _ in range(job.connections))))

    async def _prime(self) -> TicketT:
        """Obtain a session ticket on a connection of its own."""
        async with self._connection(None, primes=True) as connection:
            connection.begin(early=False)
            await connection.secured()
            (answer,) = connection.ask((PRIME,))
            await answer.ended
            if answer.status != 200:
                raise FetchError(f"HTTP status {answer.status}")
            return await connection.ticket()

    async def _fetch_all(self, ticket: TicketT | None) -> bool:
        """Fetch all phases over one connection; return whether everything arrived."""
        early, start_ns, complete = self._job.connection == EARLY, now_ns(), True
        local: str | None = None
        remaining = list(self._job.phases)
        try:
            async with self._connection(ticket, primes=False) as connection:
                local = connection.local
                connection.begin(early=early)
                if not early:
                    await self._in_time(connection.secured())
                while remaining:
                    answers = connection.ask(remaining.pop(0))
                    reports = (self._report_when_ended(answer, local, start_ns) for answer in answers)
                    complete &= all(await asyncio.gather(*reports))
                    start_ns = now_ns()
        except (FetchError, OSError) as error:
            self._report_unrequested(tuple(remaining), local, error)
            return False
        return complete

    async def _report_when_ended(self, answer: Answer, local: str, start_ns: int) -> bool:
        error: str | None = None
        try:
            await self._in_time(answer.ended)
        except FetchError as failure:
            error = str(failure)
        if error is None and answer.status != 200:
            error = f"HTTP status {answer.status}"
        emit(
            "object",
            url=self._job.site + answer.path,
            path=answer.path,
            local=local,
            protocol=None if answer.status is None else self._job.protocol,
            status=answer.status,
            t_start_ns=start_ns,
            t_first_byte_ns=answer.t_first_byte_ns,
            t_end_ns=answer.t_end_ns,
            bytes=answer.body_bytes,
            digest=None if answer.t_end_ns is None else f"sha256:{answer.sha256.hexdigest()}",
            error=error,
            **self._job.reported_priority(answer.path),
        )
        return error is None

    def _report_unrequested(self, phases: tuple[tuple[str, ...], ...], local: str | None, error: Exception) -> None:
        """Print a failed `object` line for every path that was never requested."""
        start_ns = now_ns()
        nothing = dict.fromkeys(("protocol", "status", "t_first_byte_ns", "t_end_ns", "digest"))
        for path in (path for paths in phases for path in paths):
            url = self._job.site + path
            emit("object", url=url, path=path, local=local, t_start_ns=start_ns, **nothing, bytes=0, error=str(error))

    async def _in_time(self, awaitable: Awaitable[_T]) -> _T:
        """Return its result; FetchError when the job's time is over."""
        try:
            async with asyncio.timeout_at(self._deadline_s):
                return await awaitable
        except TimeoutError as error:
            raise FetchError(f"not done within {self._job.timeout_s:g} s") from error

    @asynccontextmanager
    async def _connection(self, ticket: TicketT | None, *, primes: bool) -> AsyncIterator[Connection[TicketT]]:
        """Make a connection and close it at the end, whatever happens between."""
        connection = await self._connect(ticket, primes=primes)
        try:
            yield connection
        finally:
            connection.close()
