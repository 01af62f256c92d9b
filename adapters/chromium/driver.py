"""Drive headless Chromium: jobs in on standard input, lines out (adapters/CONTRACT.md, session client)."""

import argparse
import asyncio
import contextlib
import os
import signal
import stat
import sys
from collections.abc import Callable, Coroutine
from typing import Any

from chromium_driver import processes
from chromium_driver.clock import Clock
from chromium_driver.errors import BadJobError, DriverError, UnsupportedError
from chromium_driver.flags import Target
from chromium_driver.job import parse_job
from chromium_driver.lines import emit, emit_error
from chromium_driver.session import Session

LINE_LIMIT_BYTES = 16 * 1024 * 1024
ORPHAN_GRACE_S = 2.0


def main() -> int:
    """Run a session; the exit code of the contract."""
    options = _options()
    processes.adopt_orphans()
    try:
        return asyncio.run(_until_signalled(options))
    except DriverError as error:
        emit_error(str(error))
        return 1
    except BadJobError as error:
        emit_error(str(error))
        return 2
    except BrokenPipeError:  # nobody reads any more
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    finally:
        processes.end_children(ORPHAN_GRACE_S)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--browser", required=True, help="path of the Chromium binary")
    parser.add_argument("--domain", default="example.test", help="QUIC is spoken with quic.DOMAIN, TCP with tcp.DOMAIN")
    parser.add_argument("--address", default="10.8.0.2", help="address of the server (default: %(default)s)")
    parser.add_argument("--port", type=int, default=443, help="port of the server (default: %(default)s)")
    parser.add_argument("--spki", required=True, help="base64 SHA-256 of the server's public key, to be trusted")
    return parser.parse_args()


async def _until_signalled(options: argparse.Namespace) -> int:
    session = asyncio.create_task(_session(options))
    loop = asyncio.get_running_loop()
    stopping = False

    def stop() -> None:
        nonlocal stopping
        if not stopping:  # a second signal must not break off the cleaning up
            stopping = True
            session.cancel()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    with contextlib.suppress(asyncio.CancelledError):  # asked to stop: an orderly end
        await session
    return 0


async def _session(options: argparse.Namespace) -> None:
    target = Target(options.domain, options.address, options.port, options.spki)
    async with Session(options.browser, target, Clock()) as session:
        version = await session.start()
        emit("ready", role="client", protocol=None, address=target.address, port=target.port, version=version)
        next_line = await _standard_input()
        while line := await session.while_alive(next_line()):
            try:
                await session.run(parse_job(line.decode()))
            except UnsupportedError as error:
                emit_error(str(error), supported=False)
                emit("done", ok=False)


async def _standard_input() -> Callable[[], Coroutine[Any, Any, bytes]]:
    """What reads the next line, empty at the end."""
    mode = os.fstat(sys.stdin.fileno()).st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or sys.stdin.isatty()):
        return _read_file_line  # an event loop cannot wait for a file; it never blocks
    reader = asyncio.StreamReader(limit=LINE_LIMIT_BYTES)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin.buffer)
    return reader.readline


async def _read_file_line() -> bytes:
    return sys.stdin.buffer.readline()


if __name__ == "__main__":
    sys.exit(main())
