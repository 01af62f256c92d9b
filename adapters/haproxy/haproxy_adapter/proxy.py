"""HAProxy as a proxy of TCP."""

from pathlib import Path

from longlook_adapter.debian import Packaged
from longlook_adapter.errors import UnsupportedError
from longlook_adapter.knobs import parse_knobs
from longlook_adapter.lines import emit, endpoint
from longlook_adapter.options import ProxyOptions
from longlook_adapter.supervise import Foreign, supervise_proxy

from haproxy_adapter.proxying import carried, proxy_configuration

PROGRAM = Packaged(Path(__file__).parents[1], "usr/sbin/haproxy")
_CARRIED = ("h2", "http/1.1", "http/1.0")
LISTENS = "Loading success"  # it binds its ports before


def run(options: ProxyOptions) -> None:
    """Carry connections on until SIGTERM."""
    if options.protocol not in _CARRIED:
        raise UnsupportedError(f"HAProxy carries {' and '.join(_CARRIED)} on, and not {options.protocol}")
    parse_knobs(options.knobs, {}, "HAProxy as a proxy")

    def configure(folder: Path, port: int) -> Foreign:
        file = folder / "haproxy.cfg"
        file.write_text(proxy_configuration(options, port))

        def on_request(line: str) -> None:
            if (found := carried(line)) is not None:
                emit("connection", protocol=options.protocol, local=endpoint((options.address, port)), **found)

        return Foreign(
            (*PROGRAM.argv, "-W", "-db", "-f", str(file)),
            is_ready=lambda line: LISTENS in line,
            on_request=on_request,
            env=PROGRAM.env,
            name="HAProxy",
        )

    supervise_proxy(options, PROGRAM.version(), configure)
