"""nginx as a server."""

import json
from pathlib import Path

from longlook_adapter.accepted import Accepted
from longlook_adapter.debian import Packaged
from longlook_adapter.options import Options
from longlook_adapter.own_config import checked_only
from longlook_adapter.supervise import Foreign, supervise

from nginx_adapter.configuration import configuration, knobs_of
from nginx_adapter.own import OwnConfig

PROGRAM = Packaged(Path(__file__).parents[1], "usr/sbin/nginx")
_LISTENS = "start worker process "
_EARLY = "1"


def run(options: Options) -> None:
    """Serve until SIGTERM, or only check the user's own configuration (adapters/CONTRACT.md)."""
    version = PROGRAM.version()
    knobs = knobs_of(options, version)
    own = OwnConfig.of_trial(knobs)

    def configure(folder: Path, port: int) -> Foreign:
        file = folder / "nginx.conf"
        ours = configuration(options, knobs, port, folder, version)
        file.write_text(ours if own is None else own.merged(ours, folder), encoding="utf-8")
        if own is not None:
            own.check(PROGRAM, folder, file)
        accepted = Accepted((options.address, port))

        def on_request(line: str) -> None:
            entry = json.loads(line)
            remote = (entry["address"], int(entry["port"]))
            resumed, early = entry["reused"] == "r", entry["early"] == _EARLY
            accepted.request(entry["protocol"], remote, resumed=resumed, used_0rtt=early)

        argv = (*PROGRAM.argv, "-p", str(folder), "-c", str(file), "-e", "stderr")
        return Foreign(argv, lambda line: _LISTENS in line, on_request, PROGRAM.env, name="nginx")

    if not checked_only(lambda folder: configure(folder, options.port)):
        supervise(options, version, configure)
