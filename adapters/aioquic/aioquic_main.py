"""Drive aioquic: an HTTP/3 server and client in Python (adapters/CONTRACT.md).

It runs on the Python of an environment of its own, which holds aioquic and what that needs (locks/).
"""

import asyncio
import os
import sys

from aioquic_adapter import client, server
from aioquic_adapter.errors import AdapterError, ReportedError
from aioquic_adapter.job import read_job
from aioquic_adapter.lines import emit_error

USAGE = """usage: aioquic_main.py server --protocol h3 --address IP --port N --www DIR --certificate PEM --key PEM
                         [--knob NAME=VALUE]...
       aioquic_main.py client JOB.json"""


def main(arguments: list[str]) -> int:
    """Do what the arguments say; the exit code of the contract."""
    try:
        if arguments[:1] == ["server"]:
            asyncio.run(server.run(server.parse_options(arguments[1:])))
        elif arguments[:1] == ["client"] and len(arguments) == 2:
            asyncio.run(client.run(read_job(arguments[1])))
        else:
            print(USAGE, file=sys.stderr)
            emit_error("neither `server …` nor `client JOB.json`")
            return 2
    except ReportedError:
        return 1
    except AdapterError as error:
        emit_error(str(error), supported=error.supported)
        return error.exit_code
    except BrokenPipeError:  # nobody reads any more
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (OSError, ValueError) as error:  # a port in use, a certificate that cannot be read
        emit_error(str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
