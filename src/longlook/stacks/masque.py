"""MASQUE: a proxy through which clients tunnel QUIC, by CONNECT-UDP over quic-go's HTTP/3 (adapters/masque)."""

from pathlib import Path

from longlook.core.errors import MachineError
from longlook.core.job import Program
from longlook.core.model import ConnectionState
from longlook.core.paths import adapters_dir
from longlook.core.stack import Command, Knob, ProxyJob, Stack, Version, proxy_arguments
from longlook.provision.build_cache import build, is_built
from longlook.provision.go import FLAGS, assembled, compile_go, toolchain

_NAME = "masque"
_MODULE = "github.com/quic-go/quic-go"

_KNOBS = {
    "tunnel": Knob(
        str, None, "cold", "cold: the relay connects to the proxy with the client's first packet; warm: before it",
        roles=("proxy",), choices=("cold", "warm"),
    ),
    "queue": Knob(
        int, "packets", 256, "packets that wait for the tunnel, in each direction of each of a client's sockets",
        roles=("proxy",), minimum=1, maximum=100_000,
    ),
}  # fmt: skip


def install(version: str) -> Program:
    """Build the adapter, or take it from the cache."""
    with assembled(_sources(), STACK.version(version).name) as sources:
        return build(
            _NAME, version, sources, toolchain(sources, None),
            lambda work, out: compile_go(work, out, _MODULE, None), str(FLAGS),
        )  # fmt: skip


def installed(version: str) -> bool:
    """Return whether `install` has nothing to do."""
    try:
        with assembled(_sources(), version) as sources:
            return is_built(_NAME, version, sources, toolchain(sources, None), str(FLAGS))
    except MachineError:  # no Go here: its version is unknown
        return False


def command(program: Program, job: ProxyJob) -> Command:
    """Return the call of the program as the proxy, or as the relay beside the client."""
    return Command((program.path, *proxy_arguments(job)))


def _sources() -> Path:
    return adapters_dir() / _NAME


STACK = Stack(
    name=_NAME,
    summary="MASQUE: a proxy through which clients tunnel QUIC (CONNECT-UDP, RFC 9298, over quic-go's HTTP/3)",
    roles=("proxy",),
    protocols=("h3",),
    connections=tuple(ConnectionState),  # the ends' own: the tunnel carries their packets as they are
    versions=(Version("0.65.0", "2026-11-03", note="the version is quic-go's"),),
    knobs=_KNOBS,
    log_formats=(),
    install=install,
    proxy_command=command,
    relay_command=command,
    installed=installed,
)
