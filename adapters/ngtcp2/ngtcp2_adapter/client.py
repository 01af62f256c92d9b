"""The client: the phases of a job over one connection or several."""

import asyncio
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from longlook_adapter.clock import now_ns
from longlook_adapter.errors import ReportedError
from longlook_adapter.job import COLD, EARLY, Job
from longlook_adapter.lines import emit

from ngtcp2_adapter.fetching import Answer, FetchError, Fetching, Target, Ticket
from ngtcp2_adapter.security import Credentials
from ngtcp2_adapter.settings import choices

PRIME = "/prime"

_T = TypeVar("_T")


async def run(job: Job) -> None:
    """Do a job; ReportedError where something did not arrive, which the lines have said."""
    credentials = Credentials()
    credentials.trust(job.ca)
    target = Target((job.address, job.port), job.host, job.authority, credentials, choices(job.knobs))
    if not await _Run(job, target).all_connections():
        raise ReportedError


class _Run:
    """One job under way. Its time limit holds for everything together."""

    def __init__(self, job: Job, target: Target) -> None:
        self._job, self._target = job, target
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
        return all(await asyncio.gather(*(self._fetch_all(ticket) for _ in range(job.connections))))

    async def _prime(self) -> Ticket:
        """Earn a ticket on a connection of its own."""
        tickets: asyncio.Queue[Ticket] = asyncio.Queue()
        with self._connection(None, tickets, primes=True) as connection:
            connection.begin(now_ns())
            await asyncio.shield(connection.handshake)
            (answer,) = connection.ask((PRIME,))
            connection.write()
            await answer.ended
            if answer.status != 200:
                raise FetchError(f"HTTP status {answer.status}")
            return await tickets.get()

    async def _fetch_all(self, ticket: Ticket | None) -> bool:
        """All phases over one connection."""
        early, start_ns, complete = self._job.connection == EARLY, now_ns(), True
        local: str | None = None
        left = list(self._job.phases)
        try:
            with self._connection(ticket, asyncio.Queue(), primes=False) as connection:
                local = connection.local
                asked = connection.ask(left.pop(0)) if early else None
                connection.begin(now_ns())
                if asked is not None:
                    complete = await self._report(self._job.phases[0], asked, local, start_ns)
                    start_ns = now_ns()
                else:
                    await self._in_time(asyncio.shield(connection.handshake))
                while left:
                    paths = left.pop(0)
                    answers = connection.ask(paths)
                    connection.write()
                    complete &= await self._report(paths, answers, local, start_ns)
                    start_ns = now_ns()
        except (FetchError, OSError) as error:
            self._report_unasked(tuple(left), local, error)
            return False
        return complete

    async def _report(self, paths: tuple[str, ...], answers: list[Answer], local: str, start_ns: int) -> bool:
        each = (
            self._report_when_ended(path, answer, local, start_ns) for path, answer in zip(paths, answers, strict=True)
        )
        return all(await asyncio.gather(*each))

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

    @contextmanager
    def _connection(self, ticket: Ticket | None, tickets: asyncio.Queue[Ticket], *, primes: bool) -> Iterator[Fetching]:
        """A connection with a socket of its own, which tells the server when it is done with."""
        early = self._job.connection == EARLY
        connection = Fetching(self._target, ticket, tickets.put_nowait, early=early, primes=primes)
        try:
            yield connection
        finally:
            connection.close()
