"""nginx, of Debian: HTTP/2 over TCP (adapters/nginx)."""

from longlook.core import Version
from longlook.provision import debian_server

STACK = debian_server(
    "nginx", "nginx, of Debian: HTTP/2 over TCP", Version("1.22.1", "2022-11-10"), "bookworm", streams=128
)
