"""HAProxy of Debian: a proxy of TCP in the middle, which passes TLS through (adapters/haproxy)."""

import sys

from longlook.core import Command, ConnectionState, Program, ProxyJob, Stack, Version, proxy_arguments
from longlook.provision import ENVIRONMENT, DebianAdapter

_NAME = "haproxy"
_VERSIONS = (Version("2.6.12", "2023-03-28"),)
_ADAPTER = DebianAdapter(_NAME, _VERSIONS, {"2.6.12": "bookworm"})


def proxy_command(program: Program, job: ProxyJob) -> Command:
    """Return the call of the program as a proxy; it needs no site-packages."""
    return Command((sys.executable, "-S", program.path, *proxy_arguments(job)), ENVIRONMENT)


STACK = Stack(
    name=_NAME,
    summary="HAProxy of Debian: a proxy that splits TCP connections and passes TLS through",
    roles=("proxy",),
    protocols=("h2", "http/1.1", "http/1.0"),
    connections=tuple(ConnectionState),
    versions=_VERSIONS,
    knobs={},
    log_formats=(),
    install=_ADAPTER.install,
    early_data_protocols=("h2", "http/1.1", "http/1.0"),  # TLS is passed through
    proxy_command=proxy_command,
    installed=_ADAPTER.installed,
)
