"""Serve files by Envoy over HTTP/3, HTTP/2 or both, or carry requests on over one of them (adapters/CONTRACT.md)."""

import sys

from envoy_adapter import server
from longlook_adapter.either import EITHER
from longlook_adapter.program import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], "envoy", ("h3", "h2", EITHER), server.run, None, server.carry))
