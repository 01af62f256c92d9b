"""The server: files over HTTP/3 until SIGTERM."""

import asyncio
import ctypes as c
import os
import signal
import socket
from typing import Any

from longlook_adapter.clock import now_ns
from longlook_adapter.files import Files, response_headers
from longlook_adapter.lines import emit, endpoint
from longlook_adapter.options import Options

from ngtcp2_adapter import abi
from ngtcp2_adapter.connection import CID_BYTES, Connection, bytes_of, cid_of
from ngtcp2_adapter.files import File
from ngtcp2_adapter.libraries import http, interface, quic, version
from ngtcp2_adapter.security import Credentials, ServerSession
from ngtcp2_adapter.settings import Choices, choices
from ngtcp2_adapter.sockets import drain, udp_socket
from ngtcp2_adapter.trace import trace_wanted


async def run(options: Options) -> None:
    """Serve until SIGTERM or SIGINT."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    wanted, files, credentials = choices(options.knobs, server=True), Files(options.www, File), Credentials()
    credentials.identify(options.certificate, options.key)
    sock = udp_socket(options.address, options.port)
    service = _Service(sock, files, credentials, wanted)
    loop.add_reader(sock, service.packets)
    address = sock.getsockname()
    emit("ready", role="server", protocol="h3", address=address[0], port=address[1], version=version())
    await stopped.wait()
    service.close()


class _Service:
    """The part that all connections share: it hands each packet to the connection that it belongs to."""

    def __init__(self, sock: socket.socket, files: Files[File], credentials: Credentials, wanted: Choices) -> None:
        self.files, self.credentials, self.wanted = files, credentials, wanted
        self.sock, self.address = sock, sock.getsockname()
        self.by_cid: dict[bytes, _Connection] = {}

    def packets(self) -> None:
        """Take the packets that have arrived, then send whatever they allow."""
        touched: dict[_Connection, None] = {}
        for data, remote in drain(self.sock):
            connection = self._owner(data, remote)
            if connection is not None:
                connection.read(data)
                touched[connection] = None
        for connection in touched:
            connection.write()

    def close(self) -> None:
        """End all connections properly."""
        for connection in dict.fromkeys(self.by_cid.values()):
            connection.close()

    def _owner(self, data: bytes, remote: tuple[Any, ...]) -> "_Connection | None":
        ids, header = abi.VersionCid(), abi.PktHd()
        if quic.ngtcp2_pkt_decode_version_cid(c.byref(ids), data, len(data), CID_BYTES) != 0:
            return None  # another version of QUIC: no client of ours asks for one
        cid = c.string_at(ids.dcid, ids.dcidlen)
        if cid in self.by_cid:
            return self.by_cid[cid]
        if quic.ngtcp2_accept(c.byref(header), data, len(data)) != 0:
            return None
        return _Connection(self, remote, header)


class _Connection(Connection):
    """One accepted connection. `_requests` are header fields and `_files` files being sent, both by stream."""

    def __init__(self, service: _Service, remote: tuple[Any, ...], header: Any) -> None:
        scid = os.urandom(CID_BYTES)
        super().__init__(service.sock, service.address, remote, trace_wanted(bytes_of(header.dcid), "server"))
        self._service = service
        self._ids = {scid: None, bytes_of(header.dcid): None}
        self._requests: dict[int, dict[bytes, bytes]] = {}
        self._files: dict[int, File] = {}
        self._reader = abi.DataReader(abi.ReadData(self._read_data))
        self.session: ServerSession = ServerSession(service.credentials, self.reference)
        settings, parameters = service.wanted.make(server=True)
        settings.token = header.token
        parameters.stateless_reset_token_present = 1
        c.memmove(parameters.stateless_reset_token, os.urandom(16), 16)
        interface.name_origin(settings, parameters, header.dcid, server=True)
        self._new("server", header.scid, cid_of(scid), header.version, settings, parameters)
        service.by_cid |= dict.fromkeys(self._ids, self)

    def on_handshake_completed(self) -> None:
        """Report the connection, and send the client a session ticket."""
        emit(
            "connection",
            protocol="h3",
            local=endpoint(self._service.address),
            remote=endpoint(self._remote),
            resumed=self.session.resumed,
            used_0rtt=self.session.early,
            t_handshake_ns=now_ns(),
            gso=False,
        )
        self.session.send_ticket()

    def on_cid(self, cid: bytes, *, known: bool) -> None:
        """Keep the table by which packets find their connection."""
        if known:
            self._ids[cid] = None
            self._service.by_cid[cid] = self
        else:
            self._ids.pop(cid, None)
            self._service.by_cid.pop(cid, None)

    def on_header(self, stream_id: int, name: bytes, value: bytes) -> None:
        """Take a field of a request."""
        self._requests.setdefault(stream_id, {})[name] = value

    def on_message_end(self, stream_id: int) -> None:
        """Answer a request, which is complete now."""
        request = self._requests.pop(stream_id, {})
        if request.get(b":method") not in (b"GET", b"HEAD"):
            self._answer(stream_id, {b":status": b"405"}, None)
            return
        file = self._service.files.open(request.get(b":path", b"").decode(errors="replace"))
        if file is None:
            self._answer(stream_id, {b":status": b"404"}, None)
            return
        headers = dict(response_headers(file.size, file.content_type))
        if file.size == 0 or request[b":method"] == b"HEAD":
            file.close()
            self._answer(stream_id, headers, None)
        else:
            self._files[stream_id] = file
            self._answer(stream_id, headers, self._reader)

    def on_stream_closed(self, stream_id: int, error_code: int) -> None:
        """Let the client open another stream in its place."""
        self._requests.pop(stream_id, None)
        if (file := self._files.pop(stream_id, None)) is not None:
            file.close()
        if stream_id % 4 == 0:
            quic.ngtcp2_conn_extend_max_streams_bidi(self._conn, 1)

    def free(self) -> None:
        """Free everything, the files last."""
        super().free()
        for cid in self._ids:
            self._service.by_cid.pop(cid, None)
        for file in self._files.values():
            file.close()
        self._files.clear()

    def _answer(self, stream_id: int, headers: dict[bytes, bytes], reader: Any) -> None:
        fields = header_fields(headers)
        body = None if reader is None else c.byref(reader)
        if http.nghttp3_conn_submit_response(self._http, stream_id, fields, len(fields), body) != 0:
            raise RuntimeError("the answer was refused")

    def _read_data(self, _conn: int, stream: int, vectors: Any, _count: int, flags: Any, *_: Any) -> int:
        """Hand nghttp3 a whole file at once: its memory stays where it is."""
        file = self._files[stream]
        vectors[0].base, vectors[0].len = file.address, file.size
        flags[0] = 1  # the end
        return 1


def header_fields(headers: dict[bytes, bytes]) -> Any:
    """Return header fields as nghttp3 takes them."""
    return (abi.Nv * len(headers))(*(abi.Nv(name, value, len(name), len(value), 0) for name, value in headers.items()))
