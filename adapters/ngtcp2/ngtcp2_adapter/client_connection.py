"""One connection of a client, and the answers that come over it."""

import asyncio
import ctypes as c
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from longlook_adapter.addresses import source_address
from longlook_adapter.clock import now_ns
from longlook_adapter.fetching import Answer, FetchError, fail
from longlook_adapter.lines import emit, endpoint

from ngtcp2_adapter.abi import I64
from ngtcp2_adapter.connection import CID_BYTES, Connection, cid_of, strerror
from ngtcp2_adapter.libraries import http, interface, quic
from ngtcp2_adapter.security import ClientSession, Credentials
from ngtcp2_adapter.server import header_fields
from ngtcp2_adapter.settings import Choices
from ngtcp2_adapter.sockets import drain, udp_socket
from ngtcp2_adapter.trace import trace_wanted

_QUIC_V1 = 1


@dataclass(frozen=True)
class Ticket:
    """A session of GnuTLS and what `Interface.remember` returned with it."""

    session: bytes
    parameters: Any


@dataclass(frozen=True)
class Target:
    """The server, and how to reach it."""

    address: tuple[str, int]
    host: str
    authority: str
    priorities: Mapping[str, str]
    credentials: Credentials
    wanted: Choices


class ClientConnection(Connection):
    """One connection to the server, as longlook_adapter.fetching wants it."""

    def __init__(self, target: Target, ticket: Ticket | None, *, early: bool, primes: bool) -> None:
        self._own_socket = udp_socket(source_address(target.address), 0)
        dcid, scid = os.urandom(CID_BYTES), os.urandom(CID_BYTES)
        trace = trace_wanted(dcid, "client")
        super().__init__(self._own_socket, self._own_socket.getsockname(), target.address, trace)
        self.local = endpoint(self._own_socket.getsockname())
        self._target, self._primes = target, primes
        self._early = early and ticket is not None
        self._t_start_ns = 0
        self._tickets: asyncio.Queue[Ticket] = asyncio.Queue()
        self._waiting: list[Answer] = []  # for a stream
        self._answers: dict[int, Answer] = {}
        self._handshake: asyncio.Future[None] = self._loop.create_future()
        self._broken: FetchError | None = None
        session = ticket.session if ticket else None
        self.session: ClientSession = ClientSession(
            target.credentials, self.reference, target.host, session, self._ticket_arrived, early=self._early
        )
        settings, parameters = target.wanted.make(server=False)
        interface.name_origin(settings, parameters, cid_of(dcid), server=False)
        self._new("client", cid_of(dcid), cid_of(scid), _QUIC_V1, settings, parameters)
        if self._early and ticket is not None:
            interface.recall(self._conn, ticket.parameters)
            self._setup_http("client")

    def begin(self, *, early: bool) -> None:
        """Open it; with `early` the first requests go with the first packet."""
        self._t_start_ns = now_ns()
        self._loop.add_reader(self._own_socket, self._packets)
        if not early:
            self.write()

    async def secured(self) -> None:
        """Wait until the handshake is complete."""
        await asyncio.shield(self._handshake)

    async def ticket(self) -> Ticket:
        """Wait for the next session ticket."""
        return await self._tickets.get()

    def ask(self, paths: tuple[str, ...]) -> list[Answer]:
        """Request all paths at once."""
        answers = [Answer(path) for path in paths]
        if self._broken is not None:
            for answer in answers:
                answer.fail(self._broken)
        else:
            self._waiting += answers
            self._send_requests()
            self.write()
        return answers

    def _send_requests(self) -> None:
        """Send as many as there may be streams."""
        stream = I64()
        while self._waiting and self._http and quic.ngtcp2_conn_get_streams_bidi_left(self._conn) > 0:
            if quic.ngtcp2_conn_open_bidi_stream(self._conn, c.byref(stream), None) != 0:
                return
            answer = self._waiting.pop(0)
            headers = {
                b":method": b"GET",
                b":scheme": b"https",
                b":authority": self._target.authority.encode(),
                b":path": answer.path.encode(),
            }
            if (priority := self._target.priorities.get(answer.path)) is not None:
                headers[b"priority"] = priority.encode()
            fields = header_fields(headers)
            http.nghttp3_conn_submit_request(self._http, stream.value, fields, len(fields), None, None)
            self._answers[stream.value] = answer

    def on_handshake_completed(self) -> None:
        """Report the connection."""
        emit(
            "connection",
            protocol="h3",
            local=self.local,
            remote=endpoint(self._target.address),
            primes=self._primes,
            resumed=self.session.resumed,
            used_0rtt=self._early and not interface.refused_early_data(self._conn),
            t_start_ns=self._t_start_ns,
            t_handshake_ns=now_ns(),
            gso=False,
        )
        if not self._handshake.done():
            self._handshake.set_result(None)

    def on_early_data_rejected(self) -> None:
        """Queue the requests again, for when the handshake is complete."""
        self._waiting = [*self._answers.values(), *self._waiting]
        self._answers.clear()

    def on_more_streams(self) -> None:
        """Send requests that wait for a stream."""
        self._send_requests()

    def on_header(self, stream_id: int, name: bytes, value: bytes) -> None:
        """Take a field of an answer; the status is the first."""
        if name == b":status" and stream_id in self._answers:
            self._answers[stream_id].begin(int(value))

    def on_body(self, stream_id: int, data: bytes) -> None:
        """Take a piece of an object."""
        if (answer := self._answers.get(stream_id)) is not None:
            answer.add(data)

    def on_message_end(self, stream_id: int) -> None:
        """Note that an object is complete."""
        if (answer := self._answers.pop(stream_id, None)) is not None:
            answer.end()

    def on_stream_closed(self, stream_id: int, error_code: int) -> None:
        """Let an answer fail whose stream closes before its end."""
        if (answer := self._answers.pop(stream_id, None)) is not None:
            answer.fail(FetchError(f"the server ended the stream (error {error_code:#x})"))

    def on_ended(self, code: int) -> None:
        """Let everything fail that waits: nothing more will arrive."""
        reason = "the server closed it" if code == interface.codes.draining else strerror(code)
        if code == interface.codes.crypto and (problem := self.session.certificate_error()) is not None:
            reason = f"certificate: {problem}"
        self._broken = FetchError(f"the connection ended: {reason}")
        fail(self._handshake, self._broken)
        for answer in (*self._answers.values(), *self._waiting):
            answer.fail(self._broken)

    def free(self) -> None:
        """Free everything, the socket too."""
        super().free()
        self._loop.remove_reader(self._own_socket)
        self._own_socket.close()

    def _packets(self) -> None:
        for data, _ in drain(self._own_socket):
            self.read(data)
            if self.closed:
                return
        self.write()

    def _ticket_arrived(self, session: bytes) -> None:
        self._tickets.put_nowait(Ticket(session, interface.remember(self._conn)))
