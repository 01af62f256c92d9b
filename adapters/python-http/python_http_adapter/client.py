"""A job: a new connection for each file, at most six at once."""

import hashlib
import socket
import ssl
import time
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from http.client import HTTPException, HTTPResponse

from longlook_adapter.addresses import family_of
from longlook_adapter.clock import now_ns
from longlook_adapter.errors import ReportedError, UnsupportedError
from longlook_adapter.job import COLD, EARLY, PRIME, Job
from longlook_adapter.knobs import parse_knobs
from longlook_adapter.lines import endpoint

from python_http_adapter.tls import PROTOCOL, context, report, report_connection

_AT_ONCE = 6
"""Connections to one server that browsers open with HTTP/1."""
_PIECE_BYTES = 1 << 16


def run(job: Job) -> None:
    """Do a job; ReportedError where something did not arrive, which the lines have reported."""
    parse_knobs(job.knobs, {}, "Python's http.client")
    if job.connection == EARLY:
        raise UnsupportedError("connection '0rtt': Python's TLS has no early data")
    if job.connections != 1:
        raise UnsupportedError(f"connections {job.connections}: this client opens one for each file")
    tls = context(ssl.PROTOCOL_TLS_CLIENT)
    tls.load_verify_locations(job.ca)
    load = _Load(job, tls, time.monotonic() + job.timeout_s)
    session = None
    if job.connection != COLD:
        primed = _Fetch(load, PRIME, None)
        primed.run()
        session = primed.session
        if session is None or not session.has_ticket:
            for path in (path for paths in job.phases for path in paths):
                _Fetch(load, path, None).fail(f"priming connection: {primed.error or 'no session ticket'}")
            raise ReportedError
    complete = True
    for paths in job.phases:
        fetches = [_Fetch(load, path, session) for path in paths]
        with ThreadPoolExecutor(min(_AT_ONCE, len(fetches))) as pool:
            list(pool.map(_Fetch.run, fetches))
        complete = complete and all(fetch.error is None for fetch in fetches)
    if not complete:
        raise ReportedError


class _Load:
    """What all fetches of a job share; `deadline_s` is a time of the monotonic clock."""

    def __init__(self, job: Job, tls: ssl.SSLContext, deadline_s: float) -> None:
        self.job, self.tls, self._deadline_s = job, tls, deadline_s

    def left_s(self) -> float:
        """Return the time that is left; TimeoutError where there is none."""
        left_s = self._deadline_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        return left_s


class _Fetch:
    """One file over a connection of its own; None where something was not seen.

    The caller's request begins when the phase does, also where it waits for one of the six connections.
    """

    def __init__(self, load: _Load, path: str, ticket: ssl.SSLSession | None) -> None:
        self.session: ssl.SSLSession | None = None
        self.error: str | None = None
        self._load, self._path, self._ticket = load, path, ticket
        self._t_start_ns = now_ns()
        self._t_first_byte_ns: int | None = None
        self._t_end_ns: int | None = None
        self._local: str | None = None
        self._protocol: str | None = None
        self._status: int | None = None
        self._bytes = 0
        self._sha256 = hashlib.sha256()

    def run(self) -> None:
        """Fetch it and print its `connection` and `object` lines; a priming fetch has no `object` line."""
        try:
            self._fetch()
            if self._status != HTTPStatus.OK:
                self.error = f"HTTP status {self._status}"
        except TimeoutError:
            self.error = f"not done within {self._load.job.timeout_s:g} s"
        except (OSError, HTTPException) as error:
            self.error = f"{type(error).__name__}: {error}"
        if self._path != PRIME:
            self._report()

    def fail(self, reason: str) -> None:
        """Print its `object` line without having fetched it."""
        self.error = reason
        self._report()

    def _fetch(self) -> None:
        job, opened_ns = self._load.job, now_ns()
        with socket.socket(family_of(job.address), socket.SOCK_STREAM) as plain:
            plain.settimeout(self._load.left_s())
            plain.connect((job.address, job.port))
            plain.settimeout(self._load.left_s())
            with self._load.tls.wrap_socket(plain, server_hostname=job.host, session=self._ticket) as secure:
                secured_ns = now_ns()
                self._local = endpoint(secure.getsockname())
                report_connection(secure, secured_ns, primes=self._path == PRIME, t_start_ns=opened_ns)
                secure.sendall(f"GET {self._path} HTTP/1.0\r\nHost: {job.authority}\r\n\r\n".encode("ascii"))
                self._receive(secure)
                self.session = secure.session

    def _receive(self, secure: ssl.SSLSocket) -> None:
        response = HTTPResponse(secure, method="GET")
        response.begin()
        self._t_first_byte_ns = now_ns()
        self._status = response.status
        self._protocol = PROTOCOL if response.version == 10 else "http/1.1"
        while piece := response.read1(_PIECE_BYTES):
            self._bytes += len(piece)
            self._sha256.update(piece)
            secure.settimeout(self._load.left_s())
        if response.length:
            raise HTTPException(f"the connection ended {response.length} bytes early")
        self._t_end_ns = now_ns()

    def _report(self) -> None:
        whole = self._t_end_ns is not None
        report(
            "object",
            url=self._load.job.site + self._path,
            path=self._path,
            local=self._local,
            protocol=self._protocol,
            status=self._status,
            t_start_ns=self._t_start_ns,
            t_first_byte_ns=self._t_first_byte_ns,
            t_end_ns=self._t_end_ns,
            bytes=self._bytes,
            digest=f"sha256:{self._sha256.hexdigest()}" if whole else None,
            error=self.error,
        )
