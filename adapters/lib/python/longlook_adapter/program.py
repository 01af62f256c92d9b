"""An adapter's main function: it dispatches to a role, and turns errors into lines and exit codes of the contract."""

import os
import sys
from collections.abc import Callable

from longlook_adapter.errors import AdapterError, ReportedError
from longlook_adapter.job import Job, read_job
from longlook_adapter.lines import emit_error
from longlook_adapter.options import Options, ProxyOptions, parse_options, parse_proxy_options

USAGE = """usage: {0} server --protocol NAME --address IP --port N --www DIR --certificate PEM --key PEM
                 [--knob NAME=VALUE]...
       {0} client JOB.json
       {0} proxy --protocol NAME --address IP --port N --upstream IP:PORT --host NAME
                 --certificate PEM --key PEM --ca PEM [--knob NAME=VALUE]..."""


def main(
    arguments: list[str],
    stack: str,
    protocols: tuple[str, ...],
    serve: Callable[[Options], None] | None,
    fetch: Callable[[Job], None] | None,
    carry: Callable[[ProxyOptions], None] | None = None,
) -> int:
    """Serve, fetch or carry on as the arguments say, and return the exit code; None for a role that the stack lacks."""
    try:
        if arguments[:1] == ["server"] and serve is not None:
            serve(parse_options(arguments[1:], stack, protocols))
        elif arguments[:1] == ["proxy"] and carry is not None:
            carry(parse_proxy_options(arguments[1:], stack, protocols))
        elif arguments[:1] == ["client"] and len(arguments) == 2 and fetch is not None:
            fetch(read_job(arguments[1], stack, protocols))
        else:
            print(USAGE.format(stack), file=sys.stderr)
            roles = ["`proxy …`"] * (carry is not None)
            roles += ["`server …`"] * (serve is not None) + ["`client JOB.json`"] * (fetch is not None)
            emit_error(f"expected {' or '.join(roles)}")
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
