"""Python's own HTTP server and a client for it: HTTP/1.0, a connection for each file (adapters/python-http)."""

from pathlib import Path

from longlook.core.job import Program
from longlook.core.model import ConnectionState
from longlook.core.paths import adapters_dir
from longlook.core.stack import Knob, Stack, Version
from longlook.provision.python import environment, is_made, python_client, python_server

_NAME = "python-http"
_KNOBS = {
    "threads": Knob(
        bool, None, False, "each connection has a thread; else one is answered after the other", roles=("server",)
    ),
}


def install(version: str) -> Program:
    """Make the environment, or take it from the cache."""
    return environment(_NAME, STACK.version(version).name, _sources())


def installed(version: str) -> bool:
    """Return whether `install` has nothing to do."""
    return is_made(_NAME, version, _sources())


def _sources() -> Path:
    return adapters_dir() / _NAME


STACK = Stack(
    name=_NAME,
    summary="Python's http.server and http.client: HTTP/1.0 over TLS, a connection for each file",
    roles=("server", "client"),
    protocols=("http/1.0",),
    connections=(ConnectionState.COLD, ConnectionState.RESUMED),
    versions=(Version("0.6", "", note="the module's own version; the program's digest covers that of Python"),),
    knobs=_KNOBS,
    log_formats=(),
    install=install,
    server_command=python_server,
    client_command=python_client,
    installed=installed,
)
