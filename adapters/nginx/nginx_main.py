"""Serve files by nginx over HTTP/3, HTTP/2 or both (adapters/CONTRACT.md); `version V` fails unless it is version V."""

import sys

from longlook_adapter.either import EITHER
from longlook_adapter.program import main
from nginx_adapter import server

if __name__ == "__main__":
    if sys.argv[1:2] == ["version"]:
        server.PROGRAM.expect(sys.argv[2])
    else:
        sys.exit(main(sys.argv[1:], "nginx", ("h3", "h2", EITHER), server.run, None))
