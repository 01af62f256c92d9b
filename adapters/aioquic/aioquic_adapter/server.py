"""The server: files over HTTP/3 until SIGTERM."""

import asyncio
import signal
from typing import Any

import aioquic
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.asyncio.server import QuicServer
from aioquic.h3.connection import ErrorCode, H3Connection
from aioquic.h3.events import H3Event, HeadersReceived
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import ConnectionTerminated, HandshakeCompleted, ProtocolNegotiated, QuicEvent
from aioquic.tls import SessionTicket
from longlook_adapter.clock import now_ns
from longlook_adapter.files import Files, response_headers
from longlook_adapter.lines import emit, endpoint
from longlook_adapter.options import Options

from aioquic_adapter import versions
from aioquic_adapter.files import File
from aioquic_adapter.settings import configuration, streams_allowed
from aioquic_adapter.trace import traces_wanted

CHUNK_BYTES = 64 << 10
AHEAD_BYTES = 256 << 10
"""Bytes of a file that aioquic is given beyond those it has sent: it keeps all it is given in memory."""


async def run(options: Options) -> None:
    """Serve until SIGTERM or SIGINT."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    files = Files(options.www, File.open)
    traces = traces_wanted()
    settings = configuration(options.knobs, traces, is_client=False)
    settings.load_cert_chain(options.certificate, options.key)
    service = _Service(files, streams_allowed(options.knobs))
    transport, quic_server = await loop.create_datagram_endpoint(
        lambda: QuicServer(
            configuration=settings,
            create_protocol=service.accept,
            session_ticket_fetcher=service.tickets.get,
            session_ticket_handler=service.keep,
        ),
        local_addr=(options.address, options.port),
    )
    address = transport.get_extra_info("sockname")
    service.address = endpoint(address)
    emit("ready", role="server", protocol="h3", address=address[0], port=address[1], version=aioquic.__version__)
    await stopped.wait()
    service.close()
    quic_server.close()
    if traces is not None:
        traces.finish()


class _Service:
    """The part that all connections share."""

    def __init__(self, files: Files[File], streams: int | None) -> None:
        self.files = files
        self._streams = streams
        self.address = ""
        self.tickets: dict[bytes, SessionTicket] = {}
        self._connections: dict[_Connection, None] = {}  # a set would be in the order of addresses in memory

    def accept(self, quic: QuicConnection, stream_handler: Any = None) -> "_Connection":
        if self._streams is not None:
            versions.allow_streams(quic, self._streams)
        connection = _Connection(quic, self)
        self._connections[connection] = None
        return connection

    def forget(self, connection: "_Connection") -> None:
        self._connections.pop(connection, None)

    def keep(self, ticket: SessionTicket) -> None:
        """Keep a ticket for good: several connections may resume from it."""
        self.tickets[ticket.ticket] = ticket

    def close(self) -> None:
        for connection in list(self._connections):
            versions.close(connection, ErrorCode.H3_NO_ERROR)


class _Connection(QuicConnectionProtocol):  # type: ignore[misc]  # the linter does not see aioquic
    """One accepted connection. `_answers` are files that aioquic does not have to their end yet, by stream."""

    def __init__(self, quic: QuicConnection, service: _Service) -> None:
        super().__init__(quic)
        self._service = service
        self._http: H3Connection | None = None
        self._answers: dict[int, File] = {}

    def quic_event_received(self, event: QuicEvent) -> None:
        """Take an event from aioquic."""
        if isinstance(event, ProtocolNegotiated):
            self._http = H3Connection(self._quic)
        elif isinstance(event, HandshakeCompleted):
            emit(
                "connection",
                protocol="h3",
                local=self._service.address,
                remote=endpoint(versions.peer_address(self._quic)),
                resumed=event.session_resumed,
                used_0rtt=event.early_data_accepted,
                t_handshake_ns=now_ns(),
                gso=False,
            )
        elif isinstance(event, ConnectionTerminated):
            self._answers.clear()
            self._service.forget(self)
        if self._http is not None:
            for each in self._http.handle_event(event):
                self._http_event_received(each)

    def transmit(self) -> None:
        """Send everything that may be sent now, with more of the files as there is room."""
        super().transmit()
        while self._top_up():
            super().transmit()

    def _http_event_received(self, event: H3Event) -> None:
        if not isinstance(event, HeadersReceived) or self._http is None:
            return
        headers = dict(event.headers)
        if headers.get(b":method") not in (b"GET", b"HEAD"):
            self._http.send_headers(event.stream_id, [(b":status", b"405")], end_stream=True)
            return
        file = self._service.files.open(headers.get(b":path", b"").decode(errors="replace"))
        if file is None:
            self._http.send_headers(event.stream_id, [(b":status", b"404")], end_stream=True)
            return
        empty = file.size == 0 or headers[b":method"] == b"HEAD"
        answer = response_headers(file.size, file.content_type)
        self._http.send_headers(event.stream_id, answer, end_stream=empty)
        if empty:
            file.body.close()
        else:
            self._answers[event.stream_id] = file

    def _top_up(self) -> bool:
        """Give aioquic more of each file where it has sent nearly all it has; return whether it was given any."""
        added = False
        for stream_id, file in list(self._answers.items()):
            if not self._wants_data(stream_id):
                self._drop(stream_id)
                continue
            while stream_id in self._answers and self._unsent(stream_id) < AHEAD_BYTES:
                chunk = file.body.read(min(CHUNK_BYTES, file.size - file.body.tell()))
                ended = not chunk or file.body.tell() >= file.size
                self._http.send_data(stream_id, chunk, end_stream=ended)  # type: ignore[union-attr]
                added = True
                if ended:
                    self._drop(stream_id)
        return added

    def _drop(self, stream_id: int) -> None:
        self._answers.pop(stream_id).body.close()

    def _wants_data(self, stream_id: int) -> bool:
        """Return False once the client has gone or has asked for no more of this stream."""
        stream = self._quic._streams.get(stream_id)
        return self._quic._close_event is None and stream is not None and stream.sender._reset_error_code is None

    def _unsent(self, stream_id: int) -> int:
        sender = self._quic._streams[stream_id].sender
        return int(sender._buffer_stop - sender.highest_offset)
