"""echo: datagrams of declared sizes, answered with the same, over bare UDP and over QUIC by aioquic (adapters/echo)."""

from longlook.core import QUIC_ECHO, UDP_ECHO, ConnectionState, Knob, Stack, Version
from longlook.provision import PythonAdapter, python_client, python_server

_NAME = "echo"
_VERSIONS = (Version("1.7.2", "2026-11-02", note="the version is that of its aioquic"),)
_ADAPTER = PythonAdapter(_NAME, _VERSIONS)

STACK = Stack(
    name=_NAME,
    summary="echo of datagrams of declared sizes, over bare UDP and over QUIC (aioquic)",
    roles=("server", "client"),
    protocols=(UDP_ECHO.name, QUIC_ECHO.name),
    connections=(ConnectionState.COLD,),
    versions=_VERSIONS,
    knobs={
        "dont_fragment": Knob(
            str,
            None,
            "set",
            "whether datagrams may be fragmented: `set`: never; `unset`: anywhere; `kernel`: as Linux does where "
            "nobody asks, by the sender once they are larger than the path MTU that it knows",
            choices=("set", "unset", "kernel"),
            protocols=(UDP_ECHO.name,),
        )
    },
    ipv6=False,  # its sizes, and what fragments them, mean IPv4
    log_formats=(),
    install=_ADAPTER.install,
    server_command=python_server,
    client_command=python_client,
    installed=_ADAPTER.installed,
)
