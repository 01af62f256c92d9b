"""The client: one connection of picoquic for each that longlook_adapter.fetching wants."""

import asyncio
import tempfile
from pathlib import Path

from longlook_adapter.addresses import source_address
from longlook_adapter.clock import now_ns
from longlook_adapter.fetching import Answer, FetchError, fail, run_job
from longlook_adapter.job import EARLY, Job
from longlook_adapter.lines import emit, endpoint

from picoquic_adapter import http3
from picoquic_adapter.engine import Engine, Files, now_us, sockaddr
from picoquic_adapter.library import Event, error_name, picoquic
from picoquic_adapter.settings import Choices, choices

_TICKET_FILE = "tickets"


async def run(job: Job) -> None:
    """Do a job; ReportedError where something did not arrive, which the lines have reported."""
    wanted = choices(job.knobs, server=False)
    Path(job.ca).read_bytes()  # picoquic would go on without it
    with tempfile.TemporaryDirectory() as folder:

        async def connect(ticket: bytes | None, *, primes: bool) -> ClientConnection:
            return ClientConnection(job, wanted, Path(folder), ticket, primes=primes)

        await run_job(job, connect)


class ClientConnection:
    """One connection to the server, as longlook_adapter.fetching wants it; a ticket is what picoquic's file has."""

    def __init__(self, job: Job, wanted: Choices, folder: Path, ticket: bytes | None, *, primes: bool) -> None:
        self._job, self._primes, self._remote = job, primes, (job.address, job.port)
        self._file = Path(tempfile.mkdtemp(dir=folder), _TICKET_FILE)
        if ticket is not None:
            self._file.write_bytes(ticket)
        self._loop = asyncio.get_running_loop()
        self._handshake: asyncio.Future[None] = self._loop.create_future()
        self._ticket: asyncio.Future[bytes] | None = None
        self._early = job.connection == EARLY and ticket is not None
        self._is_early = False
        self._t_start_ns = 0
        self._waiting: list[Answer] = []  # for the handshake
        self._answers: dict[int, tuple[Answer, http3.Reader]] = {}
        self._broken: FetchError | None = None
        own_address = source_address(self._remote), 0
        self._engine = Engine(own_address, wanted, self._on_event, Files(ca=job.ca, tickets=str(self._file)))
        self.local = endpoint(self._engine.address)
        self._connection: int = picoquic.picoquic_create_client_cnx(
            *(self._engine.context, sockaddr(self._remote), now_us(), 1, job.host.encode(), b"h3"),
            *(self._engine.callback, None),
        )
        wanted.begin(self._connection)

    def begin(self, *, early: bool) -> None:
        """Open it; with `early` the first requests go with the first packet."""
        self._t_start_ns = now_ns()
        picoquic.picoquic_start_client_cnx(self._connection)
        self._is_early = early and bool(picoquic.picoquic_is_0rtt_available(self._connection))
        if self._is_early:
            self._begin_http()
        else:
            self._engine.flush()

    async def secured(self) -> None:
        """Wait until the handshake is complete."""
        await asyncio.shield(self._handshake)

    async def ticket(self) -> bytes:
        """Wait for a session ticket."""
        self._ticket = self._loop.create_future()
        self._look_for_ticket()
        return await self._ticket

    def ask(self, paths: tuple[str, ...]) -> list[Answer]:
        """Request all paths at once; picoquic sends as many as there may be streams."""
        answers = [Answer(path) for path in paths]
        if self._broken is not None:
            for answer in answers:
                answer.fail(self._broken)
            return answers
        self._waiting += answers
        if self._is_early or self._handshake.done():
            self._send_requests()
        self._engine.flush()
        return answers

    def close(self) -> None:
        """Close it properly, so that the server is informed."""
        if self._broken is None:
            self._broken = FetchError("the connection is closed")
            picoquic.picoquic_close(self._connection, http3.NO_ERROR)
        self._engine.close()

    def _begin_http(self) -> None:
        stream = picoquic.picoquic_get_next_local_stream_id(self._connection, 1)
        settings = http3.control_stream()
        picoquic.picoquic_add_to_stream(self._connection, stream, settings, len(settings), 0)

    def _send_requests(self) -> None:
        for answer in self._waiting:
            fields = {
                b":method": b"GET",
                b":scheme": b"https",
                b":authority": self._job.authority.encode(),
                b":path": answer.path.encode(),
            }
            if (priority := self._job.priorities.get(answer.path)) is not None:
                fields[b"priority"] = priority.encode()
            stream = picoquic.picoquic_get_next_local_stream_id(self._connection, 0)
            request = http3.headers(fields)
            self._answers[stream] = answer, http3.Reader()
            picoquic.picoquic_add_to_stream(self._connection, stream, request, len(request), 1)
        self._waiting.clear()

    def _on_event(self, _connection: int, stream: int, data: bytes, event: int, _at: int, _length: int) -> None:
        match event:
            case Event.STREAM_DATA | Event.STREAM_FIN:
                self._take(stream, data, is_last=event == Event.STREAM_FIN)
            case Event.STREAM_RESET:
                if (found := self._answers.pop(stream, None)) is not None:
                    found[0].fail(FetchError("the server reset the stream"))
            case Event.ALMOST_READY:
                self._on_handshake()
            case Event.STATELESS_RESET | Event.CLOSE | Event.APPLICATION_CLOSE:
                self._on_end()
        if self._ticket is not None:
            self._look_for_ticket()

    def _take(self, stream: int, data: bytes, *, is_last: bool) -> None:
        if stream not in self._answers:
            return  # of the server's own streams nothing is needed
        answer, reader = self._answers[stream]
        try:
            for part in reader.feed(data):
                if isinstance(part, http3.Head):
                    answer.begin(part.status)
                else:
                    answer.add(part)
        except http3.FrameError as error:
            del self._answers[stream]
            answer.fail(FetchError(str(error)))
            return
        if is_last:
            del self._answers[stream]
            answer.end()

    def _on_handshake(self) -> None:
        emit(
            "connection",
            protocol="h3",
            local=self.local,
            remote=endpoint(self._remote),
            primes=self._primes,
            resumed=bool(picoquic.picoquic_tls_is_psk_handshake(self._connection)),
            used_0rtt=self._is_early,
            t_start_ns=self._t_start_ns,
            t_handshake_ns=now_ns(),
            gso=False,
        )
        if not self._is_early:
            self._begin_http()
        if not self._handshake.done():
            self._handshake.set_result(None)

    def _look_for_ticket(self) -> None:
        """Hand out the ticket if one has come: picoquic tells nobody."""
        if self._ticket is None or self._ticket.done():
            return
        picoquic.picoquic_save_session_tickets(self._engine.context, str(self._file).encode())
        if self._file.is_file() and (ticket := self._file.read_bytes()):
            self._ticket.set_result(ticket)

    def _on_end(self) -> None:
        if self._broken is not None:
            return
        local = picoquic.picoquic_get_local_error(self._connection)
        remote = picoquic.picoquic_get_remote_error(self._connection)
        reason = error_name(local) if local else f"the server closed it: {error_name(remote)}"
        self._broken = FetchError(f"the connection ended: {reason}")
        fail(self._handshake, self._broken)
        for answer in (*(each for each, _ in self._answers.values()), *self._waiting):
            answer.fail(self._broken)
        if self._ticket is not None and not self._ticket.done():
            self._ticket.set_exception(self._broken)
