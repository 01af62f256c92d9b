"""The adapter of the example: `server.run` serves files, `client.run` does a job."""

import os
import socket
import ssl
from typing import Any

PROTOCOL = "h1"
"""Longlook's name of the protocol, in study files and lines; any name that a stack declares is known."""
ALPN = "http/1.1"
VERSION = "1.0"
"""Reported by the `ready` line. A real stack asks its library."""


def restrict(context: ssl.SSLContext) -> ssl.SSLContext:
    """Allow TLS 1.3 and one protocol only: neither side may fall back to something that was not asked for."""
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.set_alpn_protocols([ALPN])
    if keys := os.environ.get("SSLKEYLOGFILE"):  # unset means off
        context.keylog_filename = keys
    return context


def congestion_control(sock: Any) -> str:
    """Return the kernel's congestion control of a TCP socket: the proof of a trial's setting, so lines must have it."""
    return bytes(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)).rstrip(b"\0").decode()
