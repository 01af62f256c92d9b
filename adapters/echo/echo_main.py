"""Echo of datagrams of declared sizes, bare or in QUIC (adapters/CONTRACT.md, Echo): the server and the client.

It runs on the Python of an environment of its own, which holds aioquic and its dependencies (locks/).
"""

import asyncio
import sys

from echo_adapter import NAME, PROTOCOLS, QUIC, datagrams
from echo_adapter.job import read_echo_job
from longlook_adapter.errors import AdapterError
from longlook_adapter.lines import emit_error
from longlook_adapter.options import Options
from longlook_adapter.program import main


def serve(options: Options) -> None:
    """Answer until SIGTERM."""
    if options.protocol == QUIC:
        from echo_adapter import quic_server  # aioquic takes long to load, which bare datagrams need not wait for

        asyncio.run(quic_server.run(options))
    else:
        datagrams.serve(options)


def try_all(path: str) -> int:
    """Do the job in a file and return the exit code; `longlook_adapter.job` reads jobs that fetch files."""
    try:
        job = read_echo_job(path)
        if job.protocol == QUIC:
            from echo_adapter import quic_client

            asyncio.run(quic_client.run(job))
        else:
            datagrams.run(job)
    except AdapterError as error:
        emit_error(str(error), supported=error.supported)
        return error.exit_code
    except (OSError, ValueError) as error:
        emit_error(str(error))
        return 1
    return 0


def run(arguments: list[str]) -> int:
    """Return the exit code of a call."""
    if arguments[:1] == ["client"] and len(arguments) == 2:
        return try_all(arguments[1])
    return main(arguments, NAME, PROTOCOLS, serve, None)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
