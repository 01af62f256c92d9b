"""nginx, of Debian: HTTP/2 over TCP (adapters/nginx)."""

from longlook.core.job import Program
from longlook.core.model import ConnectionState
from longlook.core.stack import Knob, Stack, Version
from longlook.provision.packaged import is_packaged, packaged, packaged_server

_NAME = "nginx"
SUITES = {"1.22.1": "bookworm"}  # version → the release of Debian that has it; each has a list in packages/
_KNOBS = {
    "max_incoming_streams": Knob(
        int, "streams", None, "requests at once per connection (stack: 128)",
        roles=("server",), minimum=1, maximum=100_000,
    ),
}  # fmt: skip


def install(version: str) -> Program:
    """Return the adapter with Debian's packages, from the cache or from Debian's archive."""
    return packaged(_NAME, STACK.version(version).name, SUITES[version])


def installed(version: str) -> bool:
    """Return whether `install` has nothing to do."""
    return is_packaged(_NAME, version)


STACK = Stack(
    name=_NAME,
    summary="nginx, of Debian: HTTP/2 over TCP",
    roles=("server",),
    protocols=("h2",),
    connections=(ConnectionState.COLD, ConnectionState.RESUMED),
    versions=(Version("1.22.1", "2022-11-10"),),
    knobs=_KNOBS,
    log_formats=(),
    install=install,
    server_command=packaged_server,
    installed=installed,
)
