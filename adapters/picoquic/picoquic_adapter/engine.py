"""One context of picoquic with its socket: packets in, packets out, and its one timer."""

import asyncio
import ctypes as c
import os
import socket
import struct
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longlook_adapter.addresses import family_of

from picoquic_adapter.library import ADDRESS_BYTES, KEY_EXCHANGES, LARGEST_PACKET, SIZE, Callback, Event, picoquic
from picoquic_adapter.settings import Choices

_AT_ONCE = 64  # packets taken before anything is sent
_MTU_DISCOVER, _V6_MTU_DISCOVER, _PROBE = 10, 23, 3
_LARGEST_DATAGRAM = 65535
_HOUR_US = 3_600_000_000
_CONNECTION_ID_BYTES = 21
_LOGS_EACH_PACKET = 1
_FAILED = -1

Address = tuple[Any, ...]


OnEvent = Callable[[int, int, bytes, int, int, int], None]
"""Connection, stream, bytes that came, event, and `bytes` and `length` as picoquic has them."""


@dataclass(frozen=True)
class Files:
    """Paths that picoquic reads: `certificate` and `key` of a server; of a client `ca`, and `tickets`, which it writes.

    The file of tickets may be missing; without its path a client takes no tickets.
    """

    certificate: str | None = None
    key: str | None = None
    ca: str | None = None
    tickets: str | None = None


class Engine:
    """A context for `connections` connections over a socket of its own, bound to an IP address and a port."""

    def __init__(
        self, bound_to: tuple[str, int], wanted: Choices, on_event: OnEvent, files: Files, connections: int = 1
    ) -> None:
        self.socket = _udp_socket(*bound_to)
        self.address: Address = self.socket.getsockname()
        self.callback = Callback(_guarded(on_event))
        self._local = sockaddr(self.address)
        self._packet, self._length = c.create_string_buffer(LARGEST_PACKET), SIZE()
        self._to, self._from = c.create_string_buffer(ADDRESS_BYTES), c.create_string_buffer(ADDRESS_BYTES)
        self._interface, self._connection_id = c.c_int(), c.create_string_buffer(_CONNECTION_ID_BYTES)
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        *names, self._tickets = (  # picoquic keeps the pointer to the last
            None if each is None else each.encode() for each in (files.certificate, files.key, files.ca, files.tickets)
        )
        context = picoquic.picoquic_create(
            *(connections, *names, b"h3", self.callback, None, None, None, None, now_us(), None, self._tickets, None, 0)
        )
        if not context:
            self.socket.close()
            raise OSError(f"picoquic does not start with {files}")
        self.context: int = context
        picoquic.picoquic_sort_key_exchange_algorithms(KEY_EXCHANGES, len(KEY_EXCHANGES))  # the first context sets them
        wanted.apply(context, self.socket.family == socket.AF_INET6)
        if folder := os.environ.get("QLOGDIR"):
            Path(folder).mkdir(parents=True, exist_ok=True)
            picoquic.picoquic_set_qlog(context, folder.encode())
            picoquic.picoquic_set_log_level(context, _LOGS_EACH_PACKET)
        if file := os.environ.get("SSLKEYLOGFILE"):
            picoquic.picoquic_enable_sslkeylog(context, 1)
            picoquic.picoquic_set_key_log_file(context, file.encode())
        self._loop.add_reader(self.socket, self._packets)

    def flush(self) -> None:
        """Send what may be sent now, and set the timer for what may be sent later."""
        while self._next_packet():
            try:
                self.socket.sendto(memoryview(self._packet)[: self._length.value], _address(self._to.raw))
            except OSError as error:  # the packet is lost, as it may be anywhere on its way
                print(f"not sent: {error}", file=sys.stderr)
        if self._timer is not None:
            self._timer.cancel()
        wait_us = picoquic.picoquic_get_next_wake_delay(self.context, now_us(), _HOUR_US)
        self._timer = self._loop.call_later(wait_us / 1e6, self.flush)

    def close(self) -> None:
        """Send what may be sent now, and free everything."""
        self.flush()
        if self._timer is not None:
            self._timer.cancel()
        self._loop.remove_reader(self.socket)
        picoquic.picoquic_free(self.context)
        self.socket.close()

    def _next_packet(self) -> bool:
        self._length.value = 0
        code = picoquic.picoquic_prepare_next_packet(
            *(self.context, now_us(), self._packet, LARGEST_PACKET, c.byref(self._length)),
            *(self._to, self._from, c.byref(self._interface), self._connection_id, None),
        )
        return code == 0 and self._length.value > 0

    def _packets(self) -> None:
        for _ in range(_AT_ONCE):
            try:
                data, remote = self.socket.recvfrom(_LARGEST_DATAGRAM)
            except BlockingIOError:
                break
            packet, source = c.create_string_buffer(data, len(data)), sockaddr(remote)
            picoquic.picoquic_incoming_packet(
                *(self.context, packet, len(data), source, self._local, 0, 0, now_us())
            )  # a packet that it cannot read is none
        self.flush()


def now_us() -> int:
    """Return the time by the clock of picoquic."""
    time_us: int = picoquic.picoquic_current_time()
    return time_us


def peer_of(connection: int) -> Address:
    """Return the address of the other end of a connection."""
    found = c.c_void_p()
    picoquic.picoquic_get_peer_addr(connection, c.byref(found))
    return _address(c.string_at(found.value or 0, ADDRESS_BYTES))


def sockaddr(address: Address) -> Any:
    """Return an address as a `struct sockaddr_storage`."""
    return c.create_string_buffer(_sockaddr(address), ADDRESS_BYTES)


def _guarded(on_event: OnEvent) -> Callable[..., int]:
    """Return a callback whose exceptions end the connection instead of being swallowed by ctypes."""

    def call(connection: int, stream: int, data: int | None, length: int, event: int, *_contexts: Any) -> int:
        try:
            content = c.string_at(data, length) if data and event in (Event.STREAM_DATA, Event.STREAM_FIN) else b""
            on_event(connection, stream, content, event, data or 0, length)
        except Exception:
            traceback.print_exc(file=sys.stderr)
            return _FAILED
        return 0

    return call


def _udp_socket(host: str, port: int) -> socket.socket:
    """Return a bound socket whose packets are never fragmented: picoquic finds out how large they may be."""
    family = family_of(host)
    made = socket.socket(family, socket.SOCK_DGRAM)
    made.setblocking(False)
    v4, v6 = (socket.IPPROTO_IP, _MTU_DISCOVER), (socket.IPPROTO_IPV6, _V6_MTU_DISCOVER)
    made.setsockopt(*(v6 if family == socket.AF_INET6 else v4), _PROBE)
    made.bind((host, port))
    return made


def _sockaddr(address: Address) -> bytes:
    host, port = address[:2]
    family = family_of(host)
    head = struct.pack("=H", family) + struct.pack("!H", port)
    if family == socket.AF_INET6:
        return head + bytes(4) + socket.inet_pton(family, host) + bytes(4)
    return head + socket.inet_aton(host) + bytes(8)


def _address(packed: bytes) -> Address:
    family, port = struct.unpack("=H", packed[:2])[0], struct.unpack("!H", packed[2:4])[0]
    if family == socket.AF_INET6:
        return socket.inet_ntop(family, packed[8:24]), port
    return socket.inet_ntoa(packed[4:8]), port
