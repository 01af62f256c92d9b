"""Drive picoquic: an HTTP/3 server and client (adapters/CONTRACT.md).

The library of a Python package implements the protocol (locks/); this program has the sockets, the timers and the
files.
"""

import asyncio
import selectors
import sys
from collections.abc import Coroutine
from typing import Any

from longlook_adapter.program import main
from picoquic_adapter import client, server


def run(work: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine in a loop whose timers are as fine as picoquic's: epoll would round them to milliseconds."""
    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(selectors.SelectSelector())) as runner:
        runner.run(work)


if __name__ == "__main__":
    sys.exit(
        main(
            sys.argv[1:],
            "picoquic",
            ("h3",),
            lambda options: run(server.run(options)),
            lambda job: run(client.run(job)),
        )
    )
