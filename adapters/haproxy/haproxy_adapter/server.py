"""HAProxy as a server: it ends HTTP/3 or HTTP/2, before an origin with the files."""

import tempfile
from pathlib import Path

from longlook_adapter.accepted import Accepted
from longlook_adapter.either import ALT_SVC_PORT
from longlook_adapter.options import Options
from longlook_adapter.own_config import checked_only
from longlook_adapter.supervise import Foreign, supervise

from haproxy_adapter.configuration import configuration, knobs_of, request_of
from haproxy_adapter.origin import origin
from haproxy_adapter.own import OwnConfig
from haproxy_adapter.proxy import LISTENS, PROGRAM


def run(options: Options) -> None:
    """Serve until SIGTERM, or only check the user's own configuration (adapters/CONTRACT.md)."""
    version = PROGRAM.version()
    knobs = knobs_of(options, version)
    own = OwnConfig.of_trial(knobs)

    def configured(folder: Path, port: int, socket: Path) -> Path:
        """Write the configuration, checked if it has a part of the user's, and return its file."""
        pem, file = folder / "site.pem", folder / "haproxy.cfg"
        pem.touch(0o600)
        pem.write_text(Path(options.certificate).read_text() + Path(options.key).read_text())
        ours = configuration(options, knobs, port, pem, socket, version)
        text, origins = (ours, []) if own is None else own.merged(ours)
        file.write_text(text, encoding="utf-8")
        if own is not None:
            own.check(PROGRAM, file, origins)
        return file

    if checked_only(lambda folder: configured(folder, options.port, folder / "origin.sock")):
        return
    with tempfile.TemporaryDirectory(prefix="longlook-") as home, origin(options.www, Path(home)) as socket:

        def configure(folder: Path, port: int) -> Foreign:
            file = configured(folder, port, socket)
            accepted = Accepted((options.address, port))

            def on_request(line: str) -> None:
                """Report a connection if no ticket is given: the log says nothing of early data over QUIC."""
                if ALT_SVC_PORT in knobs and (found := request_of(line)) is not None:
                    accepted.request(*found, resumed=False, used_0rtt=False)

            argv = (*PROGRAM.argv, "-W", "-db", "-f", str(file))
            return Foreign(argv, lambda line: LISTENS in line, on_request, PROGRAM.env, name="HAProxy")

        supervise(options, version, configure)
