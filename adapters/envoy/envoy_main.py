"""Serve files by Envoy, or carry requests on, over HTTP/3 or HTTP/2 (adapters/CONTRACT.md)."""

import sys

from envoy_adapter import server
from longlook_adapter.program import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], "envoy", ("h3", "h2"), server.run, None, server.carry))
