"""Serve files by Apache over HTTP/2 (adapters/CONTRACT.md); `version V` fails unless it is version V."""

import sys

from apache_adapter import server
from longlook_adapter.program import main

if __name__ == "__main__":
    if sys.argv[1:2] == ["version"]:
        server.PROGRAM.expect(sys.argv[2])
    else:
        sys.exit(main(sys.argv[1:], "apache", ("h2",), server.run, None))
