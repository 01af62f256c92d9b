"""Drive aioquic: an HTTP/3 server and client in Python (adapters/CONTRACT.md).

It runs on the Python of an environment of its own, which holds aioquic and its dependencies (locks/).
"""

import asyncio
import sys

from aioquic_adapter import client, server
from longlook_adapter.program import main

if __name__ == "__main__":
    sys.exit(
        main(
            sys.argv[1:],
            "aioquic",
            ("h3",),
            lambda options: asyncio.run(server.run(options)),
            lambda job: asyncio.run(client.run(job)),
        )
    )
