"""Apache 2.4 with mod_http2 and the event MPM, of Debian: HTTP/2 over TCP (adapters/apache)."""

from dataclasses import replace

from longlook.core import Version
from longlook.provision import debian_server

SUITES = {"2.4.68": "bookworm"}

STACK = replace(
    debian_server(
        "apache",
        "Apache 2.4 with mod_http2 and the event MPM, of Debian: HTTP/2 over TCP",
        (Version("2.4.68", "2026-06-12"),),
        SUITES,
        streams=100,
    ),
    server_config="httpd.conf",
)
