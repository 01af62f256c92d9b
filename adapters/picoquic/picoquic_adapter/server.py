"""The server: all connections of one context, and the files that they ask for."""

import asyncio
import ctypes as c
import signal
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from longlook_adapter import files
from longlook_adapter.clock import now_ns
from longlook_adapter.lines import emit, endpoint
from longlook_adapter.options import Options

from picoquic_adapter import http3
from picoquic_adapter.engine import Engine, Files, peer_of
from picoquic_adapter.library import GET, HEAD, Event, picoquic, version
from picoquic_adapter.settings import choices

_MOST_CONNECTIONS = 256


async def run(options: Options) -> None:
    """Serve until SIGTERM or SIGINT."""
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    server = _Server(options)
    address = server.engine.address
    emit("ready", role="server", protocol="h3", address=address[0], port=address[1], version=version())
    await stopped.wait()
    server.close()


class _File:
    """A file's bytes, from the beginning on."""

    def __init__(self, path: Path) -> None:
        self.content_type = files.content_type(path)
        self._file: BinaryIO = path.open("rb")
        self.size = path.stat().st_size

    def read(self, size: int) -> bytes:
        """Return the next bytes."""
        return self._file.read(size)

    def close(self) -> None:
        """Close it."""
        self._file.close()


@dataclass
class _Answer:
    """An answer under way: what precedes the body, the body, and how many bytes of both are not taken yet."""

    head: bytes
    file: _File
    missing: int

    def take(self, size: int) -> bytes:
        """Return the next bytes."""
        part, self.head = self.head[:size], self.head[size:]
        part += self.file.read(size - len(part))
        if len(part) < size:
            raise RuntimeError("a file became shorter while it was served")
        self.missing -= size
        return part


@dataclass
class _Connection:
    """One connection of a client. `early` says whether requests came before its handshake was complete."""

    remote: str
    early: bool = False
    is_ready: bool = False
    requests: dict[int, http3.Reader] = field(default_factory=dict)
    answers: dict[int, _Answer] = field(default_factory=dict)


class _Server:
    def __init__(self, options: Options) -> None:
        self._files = files.Files(options.www, _File)
        self._wanted = choices(options.knobs, server=True)
        self._connections: dict[int, _Connection] = {}
        for needed in (options.certificate, options.key):
            Path(needed).read_bytes()  # picoquic would begin without them
        own = Files(options.certificate, options.key)
        self.engine = Engine(
            (options.address, options.port), self._wanted, self._on_event, own, connections=_MOST_CONNECTIONS
        )

    def close(self) -> None:
        """End all connections properly."""
        for connection in list(self._connections):
            picoquic.picoquic_close(connection, http3.NO_ERROR)
        self.engine.close()

    def _on_event(self, connection: int, stream: int, data: bytes, event: int, at: int, length: int) -> None:
        if (known := self._connections.get(connection)) is None:
            if event in (Event.STATELESS_RESET, Event.CLOSE, Event.APPLICATION_CLOSE):
                return
            known = self._connections[connection] = _Connection(endpoint(peer_of(connection)))
            self._wanted.begin(connection)
            settings = http3.control_stream()
            own = picoquic.picoquic_get_next_local_stream_id(connection, 1)
            picoquic.picoquic_add_to_stream(connection, own, settings, len(settings), 0)
        match event:
            case Event.STREAM_DATA | Event.STREAM_FIN:
                known.early |= not known.is_ready
                if stream % 4 == 0:
                    self._take(connection, known, stream, data)
                if event == Event.STREAM_FIN:
                    known.requests.pop(stream, None)
            case Event.PREPARE_TO_SEND:
                _provide(known, stream, at, length)
            case Event.STREAM_RESET | Event.STOP_SENDING:
                self._give_up(connection, known, stream)
            case Event.READY:
                self._report(connection, known)
            case Event.STATELESS_RESET | Event.CLOSE | Event.APPLICATION_CLOSE:
                for answer in known.answers.values():
                    answer.file.close()
                del self._connections[connection]

    def _report(self, connection: int, known: _Connection) -> None:
        known.is_ready = True
        emit(
            "connection",
            protocol="h3",
            local=endpoint(self.engine.address),
            remote=known.remote,
            resumed=bool(picoquic.picoquic_tls_is_psk_handshake(connection)),
            used_0rtt=known.early,
            t_handshake_ns=now_ns(),
            gso=False,
        )

    def _take(self, connection: int, known: _Connection, stream: int, data: bytes) -> None:
        reader = known.requests.setdefault(stream, http3.Reader())
        try:
            for part in reader.feed(data):
                if isinstance(part, http3.Head):
                    self._answer(connection, known, stream, part)
        except http3.FrameError:
            picoquic.picoquic_reset_stream(connection, stream, http3.GENERAL_ERROR)

    def _answer(self, connection: int, known: _Connection, stream: int, request: http3.Head) -> None:
        if request.method not in (GET, HEAD):
            _send(connection, stream, http3.headers({b":status": b"405"}))
        elif (file := self._files.open(request.path)) is None:
            _send(connection, stream, http3.headers({b":status": b"404"}))
        else:
            head = http3.headers(dict(files.response_headers(file.size, file.content_type)))
            if request.method == HEAD or file.size == 0:
                file.close()
                _send(connection, stream, head)
                return
            head += http3.data_header(file.size)
            known.answers[stream] = _Answer(head, file, len(head) + file.size)
            picoquic.picoquic_mark_active_stream(connection, stream, 1, None)

    def _give_up(self, connection: int, known: _Connection, stream: int) -> None:
        known.requests.pop(stream, None)
        if (answer := known.answers.pop(stream, None)) is not None:
            answer.file.close()
            picoquic.picoquic_reset_stream(connection, stream, http3.NO_ERROR)


def _send(connection: int, stream: int, message: bytes) -> None:
    """Send a whole answer."""
    picoquic.picoquic_add_to_stream(connection, stream, message, len(message), 1)


def _provide(known: _Connection, stream: int, context: int, room: int) -> None:
    """Give picoquic the next bytes of an answer, for a packet that it is making."""
    answer = known.answers.get(stream)
    if answer is None:
        picoquic.picoquic_provide_stream_data_buffer(context, 0, 0, 0)
        return
    size = min(room, answer.missing)
    is_last = size == answer.missing
    place = picoquic.picoquic_provide_stream_data_buffer(context, size, int(is_last), int(not is_last))
    if not place:
        raise RuntimeError(f"picoquic takes no {size} bytes of stream {stream}")
    c.memmove(place, answer.take(size), size)
    if is_last:
        known.answers.pop(stream).file.close()
