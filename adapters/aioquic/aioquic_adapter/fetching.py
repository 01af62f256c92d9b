"""One connection of a client, and the answers that come over it."""

import asyncio
import hashlib
from dataclasses import dataclass, field
from typing import Any

from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.h3.connection import H3Connection
from aioquic.h3.events import DataReceived, H3Event, HeadersReceived
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import HandshakeCompleted, QuicEvent, StreamReset
from longlook_adapter.clock import now_ns
from longlook_adapter.lines import emit


class FetchError(Exception):
    """Why an object did not arrive."""


@dataclass
class Answer:
    """What has come of one object."""

    ended: asyncio.Future[None]
    status: int | None = None
    t_first_byte_ns: int | None = None
    t_end_ns: int | None = None
    bytes: int = 0
    sha256: Any = field(default_factory=hashlib.sha256)


class Connection(QuicConnectionProtocol):  # type: ignore[misc]  # the linter does not see aioquic
    """One connection to the server. Everything that waits on it fails with a FetchError when it breaks."""

    def __init__(self, quic: QuicConnection, *, primes: bool, local: str, remote: str) -> None:
        super().__init__(quic)
        self.local = local
        self._primes, self._remote = primes, remote
        self._t_start_ns = 0
        self._http: H3Connection | None = None
        self._answers: dict[int, Answer] = {}
        self._handshake: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def begin(self, address: tuple[Any, ...], t_start_ns: int, *, early: bool) -> None:
        """Open it. With `early` nothing is sent before the first requests, so that they go with the first packet."""
        self._t_start_ns = t_start_ns
        self._quic.connect(address, now=self._loop.time())  # what `connect` does, but for sending at once
        self._http = H3Connection(self._quic)  # not before: streams are counted by what the ticket allows
        if not early:
            self.transmit()

    async def secured(self) -> None:
        """Wait for the handshake."""
        await asyncio.shield(self._handshake)

    def ask(self, authority: str, paths: tuple[str, ...]) -> list[Answer]:
        """Request all of them at once."""
        answers = []
        for path in paths:
            answer = Answer(asyncio.get_running_loop().create_future())
            if (broken := self._broken()) is not None:
                answer.ended.set_exception(broken)
            else:
                self._send_request(authority, path, answer)
            answers.append(answer)
        self.transmit()
        return answers

    def _send_request(self, authority: str, path: str, answer: Answer) -> None:
        if self._http is None:
            raise RuntimeError("the connection was not begun")
        stream_id = self._quic.get_next_available_stream_id()
        headers = [
            (b":method", b"GET"),
            (b":scheme", b"https"),
            (b":authority", authority.encode()),
            (b":path", path.encode()),
        ]
        self._http.send_headers(stream_id, headers, end_stream=True)
        self._answers[stream_id] = answer

    def datagram_received(self, data: bytes | str, addr: Any) -> None:
        """Beyond aioquic's own: fail at once when the server has closed, not after aioquic's draining."""
        super().datagram_received(data, addr)
        self._fail_if_broken()

    def quic_event_received(self, event: QuicEvent) -> None:
        """What aioquic tells."""
        if isinstance(event, HandshakeCompleted):
            emit(
                "connection",
                protocol="h3",
                local=self.local,
                remote=self._remote,
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
            _fail(answer.ended, FetchError(f"the server reset the stream (error {event.error_code})"))
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
            answer.sha256.update(event.data)
            answer.bytes += len(event.data)
        elif answer.status is None:
            answer.status = int(dict(event.headers).get(b":status", b"0"))
            answer.t_first_byte_ns = now_ns()
        if event.stream_ended:
            answer.t_end_ns = now_ns()
            del self._answers[event.stream_id]
            if not answer.ended.done():
                answer.ended.set_result(None)

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
        _fail(self._handshake, broken)
        for answer in self._answers.values():
            _fail(answer.ended, broken)
        self._answers.clear()


def _fail(future: asyncio.Future[None], error: FetchError) -> None:
    if not future.done():
        future.set_exception(error)
        future.exception()  # whether anybody waits for it or not
