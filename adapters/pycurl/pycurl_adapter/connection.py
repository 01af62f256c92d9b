"""One connection of libcurl's, and the requests that it carries at once."""

import contextlib
import os
import selectors
import socket
import time
from types import TracebackType
from typing import Any, Self

import pycurl
from longlook_adapter.clock import now_ns
from longlook_adapter.either import EITHER
from longlook_adapter.job import Job
from longlook_adapter.lines import emit, endpoint

from pycurl_adapter.settings import new_handle
from pycurl_adapter.transfer import Transfer

SECURE = b"SSL connection using "
CERTIFICATE = b"  Certificate level "
"""libcurl logs the first when the handshake is complete, and the second for each certificate that the server sent in
it: none where a session was resumed. It reports neither in another way."""

_EVENTS = {
    pycurl.POLL_IN: selectors.EVENT_READ,
    pycurl.POLL_OUT: selectors.EVENT_WRITE,
    pycurl.POLL_INOUT: selectors.EVENT_READ | selectors.EVENT_WRITE,
}
_MOST_STREAMS = 2**31 - 1


class Connection:
    """A multi handle that may open one connection. Use as a context manager: at its end the connection is closed."""

    def __init__(self, job: Job, tickets: Any, *, primes: bool, early: bool = False) -> None:
        self.local: str | None = None
        self._job, self._tickets, self._primes, self._early = job, tickets, primes, early
        self._t_start_ns = 0
        self._t_handshake_ns: int | None = None
        self._saw_certificate = False
        self._remote: str | None = None
        self._opener: Any = None  # the handle that opens the connection, until that has been reported
        self._timer_s: float | None = None  # when libcurl wants to be called, by the monotonic clock
        self._selector = selectors.DefaultSelector()
        self._descriptors: dict[int, int] = {}  # all that were ever watched, and since when (ns): one at rest is not
        self._running: dict[Any, Transfer] = {}
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_PIPELINING, pycurl.PIPE_MULTIPLEX)
        self._multi.setopt(pycurl.M_MAX_HOST_CONNECTIONS, 1)
        self._multi.setopt(pycurl.M_MAX_CONCURRENT_STREAMS, _MOST_STREAMS)  # the server's limit alone holds
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._watch)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._set_timer)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._multi.close()
        self._selector.close()

    def fetch(self, paths: tuple[str, ...], deadline_s: float) -> list[Transfer]:
        """Request all paths at once and wait for the last; failures are in the transfers.

        `deadline_s` is a time of the monotonic clock.
        """
        start_ns = now_ns()
        transfers = [Transfer(path, start_ns) for path in paths]
        self._t_start_ns = self._t_start_ns or now_ns()
        for transfer in transfers:
            self._begin(transfer)
        while self._running and (left_s := deadline_s - time.monotonic()) > 0:
            self._wait(left_s)
            self._report_connection()
            self._collect()
        for handle in list(self._running):
            self._end(handle, f"not done within {self._job.timeout_s:g} s")
        return transfers

    def _begin(self, transfer: Transfer) -> None:
        handle = new_handle(self._job, transfer.path, self._tickets, early=self._early)
        transfer.listen(handle)
        handle.setopt(pycurl.PREREQFUNCTION, self._on_connection)
        if self.local is None and self._opener is None:
            self._opener = handle
            handle.setopt(pycurl.DEBUGFUNCTION, self._on_log)
            handle.setopt(pycurl.VERBOSE, 1)
        self._running[handle] = transfer
        self._multi.add_handle(handle)

    def _wait(self, longest_s: float) -> None:
        """Wait for events and hand them to libcurl."""
        if self._timer_s is not None:
            longest_s = min(longest_s, max(0.0, self._timer_s - time.monotonic()))
        for key, events in self._selector.select(longest_s):
            read = pycurl.CSELECT_IN if events & selectors.EVENT_READ else 0
            write = pycurl.CSELECT_OUT if events & selectors.EVENT_WRITE else 0
            self._multi.socket_action(key.fd, read | write)
        if self._timer_s is not None and time.monotonic() >= self._timer_s:
            self._timer_s = None
            self._multi.socket_action(pycurl.SOCKET_TIMEOUT, 0)

    def _collect(self) -> None:
        """Note transfers that have ended."""
        more = 1
        while more:
            more, succeeded, failed = self._multi.info_read()
            for handle in succeeded:
                self._end(handle, None)
            for handle, code, text in failed:
                self._end(handle, text or f"libcurl's error {code}")

    def _end(self, handle: Any, error: str | None) -> None:
        transfer = self._running.pop(handle)
        transfer.end(handle, error)
        self._multi.remove_handle(handle)
        handle.close()

    def _on_connection(self, remote_ip: str, local_ip: str, remote_port: int, local_port: int) -> int:
        """Note the connection for a request that libcurl is about to send."""
        self.local, self._remote = endpoint((local_ip, local_port)), endpoint((remote_ip, remote_port))
        return int(pycurl.PREREQFUNC_OK)

    def _on_log(self, _kind: int, text: bytes) -> None:
        """Take a line of libcurl's log."""
        if text.startswith(SECURE):
            self._t_handshake_ns = now_ns()
        elif text.startswith(CERTIFICATE):
            self._saw_certificate = True

    def _report_connection(self) -> None:
        """Print the `connection` line once all is known; with early data the handshake ends after the first request."""
        if self._opener is None or self.local is None or self._t_handshake_ns is None:
            return
        emit(
            "connection",
            **self._socket(),
            local=self.local,
            remote=self._remote,
            primes=self._primes,
            resumed=not self._saw_certificate,
            used_0rtt=self._early and self._opener.getinfo(pycurl.EARLYDATA_SENT_T) > 0,  # negative: refused
            t_handshake_ns=self._t_handshake_ns,
        )
        self._opener.setopt(pycurl.VERBOSE, 0)
        self._opener = None

    def _socket(self) -> dict[str, Any]:
        """Return the connection's protocol, when it was begun, and TCP's congestion control as the kernel has it.

        The socket is found by its address: where libcurl races two protocols, its other connection has another one, and
        the later of the two is begun when its socket appears.
        """
        for descriptor, appeared_ns in self._descriptors.items():  # libcurl has one more, to wake itself
            with contextlib.suppress(OSError), socket.socket(fileno=os.dup(descriptor)) as same:
                if same.family == socket.AF_UNIX or endpoint(same.getsockname()) != self.local:
                    continue
                begun = {"t_start_ns": appeared_ns if self._job.protocol == EITHER else self._t_start_ns}
                if same.type == socket.SOCK_DGRAM:
                    return {"protocol": "h3", **begun}
                name = same.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
                return {"protocol": "h2", "congestion_control": name.rstrip(b"\0").decode(), **begun}
        return {"protocol": self._job.protocol, "t_start_ns": self._t_start_ns}

    def _watch(self, what: int, descriptor: int, _multi: Any, _data: Any) -> None:
        """Watch a descriptor for the events that libcurl waits for."""
        if what == pycurl.POLL_REMOVE:
            with contextlib.suppress(KeyError):
                self._selector.unregister(descriptor)
        elif what != pycurl.POLL_NONE:
            self._descriptors.setdefault(descriptor, now_ns())
            if descriptor in self._selector.get_map():
                self._selector.modify(descriptor, _EVENTS[what])
            else:
                self._selector.register(descriptor, _EVENTS[what])

    def _set_timer(self, milliseconds: int) -> None:
        """Note when libcurl has to be called at the latest; −1 is never."""
        self._timer_s = None if milliseconds < 0 else time.monotonic() + milliseconds / 1e3
