"""Apache 2.4 with mod_http2 and the event MPM, of Debian: HTTP/2 over TCP (adapters/apache)."""

from longlook.core.model import ConnectionState
from longlook.core.stack import Knob, Stack, Version
from longlook.provision.packaged import DebianAdapter, packaged_server

_NAME = "apache"
_VERSIONS = (Version("2.4.68", "2026-06-12"),)
_ADAPTER = DebianAdapter(_NAME, _VERSIONS, {"2.4.68": "bookworm"})
_KNOBS = {
    "max_incoming_streams": Knob(
        int, "streams", None, "requests at once per connection (stack: 100)",
        roles=("server",), minimum=1, maximum=100_000,
    ),
}  # fmt: skip

STACK = Stack(
    name=_NAME,
    summary="Apache 2.4 with mod_http2 and the event MPM, of Debian: HTTP/2 over TCP",
    roles=("server",),
    protocols=("h2",),
    connections=(ConnectionState.COLD, ConnectionState.RESUMED),
    versions=_VERSIONS,
    knobs=_KNOBS,
    log_formats=(),
    install=_ADAPTER.install,
    server_command=packaged_server,
    installed=_ADAPTER.installed,
)
