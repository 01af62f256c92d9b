"""nginx as a server."""

import json
from pathlib import Path

from longlook_adapter.accepted import Accepted
from longlook_adapter.debian import Packaged
from longlook_adapter.knobs import parse_knobs
from longlook_adapter.options import Options
from longlook_adapter.supervise import Foreign, supervise

from nginx_adapter.configuration import KNOBS, configuration

PROGRAM = Packaged(Path(__file__).parents[1], "usr/sbin/nginx")
_LISTENS = "start worker process "


def run(options: Options) -> None:
    """Serve until SIGTERM."""
    knobs = parse_knobs(options.knobs, KNOBS, "nginx")

    def configure(folder: Path, port: int) -> Foreign:
        file = folder / "nginx.conf"
        file.write_text(configuration(options, knobs, port, folder))
        accepted = Accepted((options.address, port))

        def on_request(line: str) -> None:
            entry = json.loads(line)
            remote = (entry["address"], int(entry["port"]))
            accepted.request(options.protocol, remote, resumed=entry["reused"] == "r", used_0rtt=False)

        argv = (PROGRAM.path, "-p", str(folder), "-c", str(file), "-e", "stderr")
        return Foreign(argv, is_ready=lambda line: _LISTENS in line, on_request=on_request, env=PROGRAM.env)

    supervise(options, PROGRAM.version(), configure)
