"""One QUIC connection with HTTP/3 on it: what client and server have in common."""

import asyncio
import ctypes as c
import os
import socket
import struct
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

from ngtcp2_adapter import abi
from ngtcp2_adapter.abi import I64, INT, SIZE, P, Vec
from ngtcp2_adapter.libraries import crypto, http, interface, quic
from ngtcp2_adapter.security import Session
from ngtcp2_adapter.trace import Trace

CID_BYTES = 18
NO_ERROR = 0x100  # of HTTP/3
_FAILED = -502  # a callback's result
_CODES = interface.codes
_APPLICATION_LEVEL = 2
_MORE, _FIN = 1, 2
_BUFFER_BYTES = 2048
_NEVER = 2**64 - 1


def guarded(function: Callable[..., int | None]) -> Callable[..., int]:
    """Return a callback whose exceptions end the connection instead of being swallowed by ctypes."""

    def call(*arguments: Any) -> int:
        try:
            return function(*arguments) or 0
        except Exception:
            traceback.print_exc(file=sys.stderr)
            return _FAILED

    return call


def sockaddr(address: tuple[Any, ...]) -> c.Array[c.c_char]:
    """Return an address as a `struct sockaddr`."""
    host, port = address[:2]
    if ":" in host:
        packed = (
            struct.pack("=H", socket.AF_INET6) + struct.pack("!HI", port, 0) + socket.inet_pton(socket.AF_INET6, host)
        )
        return c.create_string_buffer(packed + bytes(4), 28)
    return c.create_string_buffer(
        struct.pack("=H", socket.AF_INET) + struct.pack("!H", port) + socket.inet_aton(host) + bytes(8), 16
    )


def cid_of(data: bytes) -> Any:
    """Return bytes as a connection id."""
    made = abi.Cid(datalen=len(data))
    c.memmove(made.data, data, len(data))
    return made


def bytes_of(cid: Any) -> bytes:
    """Return a connection id's bytes."""
    return bytes(cid.data[: cid.datalen])


class Connection:
    """Subclasses make `session`, call `_new`, and answer the events below."""

    session: Session

    def __init__(
        self, sock: socket.socket, local: tuple[Any, ...], remote: tuple[Any, ...], trace: Trace | None
    ) -> None:
        self._socket, self._remote, self._trace = sock, remote, trace
        self._conn, self._http = P(), P()
        self._addresses = (sockaddr(local), sockaddr(remote))
        ends = (abi.Addr(c.addressof(each), len(each)) for each in self._addresses)
        self._path = abi.Path(*ends, None)
        self._buffer = c.create_string_buffer(_BUFFER_BYTES)
        self._packet_info = abi.PktInfo()
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._handles: list[Any] = []  # what C code holds pointers to
        self._get_conn = abi.GetConn(lambda _reference: self._conn.value)
        self.reference = abi.ConnRef(self._get_conn, None)
        self.closed = False

    # Events for subclasses.

    def on_handshake_completed(self) -> None:
        """The connection is secure."""

    def on_early_data_rejected(self) -> None:
        """The server refused early data: its streams are gone."""

    def on_more_streams(self) -> None:
        """More requests may be sent."""

    def on_header(self, stream_id: int, name: bytes, value: bytes) -> None:
        """One header field."""

    def on_body(self, stream_id: int, data: bytes) -> None:
        """A piece of the body."""

    def on_message_end(self, stream_id: int) -> None:
        """The message of the other side is complete."""

    def on_stream_closed(self, stream_id: int, error_code: int) -> None:
        """Nothing more will happen on a stream."""

    def on_cid(self, cid: bytes, *, known: bool) -> None:
        """Packets may, or may no longer, come with this connection id."""

    def on_ended(self, code: int) -> None:
        """The connection is over, with an error code of ngtcp2; called once, outside of the library."""

    # The library.

    def _new(self, role: str, dcid: Any, scid: Any, version: int, settings: Any, parameters: Any) -> None:
        settings.initial_ts = time.monotonic_ns()
        if self._trace is not None:
            interface.set_trace(settings, self._trace.write)
        callbacks = self._callbacks(role)
        self._handles += [callbacks, settings, parameters]
        new = getattr(quic, f"ngtcp2_conn_{role}_new_versioned")
        parts = (1, c.byref(callbacks), 1, c.byref(settings), 1, c.byref(parameters), None, None)
        code = new(c.byref(self._conn), c.byref(dcid), c.byref(scid), c.byref(self._path), version, *parts)
        if code != 0:
            raise RuntimeError(f"ngtcp2_conn_{role}_new: {strerror(code)}")
        quic.ngtcp2_conn_set_tls_native_handle(self._conn, self.session.handle)

    def _callbacks(self, role: str) -> Any:
        made: Any = interface.Callbacks()
        for name in ("encrypt", "decrypt", "hp_mask", "update_key", "recv_crypto_data", "delete_crypto_aead_ctx"):
            setattr(made, name, _helper(name))
        for name in ("delete_crypto_cipher_ctx", "get_path_challenge_data", "version_negotiation"):
            setattr(made, name, _helper(name))
        for name in ("recv_client_initial",) if role == "server" else ("client_initial", "recv_retry"):
            setattr(made, name, _helper(name))
        made.rand = abi.Rand(lambda target, size, _context: c.memmove(target, os.urandom(size), size) and None)
        made.handshake_completed = abi.HandshakeCompleted(guarded(lambda _conn, _user: self.on_handshake_completed()))
        made.recv_stream_data = abi.RecvStreamData(guarded(self._recv_stream_data))
        made.acked_stream_data_offset = abi.AckedStreamDataOffset(
            guarded(lambda _c, stream, _offset, size, *_: http.nghttp3_conn_add_ack_offset(self._http, stream, size))
        )
        made.stream_close = abi.StreamClose(guarded(self._stream_close))
        made.stream_reset = abi.StreamReset(guarded(lambda _c, stream, *_: self._shut_http_read(stream)))
        made.stream_stop_sending = abi.StreamStopSending(guarded(lambda _c, stream, *_: self._shut_http_read(stream)))
        made.extend_max_local_streams_bidi = abi.ExtendMaxStreams(guarded(lambda *_: self.on_more_streams()))
        made.extend_max_stream_data = abi.ExtendMaxStreamData(
            guarded(lambda _c, stream, *_: http.nghttp3_conn_unblock_stream(self._http, stream) if self._http else 0)
        )
        made.get_new_connection_id = abi.GetNewConnectionId(guarded(self._new_cid))
        made.remove_connection_id = abi.RemoveConnectionId(
            guarded(lambda _c, cid, _user: self.on_cid(bytes_of(cid.contents), known=False))
        )
        key = abi.RecvKey(
            guarded(lambda _c, level, _user: self._setup_http(role) if level == _APPLICATION_LEVEL else 0)
        )
        if role == "server":
            made.recv_tx_key = key
        else:
            made.recv_rx_key = key
            rejected = abi.EarlyDataRejected(guarded(lambda *_: self._restart_http()))
            setattr(made, interface.early_data_rejected, rejected)
        return made

    def _setup_http(self, role: str) -> int:
        if self._http:
            return 0
        settings: Any = interface.HttpSettings()
        http.nghttp3_settings_default_versioned(1, c.byref(settings))
        settings.qpack_max_dtable_capacity = 4096  # as ngtcp2's own programs
        settings.qpack_blocked_streams = 100
        callbacks = self._http_callbacks()
        self._handles += [callbacks, settings]
        new = getattr(http, f"nghttp3_conn_{role}_new_versioned")
        if new(c.byref(self._http), 1, c.byref(callbacks), 1, c.byref(settings), None, None) != 0:
            return _FAILED
        if role == "server":
            http.nghttp3_conn_set_max_client_streams_bidi(self._http, 100)
        streams = [I64() for _ in range(3)]
        if any(quic.ngtcp2_conn_open_uni_stream(self._conn, c.byref(each), None) != 0 for each in streams):
            return _FAILED
        control, encoder, decoder = (each.value for each in streams)
        http.nghttp3_conn_bind_control_stream(self._http, control)
        http.nghttp3_conn_bind_qpack_streams(self._http, encoder, decoder)
        return 0

    def _restart_http(self) -> int:
        http.nghttp3_conn_del(self._http)
        self._http = P()
        self.on_early_data_rejected()
        return 0

    def _http_callbacks(self) -> Any:
        def text(buffer: int) -> bytes:
            found = http.nghttp3_rcbuf_get_buf(buffer)
            return c.string_at(found.base, found.len)

        def body(_conn: int, stream: int, data: int, size: int, *_: Any) -> None:
            self._consumed(stream, size)
            self.on_body(stream, c.string_at(data, size))

        def header(_conn: int, stream: int, _token: int, name: int, value: int, *_: Any) -> None:
            self.on_header(stream, text(name), text(value))

        made: Any = interface.HttpCallbacks()
        made.recv_data = abi.RecvData(guarded(body))
        made.deferred_consume = abi.DeferredConsume(guarded(lambda _c, stream, size, *_: self._consumed(stream, size)))
        made.recv_header = abi.RecvHeader(guarded(header))
        made.end_stream = abi.EndStream(guarded(lambda _c, stream, *_: self.on_message_end(stream)))
        made.stop_sending = abi.StopSending(guarded(lambda _c, stream, code, *_: self._shut("read", stream, code)))
        made.reset_stream = abi.StopSending(guarded(lambda _c, stream, code, *_: self._shut("write", stream, code)))
        return made

    def _shut(self, side: str, stream: int, code: int) -> int:
        done = interface.shut(self._conn, side, stream, code)
        return 0 if done == _CODES.stream_not_found else done

    def _shut_http_read(self, stream: int) -> int:
        return int(http.nghttp3_conn_shutdown_stream_read(self._http, stream)) if self._http else 0

    def _new_cid(self, _conn: int, cid: Any, token: int, size: int, _user: int) -> None:
        made = os.urandom(size)
        cid[0] = cid_of(made)
        c.memmove(token, os.urandom(16), 16)
        self.on_cid(made, known=True)

    def _recv_stream_data(self, _c: int, flags: int, stream: int, _offset: int, data: int, size: int, *_: Any) -> int:
        if not self._http:
            return 0
        used = http.nghttp3_conn_read_stream(self._http, stream, data, size, flags & 1)
        if used < 0:
            return _FAILED
        self._consumed(stream, used)
        return 0

    def _consumed(self, stream: int, size: int) -> None:
        quic.ngtcp2_conn_extend_max_stream_offset(self._conn, stream, size)
        quic.ngtcp2_conn_extend_max_offset(self._conn, size)

    def _stream_close(self, _conn: int, flags: int, stream: int, error_code: int, *_: Any) -> int:
        code = error_code if flags & 1 else NO_ERROR
        done = http.nghttp3_conn_close_stream(self._http, stream, code) if self._http else 0
        if done not in (0, _CODES.no_such_http_stream):
            return _FAILED
        self.on_stream_closed(stream, code)
        return 0

    # Packets.

    def read(self, data: bytes) -> None:
        """Take one packet; `write` follows when there are no more."""
        if self.closed:
            return
        arguments = (c.byref(self._path), 1, c.byref(self._packet_info), data, len(data), time.monotonic_ns())
        code = quic.ngtcp2_conn_read_pkt_versioned(self._conn, *arguments)
        if code != 0:
            self._end(code)

    def write(self) -> None:
        """Send everything that may be sent now, and set the timer for more."""
        if self.closed:
            return
        now = time.monotonic_ns()
        left = quic.ngtcp2_conn_get_send_quantum(self._conn)
        while left > 0:
            size = self._write_packet(now)
            if size < 0:
                self._end(size)
                return
            if size == 0:
                break
            self._send(size)
            left -= size
        quic.ngtcp2_conn_update_pkt_tx_time(self._conn, now)
        self._set_timer()

    def _write_packet(self, now: int) -> int:
        """Write one packet into the buffer; return its size, 0 where there is nothing to send, or a negative error."""
        stream, fin, taken = I64(-1), INT(0), c.c_ssize_t(0)
        vectors = (Vec * 16)()
        while True:
            stream.value, fin.value, count = -1, 0, 0
            if self._http and quic.ngtcp2_conn_get_max_data_left(self._conn) > 0:
                count = http.nghttp3_conn_writev_stream(self._http, c.byref(stream), c.byref(fin), vectors, 16)
                if count < 0:
                    return _FAILED
            flags = _MORE | (_FIN if fin.value else 0)
            size = quic.ngtcp2_conn_writev_stream_versioned(
                *(self._conn, None, 1, c.byref(self._packet_info), self._buffer, _BUFFER_BYTES),
                *(c.byref(taken), flags, stream.value, vectors, SIZE(count), now),
            )
            if size == _CODES.stream_data_blocked:
                http.nghttp3_conn_block_stream(self._http, stream.value)
            elif size == _CODES.stream_shut_wr:
                http.nghttp3_conn_shutdown_stream_write(self._http, stream.value)
            elif size == _CODES.write_more or (size >= 0 and taken.value >= 0):
                if stream.value >= 0:
                    http.nghttp3_conn_add_write_offset(self._http, stream.value, taken.value)
                if size >= 0:
                    return int(size)
            else:
                return int(size)

    def _send(self, size: int) -> None:
        try:
            self._socket.sendto(memoryview(self._buffer)[:size], self._remote)
        except OSError as error:  # the packet is lost, as it may be anywhere on its way
            print(f"not sent: {error}", file=sys.stderr)

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        expiry = quic.ngtcp2_conn_get_expiry(self._conn)
        if expiry != _NEVER:
            wait_s = max(0, expiry - time.monotonic_ns()) / 1e9
            self._timer = self._loop.call_later(wait_s, self._expired)

    def _expired(self) -> None:
        self._timer = None
        if self.closed:
            return
        code = quic.ngtcp2_conn_handle_expiry(self._conn, time.monotonic_ns())
        if code != 0:
            self._end(code)
        else:
            self.write()

    # The end.

    def close(self) -> None:
        """Close it properly, without an error."""
        if not self.closed:
            error = abi.CloseError()
            interface.close_by_application(error, NO_ERROR)
            self._send_close(error)
            self.free()

    def _end(self, code: int) -> None:
        if self.closed:
            return
        if code != _CODES.draining:
            error = abi.CloseError()
            if code == _CODES.crypto and (alert := quic.ngtcp2_conn_get_tls_alert(self._conn)):
                interface.close_by_tls(error, alert)
            else:
                interface.close_by_library(error, code)
            self._send_close(error)
        self.on_ended(code)
        self.free()

    def _send_close(self, error: Any) -> None:
        arguments = (None, 1, c.byref(self._packet_info), self._buffer, _BUFFER_BYTES)
        now = time.monotonic_ns()
        size = quic.ngtcp2_conn_write_connection_close_versioned(self._conn, *arguments, c.byref(error), now)
        if size > 0:
            self._send(size)

    def free(self) -> None:
        """Free everything."""
        self.closed = True
        if self._timer is not None:
            self._timer.cancel()
        quic.ngtcp2_conn_del(self._conn)
        if self._http:
            http.nghttp3_conn_del(self._http)
        self.session.close()
        if self._trace is not None:
            self._trace.finish()


def strerror(code: int) -> str:
    """Return ngtcp2's name of an error."""
    return str(quic.ngtcp2_strerror(code).decode())


def _helper(name: str) -> int | None:
    return c.cast(getattr(crypto, f"ngtcp2_crypto_{name}_cb"), P).value
