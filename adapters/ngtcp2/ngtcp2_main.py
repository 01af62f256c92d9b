"""Drive libngtcp2 and libnghttp3 over GnuTLS: an HTTP/3 server and client (adapters/CONTRACT.md).

The libraries implement the protocol; this program has the sockets, the timers and the files. ngtcp2's own programs
cannot be wrapped: their client verifies no certificate and requests everything at once, and their clocks count
milliseconds.
"""

import asyncio
import sys

from longlook_adapter.program import main
from ngtcp2_adapter import client, server

if __name__ == "__main__":
    sys.exit(
        main(
            sys.argv[1:],
            "ngtcp2",
            ("h3",),
            lambda options: asyncio.run(server.run(options)),
            lambda job: asyncio.run(client.run(job)),
        )
    )
