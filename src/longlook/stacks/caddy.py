"""Caddy: quic-go and Go's net/http behind a web server (adapters/caddy).

Releases come from Python's package index; sources of the user's are compiled by the machine's Go.
"""

from longlook.core import (
    ALT_SVC_PORT,
    Command,
    ConnectionState,
    Program,
    ServerJob,
    Stack,
    Version,
    server_arguments,
    with_default,
)
from longlook.provision import ENVIRONMENT, GoMain, PythonAdapter, adapter_of

_NAME = "caddy"
_VERSIONS = (  # each has a lock file in adapters/caddy/locks
    Version("2.9.1", "2025-01-25", note="quic-go 0.48.2, Go 1.23.4"),
    Version("2.10.2", "2025-08-25", note="quic-go 0.54.0, Go 1.25.0"),
    Version("2.11.1", "2026-03-03", note="quic-go 0.59.0, Go 1.26.0"),
    Version("2.11.7", "2026-10-10", note="quic-go 0.63.0, Go 1.26.8"),
)


def server_command(program: Program, job: ServerJob) -> Command:
    """Return the call of the program as a server."""
    main = str(adapter_of(program) / "caddy_main.py")
    return Command((program.path, "-S", main, *server_arguments(job)), ENVIRONMENT)  # -S: it needs no site-packages


_ADAPTER = PythonAdapter(_NAME, _VERSIONS)
_MAIN = GoMain(_NAME, "github.com/caddyserver/caddy/v2", "./cmd/caddy", "nobadger,nomysql,nopgx", "caddy_bin")
"""With the tags of the releases."""

STACK = Stack(
    name=_NAME,
    summary="Caddy: a web server on quic-go and Go's net/http",
    roles=("server",),
    protocols=("h3", "h2"),
    connections=(ConnectionState.COLD, ConnectionState.RESUMED, ConnectionState.ZERO_RTT),
    versions=_VERSIONS,
    knobs={"alt_svc_port": with_default(ALT_SVC_PORT, "stack: no header")},
    either=True,
    server_config="Caddyfile",
    log_formats=("qlog",),
    install=_ADAPTER.install,
    server_command=server_command,
    installed=_ADAPTER.installed,
    from_sources=_MAIN.from_sources,
)
