"""A session client's frame: it runs until the end of its input or SIGTERM, and leaves no process behind."""

import asyncio
import contextlib
import os
import signal
import stat
import sys
from collections.abc import Callable, Coroutine
from typing import Any

from longlook_adapter import processes
from longlook_adapter.errors import BadUsageError, DriverError
from longlook_adapter.lines import emit_error

LINE_LIMIT_BYTES = 16 * 1024 * 1024
ORPHAN_GRACE_S = 2.0


def run_session(session: Callable[[], Coroutine[Any, Any, None]]) -> int:
    """Run `session` to its end or a signal; return the exit code of the contract. A DriverError ends it with 1."""
    processes.adopt_orphans()
    try:
        return asyncio.run(_until_signalled(session))
    except DriverError as error:
        emit_error(str(error))
        return 1
    except BadUsageError as error:
        emit_error(str(error))
        return 2
    except BrokenPipeError:  # nobody reads any more
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    finally:
        processes.end_children(ORPHAN_GRACE_S)


async def standard_input() -> Callable[[], Coroutine[Any, Any, bytes]]:
    """Return a function that reads the next line, empty at the end."""
    mode = os.fstat(sys.stdin.fileno()).st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or sys.stdin.isatty()):
        return _read_file_line  # an event loop cannot wait for a file; it never blocks
    reader = asyncio.StreamReader(limit=LINE_LIMIT_BYTES)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin.buffer)
    return reader.readline


async def _read_file_line() -> bytes:
    return sys.stdin.buffer.readline()


async def _until_signalled(work: Callable[[], Coroutine[Any, Any, None]]) -> int:
    session = asyncio.create_task(work())
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
