"""Python's own HTTP server and a client for it: HTTP/1.0, a connection for each file (adapters/python-http)."""

from longlook.core import ConnectionState, Knob, Stack, Version
from longlook.provision import PythonAdapter, python_client, python_server

_NAME = "python-http"
_VERSIONS = (Version("0.6", "", note="the module's own version; the program's digest covers that of Python"),)
_KNOBS = {
    "threads": Knob(
        bool, None, False, "each connection has a thread; else one is answered after the other", roles=("server",)
    ),
}

_ADAPTER = PythonAdapter(_NAME, _VERSIONS)

STACK = Stack(
    name=_NAME,
    summary="Python's http.server and http.client: HTTP/1.0 over TLS, a connection for each file",
    roles=("server", "client"),
    protocols=("http/1.0",),
    connections=(ConnectionState.COLD, ConnectionState.RESUMED),
    versions=_VERSIONS,
    knobs=_KNOBS,
    log_formats=(),
    install=_ADAPTER.install,
    server_command=python_server,
    client_command=python_client,
    installed=_ADAPTER.installed,
)
