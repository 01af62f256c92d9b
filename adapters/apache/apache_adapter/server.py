"""Apache as a server."""

import ctypes
import json
import os
from pathlib import Path

from longlook_adapter.accepted import Accepted
from longlook_adapter.debian import Packaged
from longlook_adapter.knobs import parse_knobs
from longlook_adapter.options import Options
from longlook_adapter.own_config import checked_only
from longlook_adapter.supervise import Foreign, supervise

from apache_adapter.configuration import KNOBS, configuration
from apache_adapter.own import OwnConfig

PROGRAM = Packaged(Path(__file__).parents[1], "usr/sbin/apache2")
_LISTENS = "resuming normal operations"
_PR_SET_SECUREBITS, _NO_SETUID_FIXUP = 28, 1 << 2


def run(options: Options) -> None:
    """Serve until SIGTERM, or only check the user's own configuration (adapters/CONTRACT.md)."""
    knobs = parse_knobs(options.knobs, KNOBS, "Apache")
    own = OwnConfig.of_trial(knobs)
    prctl, as_root = ctypes.CDLL(None).prctl, os.geteuid() == 0

    def keep_capabilities() -> None:
        """Let Apache, which refuses to work as root, still read files that only root may read."""
        if as_root:
            prctl(_PR_SET_SECUREBITS, _NO_SETUID_FIXUP, 0, 0, 0)

    def configure(folder: Path, port: int) -> Foreign:
        file = folder / "apache.conf"
        modules = PROGRAM.root / "usr" / "lib" / "apache2" / "modules"
        ours = configuration(options, knobs, port, folder, modules, as_root=as_root)
        file.write_text(ours if own is None else own.merged(ours, folder), encoding="utf-8")
        if own is not None:
            own.check(PROGRAM, file)
        accepted = Accepted((options.address, port))

        def on_request(line: str) -> None:
            entry = json.loads(line)
            remote = (entry["address"], int(entry["port"]))
            accepted.request(options.protocol, remote, resumed=entry["session"] == "Resumed", used_0rtt=False)

        return Foreign(
            (*PROGRAM.argv, "-f", str(file), "-DFOREGROUND"),
            is_ready=lambda line: _LISTENS in line,
            on_request=on_request,
            env=PROGRAM.env,
            prepare=keep_capabilities,
        )

    if not checked_only(lambda folder: configure(folder, options.port)):
        supervise(options, PROGRAM.version(), configure)
