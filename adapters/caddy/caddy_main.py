"""Serve files by Caddy over HTTP/3, HTTP/2 or both (adapters/CONTRACT.md)."""

import sys

from caddy_adapter import server
from longlook_adapter.either import EITHER
from longlook_adapter.program import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], "caddy", ("h3", "h2", EITHER), server.run, None))
