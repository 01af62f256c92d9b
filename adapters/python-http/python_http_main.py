"""Drive Python's HTTP/1.0 server and a client for it: a connection for each file (adapters/CONTRACT.md)."""

import sys

from longlook_adapter.program import main
from python_http_adapter import client, server
from python_http_adapter.tls import PROTOCOL

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], "Python's http.server", (PROTOCOL,), server.run, client.run))
