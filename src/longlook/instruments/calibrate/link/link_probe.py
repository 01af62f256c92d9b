"""A link under test: the router alone between two namespaces, measured from outside with UDP datagrams.

The receiver's times are the kernel's receive stamps, so a busy receiver does not add to them.
"""

import json
import signal
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from longlook.core import LonglookError, link_program
from longlook.lab import CLIENT, PACKET, SERVER, EndpointNamespace, Namespace

UDP_IP_BYTES = 28
_STAMP = struct.Struct("<QQ")  # sequence, nanoseconds since 1970
_TIMESPEC = struct.Struct("@ll")
_SO_TIMESTAMPNS, _IP_RECVTOS = 35, 13
_ECN = 3  # the bits of the codepoint
_PORT = 9
_BUFFER_BYTES = 32 * 1024 * 1024
_STOP_S = 10.0
_GROUP_S = 0.001
_LEAD_NS = 1_000_000  # the first packet waits for its time like all others, and is as late


@dataclass(frozen=True)
class Arrival:
    """One datagram that came through. Times are nanoseconds since 1970, and the size counts the IP packet.

    `ecn` is the codepoint with which it came.
    """

    sequence: int
    sent_ns: int
    received_ns: int
    size_bytes: int
    ecn: int


class LinkBed:
    """Client, router and server namespaces with a running router; a context manager.

    `log` is the packet log, in `folder` unless it is given; `client` and `server` are the two sides. `arguments` are
    added to the router's, `wrapper` is a command that runs the router, `program` another than the installed one. Raise
    LonglookError with the router's reason if it does not start.
    """

    def __init__(
        self,
        folder: Path,
        config: Mapping[str, Any],
        path: str = PACKET,
        arguments: Sequence[str] = (),
        wrapper: Sequence[str] = (),
        log: Path | None = None,
        program: str | None = None,
    ) -> None:
        self.log = log or folder / "link.bin"
        self._program = program or link_program().path
        self._config = folder / "link.json"
        self._config.write_text(json.dumps(config), encoding="utf-8")
        self._path = path
        self._arguments = arguments
        self._wrapper = wrapper
        self._stack = ExitStack()
        self.process: subprocess.Popen[str]

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self.router = stack.enter_context(Namespace())
            self.client = stack.enter_context(EndpointNamespace(CLIENT, self.router, self._path))
            self.server = stack.enter_context(EndpointNamespace(SERVER, self.router, self._path))
            self.client.drain()
            self.server.drain()
            self.process = self._start()
            stack.callback(self._end)
            line = json.loads(self._output().readline() or "{}")
            if line.get("event") != "ready":
                raise LonglookError(f"the router did not start: {line.get('reason', 'it gave no reason')}")
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def _start(self) -> "subprocess.Popen[str]":
        files = ["--config", str(self._config), "--log", str(self.log)]
        command = [*self._wrapper, self._program, "run", *files, *self._arguments]
        descriptors: tuple[int, ...] = ()
        if self.client.tun is not None and self.server.tun is not None:
            descriptors = (self.client.tun, self.server.tun)
            command += ["--client-tun-fd", str(descriptors[0]), "--server-tun-fd", str(descriptors[1])]
        else:
            command += ["--client-if", CLIENT.router_device, "--server-if", SERVER.router_device]
        with self.router.inside():
            return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, pass_fds=descriptors)

    def _output(self) -> IO[str]:
        if self.process.stdout is None:
            raise AssertionError("the router was started with a pipe")
        return self.process.stdout

    def stop(self, number: signal.Signals = signal.SIGTERM) -> list[dict[str, Any]]:
        """Send a signal, wait for the router's end and return the lines that it still printed."""
        self.process.send_signal(number)
        return self.wait()

    def wait(self) -> list[dict[str, Any]]:
        """Wait for the router's end and return the lines that it still printed."""
        text, _ = self.process.communicate(timeout=_STOP_S)
        return [json.loads(line) for line in text.splitlines()]

    def _end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._output().close()


class Sink:
    """Receives datagrams on one side in a thread; a context manager, whose `arrivals` are complete after it."""

    def __init__(self, side: EndpointNamespace) -> None:
        self.arrivals: list[Arrival] = []
        self._socket = _udp_socket(side)
        self._socket.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        self._socket.setsockopt(socket.IPPROTO_IP, _IP_RECVTOS, 1)
        self._socket.bind((side.end.address, _PORT))
        self._socket.settimeout(0.1)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._receive, name="sink")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopped.set()
        self._thread.join()
        self._socket.close()

    def wait_for(self, count: int, timeout_s: float) -> bool:
        """Wait until that many datagrams have arrived; return False if the time is over first."""
        deadline = time.monotonic() + timeout_s
        while len(self.arrivals) < count and time.monotonic() < deadline:
            time.sleep(0.005)
        return len(self.arrivals) >= count

    def _receive(self) -> None:
        while True:
            try:
                data, ancillary, _, _ = self._socket.recvmsg(2048, 128)
            except TimeoutError:
                if self._stopped.is_set():
                    return
                continue
            heard = {kind: value for _, kind, value in ancillary}
            seconds, nanoseconds = _TIMESPEC.unpack(heard[_SO_TIMESTAMPNS])
            sequence, sent_ns = _STAMP.unpack_from(data)
            received_ns = seconds * 1_000_000_000 + nanoseconds
            ecn = heard[socket.IP_TOS][0] & _ECN
            self.arrivals.append(Arrival(sequence, sent_ns, received_ns, len(data) + UDP_IP_BYTES, ecn))


class Source:
    """Sends datagrams from one side to the sink of the other; a context manager.

    `ecn` is the codepoint of the datagrams of either port.
    """

    def __init__(self, side: EndpointNamespace, ecn: tuple[int, int] = (0, 0)) -> None:
        self._socket, self._other = (_udp_socket(side) for _ in ecn)
        for each, codepoint in zip((self._socket, self._other), ecn, strict=True):
            each.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, codepoint)
        self._address = (side.end.peer_address, _PORT)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()
        self._other.close()

    def follow(self, offsets_ns: Sequence[int], size_bytes: int, flow: Callable[[int], int] = lambda _: 0) -> list[int]:
        """Send a datagram of `size_bytes` (IP packet) at each of these times from a start; return when each was sent.

        `flow` returns, for the number of a datagram, the port that it leaves from: 0 or 1.
        """
        sockets = (self._socket, self._other)
        payload = bytearray(size_bytes - UDP_IP_BYTES)
        began_ns = time.monotonic_ns() + _LEAD_NS
        sent_ns: list[int] = []
        due_ns = -1
        for sequence, offset_ns in enumerate(offsets_ns):
            if offset_ns > due_ns:  # packets of one time go without a look at the clock between them
                due_ns = offset_ns
                left_ns = began_ns + offset_ns - time.monotonic_ns()
                if left_ns > 0:
                    time.sleep(left_ns / 1e9)
            sent_ns.append(time.time_ns())
            _STAMP.pack_into(payload, 0, sequence, sent_ns[-1])
            sockets[flow(sequence)].sendto(payload, self._address)
        return sent_ns

    def send(self, count: int, packets_per_s: float, size_bytes: int) -> None:
        """Send `count` datagrams of `size_bytes` (IP packet) at that mean rate, each with its number and the time.

        Faster than 1000 packets/s they go in small groups, one each millisecond.
        """
        payload = bytearray(size_bytes - UDP_IP_BYTES)
        group = max(1, round(packets_per_s * _GROUP_S))
        started = time.monotonic()
        for sequence in range(count):
            if sequence % group == 0:
                left_s = started + sequence / packets_per_s - time.monotonic()
                if left_s > 0:
                    time.sleep(left_s)
            _STAMP.pack_into(payload, 0, sequence, time.time_ns())
            # Not connected: without a sink, a connected socket would report that the port is closed.
            self._socket.sendto(payload, self._address)


def _udp_socket(side: EndpointNamespace) -> socket.socket:
    with side.namespace.inside():
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
        made.setsockopt(socket.SOL_SOCKET, option, _BUFFER_BYTES)
    return made


def rate_bps(arrivals: Sequence[Arrival], extra_bytes: int = 0) -> float:
    """Return the mean rate of a saturated link, from the first arrival to the last.

    `extra_bytes` are the bytes of a packet on the wire beyond IP.
    """
    duration_ns = arrivals[-1].received_ns - arrivals[0].received_ns
    sent_bytes = sum(arrival.size_bytes + extra_bytes for arrival in arrivals[1:])
    return sent_bytes * 8e9 / duration_ns
