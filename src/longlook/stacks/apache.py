"""Apache 2.4 with mod_http2 and the event MPM, of Debian: HTTP/2 over TCP (adapters/apache)."""

from longlook.core.job import Program
from longlook.core.model import ConnectionState
from longlook.core.stack import Knob, Stack, Version
from longlook.provision.packaged import is_packaged, packaged, packaged_server

_NAME = "apache"
SUITES = {"2.4.68": "bookworm"}  # version → the release of Debian that has it; each has a list in packages/
_KNOBS = {
    "max_incoming_streams": Knob(
        int, "streams", None, "requests at once per connection (stack: 100)",
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
    summary="Apache 2.4 with mod_http2 and the event MPM, of Debian: HTTP/2 over TCP",
    roles=("server",),
    protocols=("h2",),
    connections=(ConnectionState.COLD, ConnectionState.RESUMED),
    versions=(Version("2.4.68", "2026-06-12"),),
    knobs=_KNOBS,
    log_formats=(),
    install=install,
    server_command=packaged_server,
    installed=installed,
)
