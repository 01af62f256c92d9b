"""HAProxy as a server: it ends HTTP/3 or HTTP/2, before an origin with the files."""

import tempfile
from pathlib import Path

from longlook_adapter.accepted import Accepted
from longlook_adapter.either import ALT_SVC_PORT
from longlook_adapter.options import Options
from longlook_adapter.supervise import Foreign, supervise

from haproxy_adapter.configuration import configuration, knobs_of, request_of
from haproxy_adapter.origin import origin
from haproxy_adapter.proxy import LISTENS, PROGRAM


def run(options: Options) -> None:
    """Serve until SIGTERM."""
    version = PROGRAM.version()
    knobs = knobs_of(options, version)
    with tempfile.TemporaryDirectory(prefix="longlook-") as home, origin(options.www, Path(home)) as socket:

        def configure(folder: Path, port: int) -> Foreign:
            pem, file = folder / "site.pem", folder / "haproxy.cfg"
            pem.touch(0o600)
            pem.write_text(Path(options.certificate).read_text() + Path(options.key).read_text())
            file.write_text(configuration(options, knobs, port, pem, socket, version))
            accepted = Accepted((options.address, port))

            def on_request(line: str) -> None:
                """Report a connection if no ticket is given: of QUIC the log does not say whether data came early."""
                if ALT_SVC_PORT in knobs and (found := request_of(line)) is not None:
                    accepted.request(*found, resumed=False, used_0rtt=False)

            argv = (*PROGRAM.argv, "-W", "-db", "-f", str(file))
            return Foreign(argv, lambda line: LISTENS in line, on_request, PROGRAM.env, name="HAProxy")

        supervise(options, version, configure)
