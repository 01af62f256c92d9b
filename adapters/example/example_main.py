"""The example of an adapter: HTTP/1.1 over TLS, server and client (adapters/CONTRACT.md). Copy this folder.

Needs adapters/lib/python in PYTHONPATH and nothing else but Python's standard library.
"""

import asyncio
import sys

from example_adapter import PROTOCOL, client, server
from longlook_adapter.program import main

if __name__ == "__main__":
    # `main` parses `server --protocol …` and `client JOB.json`, prints `error` lines and returns the exit codes.
    sys.exit(
        main(
            sys.argv[1:],
            "example",
            (PROTOCOL,),
            lambda options: asyncio.run(server.run(options)),
            lambda job: asyncio.run(client.run(job)),
        )
    )
