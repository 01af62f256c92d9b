"""Apache 2.4 with mod_http2 and the event MPM, of Debian: HTTP/2 over TCP (adapters/apache)."""

from dataclasses import replace

from longlook.core import Version
from longlook.provision import debian_server

SUITES = {"2.4.68": "bookworm", "2.4.69": "forky"}

STACK = replace(
    debian_server(
        "apache",
        "Apache 2.4 with mod_http2 and the event MPM, of Debian: HTTP/2 over TCP",
        (Version("2.4.68", "2026-06-12"), Version("2.4.69", "2026-10-01")),
        SUITES,
        streams=100,
    ),
    default="2.4.68",  # of Debian's stable release: a later one may leave the archive any day
    server_config="httpd.conf",
)
