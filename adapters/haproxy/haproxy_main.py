"""Serve files by HAProxy before an origin, or carry TCP on by it (adapters/CONTRACT.md); `version V` fails unless it is
version V.
"""

import sys

from haproxy_adapter import proxy, server
from longlook_adapter.either import EITHER
from longlook_adapter.program import main

if __name__ == "__main__":
    if sys.argv[1:2] == ["version"]:
        proxy.PROGRAM.expect(sys.argv[2])
    else:
        protocols = ("h3", "h2", EITHER, "http/1.1", "http/1.0")
        sys.exit(main(sys.argv[1:], "haproxy", protocols, server.run, None, proxy.run))
