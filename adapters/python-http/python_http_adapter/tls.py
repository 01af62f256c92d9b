"""TLS of both ends, and the lines that report a connection."""

import os
import socket
import ssl
import threading
from typing import Any

from longlook_adapter.lines import emit, endpoint

PROTOCOL = "http/1.0"
_printing = threading.Lock()


def context(purpose: int) -> ssl.SSLContext:
    """Return a context for TLS 1.3 alone; `purpose` is ssl.PROTOCOL_TLS_CLIENT or ssl.PROTOCOL_TLS_SERVER."""
    made = ssl.SSLContext(purpose)
    made.minimum_version = ssl.TLSVersion.TLSv1_3
    made.set_alpn_protocols([PROTOCOL])
    if keys := os.environ.get("SSLKEYLOGFILE"):
        made.keylog_filename = keys
    return made


def report(event: str, **keys: Any) -> None:
    """Print a line; each connection may have a thread of its own."""
    with _printing:
        emit(event, **keys)


def report_connection(secure: ssl.SSLSocket, t_handshake_ns: int, **own: Any) -> None:
    """Print the `connection` line of a connection whose handshake is complete; `own` are keys of one end alone."""
    name = secure.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
    report(
        "connection",
        protocol=PROTOCOL,
        local=endpoint(secure.getsockname()),
        remote=endpoint(secure.getpeername()),
        resumed=secure.session_reused is True,
        used_0rtt=False,
        t_handshake_ns=t_handshake_ns,
        congestion_control=name.rstrip(b"\0").decode(),
        **own,
    )
