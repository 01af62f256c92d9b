"""The client: connections for the job that longlook_adapter.fetching runs.

`run_job` does what the contract demands of every client: phases, several connections, the time limit, `object` lines
with digests. A connection of an adapter's own opens itself, sends requests and notes what arrives.
"""

import asyncio
import socket
import ssl
from collections import deque
from typing import NoReturn

from longlook_adapter.addresses import family_of, source_address
from longlook_adapter.clock import now_ns
from longlook_adapter.errors import UnsupportedError
from longlook_adapter.fetching import Answer, FetchError, fail, run_job
from longlook_adapter.job import COLD, Job
from longlook_adapter.knobs import parse_knobs
from longlook_adapter.lines import emit, endpoint

from example_adapter import ALPN, PROTOCOL, congestion_control, restrict

_CHUNK_BYTES = 64 << 10


async def run(job: Job) -> None:
    """Do a job; ReportedError where something did not arrive, which the lines have reported (exit code 1)."""
    if job.connection != COLD:  # as the stack's file declares: what is not declared must be refused (exit code 127)
        raise UnsupportedError(f"connection {job.connection!r}: this client opens cold connections only")
    parse_knobs(job.knobs, {}, "example")
    trust = restrict(ssl.create_default_context(cafile=job.ca))  # verifies the certificate for `job.host`

    async def connect(ticket: None, *, primes: bool) -> _Connection:
        return _Connection(job, trust, primes=primes)

    await run_job(job, connect)


class _Connection:
    """One connection, over a socket of its own. Requests are pipelined: answers come in the requests' order."""

    def __init__(self, job: Job, trust: ssl.SSLContext, *, primes: bool) -> None:
        self._job, self._trust, self._primes = job, trust, primes
        self._remote = (job.address, job.port)
        self._socket = socket.socket(family_of(job.address), socket.SOCK_STREAM)
        self._socket.setblocking(False)
        self._socket.bind((source_address(self._remote), 0))  # before it is opened: failed objects report it too
        self.local = endpoint(self._socket.getsockname())
        self._t_start_ns = 0
        self._handshake: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting: deque[Answer] = deque()
        self._broken: FetchError | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._task: asyncio.Task[None] | None = None

    def begin(self, *, early: bool) -> None:
        """Open the connection. There is no early data over TCP, so `early` is never asked for."""
        self._t_start_ns = now_ns()
        self._task = asyncio.create_task(self._run())

    async def secured(self) -> None:
        """Wait until the handshake is complete; FetchError where it fails."""
        await asyncio.shield(self._handshake)

    async def ticket(self) -> NoReturn:
        """Refuse: this client resumes nothing, so it needs no session ticket."""
        raise FetchError("no session tickets are kept")

    def ask(self, paths: tuple[str, ...]) -> list[Answer]:
        """Request all paths at once, as the contract demands of a phase."""
        answers = [Answer(path) for path in paths]
        self._waiting.extend(answers)
        if self._broken is not None or self._writer is None:
            self._fail(self._broken or FetchError("the connection is not open"))
        else:
            head = f"HTTP/1.1\r\nHost: {self._job.authority}\r\n\r\n"
            self._writer.write("".join(f"GET {path} {head}" for path in paths).encode())
        return answers

    def close(self) -> None:
        """Close the connection properly: TLS's close_notify, then TCP's FIN."""
        if self._writer is not None:
            self._writer.close()
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        """Open the connection and read answers; everything that waits fails when it breaks."""
        try:
            await asyncio.get_running_loop().sock_connect(self._socket, self._remote)
            reader, self._writer = await asyncio.open_connection(
                sock=self._socket, ssl=self._trust, server_hostname=self._job.host
            )
            self._report(self._writer)
            while True:
                await self._read_answer(reader)
        except asyncio.IncompleteReadError:
            self._fail(FetchError("the server closed the connection"))
        except (OSError, ValueError, LookupError, asyncio.LimitOverrunError) as error:
            self._fail(FetchError(f"the connection broke: {error}"))

    def _report(self, writer: asyncio.StreamWriter) -> None:
        """Print the `connection` line: the handshake is complete now, and requests are possible."""
        tls = writer.get_extra_info("ssl_object")
        if tls.selected_alpn_protocol() != ALPN:
            raise ValueError("the server does not speak HTTP/1.1")
        emit(
            "connection",
            protocol=PROTOCOL,
            local=self.local,
            remote=endpoint(self._remote),
            primes=self._primes,
            resumed=bool(tls.session_reused),
            used_0rtt=False,
            t_start_ns=self._t_start_ns,
            t_handshake_ns=now_ns(),
            congestion_control=congestion_control(self._socket),
        )
        self._handshake.set_result(None)

    async def _read_answer(self, reader: asyncio.StreamReader) -> None:
        """Read one answer: its status and time with the headers, its bytes as they arrive, its end with the last."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower().split("\r\n")
        answer = self._waiting[0]
        answer.begin(int(head[0].split(" ")[1]))
        fields = dict(line.split(": ", 1) for line in head[1:] if line)
        remaining = int(fields["content-length"])
        while remaining > 0:
            chunk = await reader.read(min(remaining, _CHUNK_BYTES))
            if not chunk:
                raise asyncio.IncompleteReadError(b"", remaining)
            answer.add(chunk)
            remaining -= len(chunk)
        self._waiting.popleft().end()

    def _fail(self, error: FetchError) -> None:
        self._broken = error
        fail(self._handshake, error)
        while self._waiting:
            self._waiting.popleft().fail(error)
