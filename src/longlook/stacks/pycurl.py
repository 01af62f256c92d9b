"""pycurl: libcurl with ngtcp2 and nghttp3, as its Python wheels have it (adapters/pycurl). A client.

The wheels have HTTP/3 since 7.48.0; before, they are clients of HTTP/2 alone.
"""

from longlook.core import ConnectionState, Stack, Version
from longlook.provision import PythonAdapter, python_client

_NAME = "pycurl"
_TCP_ALONE = (("h2",), (ConnectionState.COLD, ConnectionState.RESUMED))
_VERSIONS = (  # each has a lock file in adapters/pycurl/locks
    Version("7.45.7", "2025-09-24", *_TCP_ALONE, note="libcurl 8.16"),
    Version("7.46.0", "2026-04-30", *_TCP_ALONE, note="libcurl 8.19"),
    Version("7.47.0", "2026-06-29", *_TCP_ALONE, note="libcurl 8.21"),
    Version("7.48.0", "2026-09-16", note="libcurl 8.22, ngtcp2 1.25"),
    Version("7.49.0", "2026-10-26", note="libcurl 8.23, ngtcp2 1.25"),
)

_ADAPTER = PythonAdapter(_NAME, _VERSIONS)

STACK = Stack(
    name=_NAME,
    summary="libcurl with ngtcp2, by pycurl: HTTP/3 and HTTP/2 in C, a client",
    roles=("client",),
    protocols=("h3", "h2"),
    connections=(ConnectionState.COLD, ConnectionState.RESUMED, ConnectionState.ZERO_RTT),
    versions=_VERSIONS,
    knobs={},
    either=True,
    priorities=True,
    log_formats=("qlog",),
    install=_ADAPTER.install,
    client_command=python_client,
    installed=_ADAPTER.installed,
)
