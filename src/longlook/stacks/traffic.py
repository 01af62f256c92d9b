"""traffic: constant and on-off cross traffic over bare UDP (adapters/traffic), for flows that are `cross`."""

from longlook.core import Command, ConnectionState, Knob, Program, ServerJob, Stack, Version, server_arguments
from longlook.provision import GoAdapter

_NAME = "traffic"
_MODULE = "longlook.example/adapters/traffic"
_SERVER = ("server",)

_KNOBS = {
    "rate": Knob(
        int, "bit/s", 1_000_000, "IP packets while it sends", _SERVER, minimum=1_000, maximum=1_000_000_000
    ),
    "packet_size": Knob(int, "bytes", 1_200, "UDP payload of each packet", _SERVER, minimum=64, maximum=1_472),
    "on": Knob(float, "seconds", 1.0, "mean length of a period of sending", _SERVER, minimum=0.001, maximum=3_600),
    "off": Knob(
        float, "seconds", 0.0, "mean length of a pause after each such period; 0: none", _SERVER,
        minimum=0, maximum=3_600,
    ),
    "law": Knob(str, None, "fixed", "distribution of periods' lengths", _SERVER, choices=("fixed", "exponential")),
}  # fmt: skip


def install(version: str) -> Program:
    """Build the adapter, or take it from the cache."""
    return GoAdapter(_NAME, STACK.version(version).name, _MODULE).build()


def installed(version: str) -> bool:
    """Return whether `install` has nothing to do."""
    return GoAdapter(_NAME, version, _MODULE).is_built


def server_command(program: Program, job: ServerJob) -> Command:
    """Return the call of the program as a server."""
    return Command((program.path, *server_arguments(job)))


def client_command(program: Program, job_file: str) -> Command:
    """Return the call of the program as a client."""
    return Command((program.path, "client", job_file))


STACK = Stack(
    name=_NAME,
    summary="constant and on-off cross traffic over bare UDP, for flows that only compete with others",
    roles=("server", "client"),
    protocols=("udp",),
    connections=(ConnectionState.COLD,),
    versions=(Version("1.0", "2026-11-21"),),
    knobs=_KNOBS,
    log_formats=(),
    ipv6=False,
    install=install,
    server_command=server_command,
    client_command=client_command,
    installed=installed,
)
