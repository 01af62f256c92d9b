"""One connection of a client, and the answers that come over it."""

import asyncio
from typing import Any

from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.h3.connection import ErrorCode, H3Connection
from aioquic.h3.events import DataReceived, H3Event, HeadersReceived
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import HandshakeCompleted, QuicEvent, StreamReset
from aioquic.tls import SessionTicket
from longlook_adapter.clock import now_ns
from longlook_adapter.fetching import Answer, FetchError, fail
from longlook_adapter.job import Job
from longlook_adapter.lines import emit, endpoint

from aioquic_adapter import versions


class Connection(QuicConnectionProtocol):  # type: ignore[misc]  # the linter does not see aioquic
    """One connection to the server, as longlook_adapter.fetching wants it."""

    def __init__(
        self,
        quic: QuicConnection,
        job: Job,
        tickets: asyncio.Queue[SessionTicket],
        remote: tuple[str, int] | tuple[str, int, int, int],
        local: str,
        *,
        primes: bool,
    ) -> None:
        super().__init__(quic)
        self.local = local
        self._job, self._tickets, self._remote, self._primes = job, tickets, remote, primes
        self._t_start_ns = 0
        self._http: H3Connection | None = None
        self._answers: dict[int, Answer] = {}
        self._handshake: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def begin(self, *, early: bool) -> None:
        """Open it; with `early` the first requests go with the first packet."""
        self._t_start_ns = now_ns()
        self._quic.connect(self._remote, now=self._loop.time())  # as `connect` does, but it does not send at once
        self._http = H3Connection(self._quic)  # not before: streams are counted by what the ticket allows
        if not early:
            self.transmit()

    async def secured(self) -> None:
        """Wait until the handshake is complete."""
        await asyncio.shield(self._handshake)

    async def ticket(self) -> SessionTicket:
        """Wait for the next session ticket."""
        return await self._tickets.get()

    def ask(self, paths: tuple[str, ...]) -> list[Answer]:
        """Request all paths at once."""
        answers = [Answer(path) for path in paths]
        for answer in answers:
            if (broken := self._broken()) is not None:
                answer.fail(broken)
            else:
                self._send_request(answer)
        self.transmit()
        return answers

    def close(self) -> None:
        """Close the connection properly, and its socket."""
        versions.close(self, ErrorCode.H3_NO_ERROR)
        self._transport.close()

    def _send_request(self, answer: Answer) -> None:
        if self._http is None:
            raise RuntimeError("the connection was not begun")
        stream_id = self._quic.get_next_available_stream_id()
        headers = [
            (b":method", b"GET"),
            (b":scheme", b"https"),
            (b":authority", self._job.authority.encode()),
            (b":path", answer.path.encode()),
        ]
        if (priority := self._job.priorities.get(answer.path)) is not None:
            headers.append((b"priority", priority.encode()))
        self._http.send_headers(stream_id, headers, end_stream=True)
        self._answers[stream_id] = answer

    def datagram_received(self, data: bytes | str, addr: Any) -> None:
        """Do as aioquic does, and fail at once when the server has closed, not after aioquic's draining."""
        super().datagram_received(data, addr)
        self._fail_if_broken()

    def quic_event_received(self, event: QuicEvent) -> None:
        """Take an event from aioquic."""
        if isinstance(event, HandshakeCompleted):
            emit(
                "connection",
                protocol="h3",
                local=self.local,
                remote=endpoint(self._remote),
                primes=self._primes,
                resumed=event.session_resumed,
                used_0rtt=event.early_data_accepted,
                t_start_ns=self._t_start_ns,
                t_handshake_ns=now_ns(),
                gso=False,
            )
            if not self._handshake.done():
                self._handshake.set_result(None)
        elif isinstance(event, StreamReset) and (answer := self._answers.pop(event.stream_id, None)) is not None:
            answer.fail(FetchError(f"the server reset the stream (error {event.error_code})"))
        if self._http is not None:
            for each in self._http.handle_event(event):
                self._http_event_received(each)
        self._fail_if_broken()

    def _http_event_received(self, event: H3Event) -> None:
        if not isinstance(event, HeadersReceived | DataReceived):
            return
        answer = self._answers.get(event.stream_id)
        if answer is None:
            return
        if isinstance(event, DataReceived):
            answer.add(event.data)
        else:
            answer.begin(int(dict(event.headers).get(b":status", b"0")))
        if event.stream_ended:
            del self._answers[event.stream_id]
            answer.end()

    def _broken(self) -> FetchError | None:
        closed = self._quic._close_event
        if closed is None:
            return None
        return FetchError(
            f"the connection was closed: {closed.reason_phrase or 'no reason given'} ({closed.error_code:#x})"
        )

    def _fail_if_broken(self) -> None:
        if (broken := self._broken()) is None:
            return
        fail(self._handshake, broken)
        for answer in self._answers.values():
            answer.fail(broken)
        self._answers.clear()
