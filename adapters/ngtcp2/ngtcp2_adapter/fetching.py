"""One connection of a client, and the answers that come over it."""

import asyncio
import ctypes as c
import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from longlook_adapter.clock import now_ns
from longlook_adapter.lines import emit, endpoint

from ngtcp2_adapter.abi import I64, Parameters
from ngtcp2_adapter.connection import CID_BYTES, CRYPTO, DRAINING, Connection, cid_of, strerror
from ngtcp2_adapter.libraries import http, quic
from ngtcp2_adapter.security import ClientSession, Credentials
from ngtcp2_adapter.server import header_fields
from ngtcp2_adapter.settings import Choices
from ngtcp2_adapter.sockets import drain, socket_towards
from ngtcp2_adapter.trace import trace_wanted

_QUIC_V1 = 1


class FetchError(Exception):
    """Why an object did not arrive."""


@dataclass(frozen=True)
class Ticket:
    """What it takes to resume: GnuTLS's session and what the server allowed."""

    session: bytes
    parameters: Any


@dataclass
class Answer:
    """What has come of one object."""

    path: str
    ended: asyncio.Future[None]
    status: int | None = None
    t_first_byte_ns: int | None = None
    t_end_ns: int | None = None
    bytes: int = 0
    sha256: Any = field(default_factory=hashlib.sha256)


@dataclass(frozen=True)
class Target:
    """Whom to ask, and how."""

    address: tuple[str, int]
    host: str
    authority: str
    credentials: Credentials
    wanted: Choices


class Fetching(Connection):
    """One connection to the server. Everything that waits on it fails with a FetchError when it breaks."""

    def __init__(
        self, target: Target, ticket: Ticket | None, keep: Callable[[Ticket], None], *, early: bool, primes: bool
    ) -> None:
        self._own_socket = socket_towards(target.address)
        dcid, scid = os.urandom(CID_BYTES), os.urandom(CID_BYTES)
        trace = trace_wanted(dcid, "client")
        super().__init__(self._own_socket, self._own_socket.getsockname(), target.address, trace)
        self.local = endpoint(self._own_socket.getsockname())
        self._target, self._primes, self._keep = target, primes, keep
        self._early = early and ticket is not None
        self._waiting: list[Answer] = []  # for a stream
        self._answers: dict[int, Answer] = {}
        self.handshake: asyncio.Future[None] = self._loop.create_future()
        self._broken: FetchError | None = None
        session = ticket.session if ticket else None
        self.session: ClientSession = ClientSession(
            target.credentials, self.reference, target.host, session, self._ticket_arrived, early=self._early
        )
        settings, parameters = target.wanted.make(server=False)
        settings.qlog.odcid = cid_of(dcid)
        self._new("client", cid_of(dcid), cid_of(scid), _QUIC_V1, settings, parameters)
        if self._early and ticket is not None:
            quic.ngtcp2_conn_set_early_remote_transport_params_versioned(self._conn, 1, c.byref(ticket.parameters))
            self._setup_http("client")

    def begin(self, t_start_ns: int) -> None:
        """Open it. Requests that are to go early have been asked for."""
        self._t_start_ns = t_start_ns
        self._loop.add_reader(self._own_socket, self._packets)
        self.write()

    def ask(self, paths: tuple[str, ...]) -> list[Answer]:
        """Request all of them at once; `write` sends it."""
        answers = [Answer(path, self._loop.create_future()) for path in paths]
        if self._broken is not None:
            for answer in answers:
                _fail(answer.ended, self._broken)
        else:
            self._waiting += answers
            self._send_requests()
        return answers

    def _send_requests(self) -> None:
        """As many as there may be streams."""
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
            fields = header_fields(headers)
            http.nghttp3_conn_submit_request(self._http, stream.value, fields, len(fields), None, None)
            self._answers[stream.value] = answer

    def on_handshake_completed(self) -> None:
        """Say so."""
        emit(
            "connection",
            protocol="h3",
            local=self.local,
            remote=endpoint(self._target.address),
            primes=self._primes,
            resumed=self.session.resumed,
            used_0rtt=self._early and not quic.ngtcp2_conn_get_early_data_rejected(self._conn),
            t_start_ns=self._t_start_ns,
            t_handshake_ns=now_ns(),
            gso=False,
        )
        if not self.handshake.done():
            self.handshake.set_result(None)

    def on_early_data_rejected(self) -> None:
        """Ask again when the handshake is done."""
        self._waiting = [*self._answers.values(), *self._waiting]
        self._answers.clear()

    def on_more_streams(self) -> None:
        """Requests may be waiting."""
        self._send_requests()

    def on_header(self, stream_id: int, name: bytes, value: bytes) -> None:
        """A field of an answer."""
        if name == b":status" and stream_id in self._answers:
            self._answers[stream_id].status = int(value)

    def on_headers_end(self, stream_id: int) -> None:
        """The answer has begun."""
        answer = self._answers.get(stream_id)
        if answer is not None and answer.t_first_byte_ns is None:
            answer.t_first_byte_ns = now_ns()

    def on_body(self, stream_id: int, data: bytes) -> None:
        """A piece of an object."""
        if (answer := self._answers.get(stream_id)) is not None:
            answer.sha256.update(data)
            answer.bytes += len(data)

    def on_message_end(self, stream_id: int) -> None:
        """An object is complete."""
        answer = self._answers.pop(stream_id, None)
        if answer is not None:
            answer.t_end_ns = now_ns()
            if not answer.ended.done():
                answer.ended.set_result(None)

    def on_stream_closed(self, stream_id: int, error_code: int) -> None:
        """Without its message being complete, that is a failure."""
        if (answer := self._answers.pop(stream_id, None)) is not None:
            _fail(answer.ended, FetchError(f"the server ended the stream (error {error_code:#x})"))

    def on_ended(self, code: int) -> None:
        """Nothing that is missing will come."""
        reason = "the server closed it" if code == DRAINING else strerror(code)
        if code == CRYPTO and (complaint := self.session.complaint()) is not None:
            reason = f"certificate: {complaint}"
        self._broken = FetchError(f"the connection ended: {reason}")
        for future in (self.handshake, *(each.ended for each in (*self._answers.values(), *self._waiting))):
            _fail(future, self._broken)

    def free(self) -> None:
        """Give everything back, the socket too."""
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
        remote = quic.ngtcp2_conn_get_remote_transport_params(self._conn)
        parameters = Parameters.from_buffer_copy(c.string_at(remote, c.sizeof(Parameters)))
        parameters.version_info_present = 0  # it points to memory of this connection
        parameters.version_info.other_versions, parameters.version_info.other_versionslen = None, 0
        self._keep(Ticket(session, parameters))


def _fail(future: asyncio.Future[None], error: FetchError) -> None:
    if not future.done():
        future.set_exception(error)
        future.exception()  # whether anybody waits for it or not
