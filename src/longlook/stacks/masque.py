"""MASQUE: a proxy through which clients tunnel QUIC, by CONNECT-UDP over quic-go's HTTP/3 (adapters/masque)."""

from longlook.core import Command, ConnectionState, Knob, Program, ProxyJob, Stack, Version, proxy_arguments
from longlook.provision import GoAdapter

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
    return GoAdapter(_NAME, STACK.version(version).name, _MODULE).build()


def installed(version: str) -> bool:
    """Return whether `install` has nothing to do."""
    return GoAdapter(_NAME, version, _MODULE).is_built


def command(program: Program, job: ProxyJob) -> Command:
    """Return the call of the program as the proxy, or as the relay beside the client."""
    return Command((program.path, *proxy_arguments(job)))


STACK = Stack(
    name=_NAME,
    summary="MASQUE: a proxy through which clients tunnel QUIC (CONNECT-UDP, RFC 9298, over quic-go's HTTP/3)",
    roles=("proxy",),
    protocols=("h3",),
    connections=tuple(ConnectionState),  # the ends' own: the tunnel carries their packets as they are
    versions=(Version("0.65.0", "2026-11-03", note="the version is quic-go's"),),
    knobs=_KNOBS,
    ipv6=False,  # it puts addresses and ports together without brackets
    log_formats=(),
    install=install,
    proxy_command=command,
    relay_command=command,
    installed=installed,
)
