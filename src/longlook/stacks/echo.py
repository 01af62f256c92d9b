"""echo: datagrams of declared sizes, answered with the same, over bare UDP and over QUIC by aioquic (adapters/echo)."""

from pathlib import Path

from longlook.core.flows import ECHO_PROTOCOLS, UDP_ECHO
from longlook.core.job import Program
from longlook.core.model import ConnectionState
from longlook.core.paths import adapters_dir
from longlook.core.stack import Knob, Stack, Version
from longlook.provision.python import environment, is_made, python_client, python_server

_NAME = "echo"


def install(version: str) -> Program:
    """Make the environment with aioquic, or take it from the cache."""
    return environment(_NAME, STACK.version(version).name, _sources())


def installed(version: str) -> bool:
    """Return whether `install` has nothing to do."""
    return is_made(_NAME, version, _sources())


def _sources() -> Path:
    return adapters_dir() / _NAME


STACK = Stack(
    name=_NAME,
    summary="echo of datagrams of declared sizes, over bare UDP and over QUIC (aioquic)",
    roles=("server", "client"),
    protocols=ECHO_PROTOCOLS,
    connections=(ConnectionState.COLD,),
    versions=(Version("1.7.2", "2026-11-02", note="the version is that of its aioquic"),),
    knobs={
        "dont_fragment": Knob(
            str,
            None,
            "set",
            "whether datagrams may be fragmented: `set`: never; `unset`: anywhere; `kernel`: as Linux does where "
            "nobody asks, by the sender once they are larger than the path MTU that it knows",
            choices=("set", "unset", "kernel"),
            protocols=(UDP_ECHO,),
        )
    },
    log_formats=(),
    install=install,
    server_command=python_server,
    client_command=python_client,
    installed=installed,
)
