"""nginx, of Debian: HTTP/2 over TCP (adapters/nginx)."""

from longlook.core.model import ConnectionState
from longlook.core.stack import Knob, Stack, Version
from longlook.provision.packaged import DebianAdapter, packaged_server

_NAME = "nginx"
_VERSIONS = (Version("1.22.1", "2022-11-10"),)
_ADAPTER = DebianAdapter(_NAME, _VERSIONS, {"1.22.1": "bookworm"})
_KNOBS = {
    "max_incoming_streams": Knob(
        int, "streams", None, "requests at once per connection (stack: 128)",
        roles=("server",), minimum=1, maximum=100_000,
    ),
}  # fmt: skip

STACK = Stack(
    name=_NAME,
    summary="nginx, of Debian: HTTP/2 over TCP",
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
