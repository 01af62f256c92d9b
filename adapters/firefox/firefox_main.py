"""Drive headless Firefox: jobs in on standard input, lines out (adapters/CONTRACT.md, session client).

Needs adapters/lib/python and adapters/lib/player in PYTHONPATH.
"""

import argparse
import sys

from firefox_driver.browser import Browser
from firefox_driver.preferences import Target
from firefox_driver.session import Session
from longlook_adapter.browserjob import parse_job
from longlook_adapter.either import EITHER
from longlook_adapter.errors import UnsupportedError
from longlook_adapter.lines import emit, emit_error
from longlook_adapter.resolver import Resolver
from longlook_adapter.sessions import run_session, standard_input
from longlook_player.play import PLAYERS

CONNECTIONS = ("cold",)
PROTOCOLS = ("h3", "h2", EITHER)


def main() -> int:
    """Run a session; return the exit code of the contract."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--browser", required=True, help="path of the Firefox binary")
    parser.add_argument("--domain", required=True, help="QUIC is spoken with quic.DOMAIN, TCP with tcp.DOMAIN")
    parser.add_argument("--address", default="198.18.0.2", help="address of the server (default: %(default)s)")
    parser.add_argument("--port", type=int, default=443, help="port of the server (default: %(default)s)")
    parser.add_argument("--ca", required=True, help="certificate of the authority to be trusted (PEM)")
    parser.add_argument("--certificate", required=True, help="certificate of the resolver, of that authority (PEM)")
    parser.add_argument("--key", required=True, help="its key (PEM)")
    parser.add_argument("--players", default="", help="folder of the players' scripts, NAME.js beside NAME.sha256")
    parser.add_argument("--decoder", default="", help="folder with libavcodec, for Firefox to decode H.264 with")
    options = parser.parse_args()
    return run_session(lambda: _session(options))


async def _session(options: argparse.Namespace) -> None:
    target = Target(options.domain, options.address, options.port)
    browser = await Browser.launch(options.browser, target, options.ca, options.decoder)
    resolver = Resolver(target.domain, target.address, options.certificate, options.key)
    async with Session(browser, target, resolver, options.players, options.decoder) as session:
        address, port = target.address, target.port
        emit("ready", role="client", protocol=None, address=address, port=port, version=browser.version)
        next_line = await standard_input()
        while line := await next_line():
            try:
                await session.run(parse_job(line.decode(), "Firefox", CONNECTIONS, PROTOCOLS, PLAYERS))
            except UnsupportedError as error:
                emit_error(str(error), supported=False)
                emit("done", ok=False)


if __name__ == "__main__":
    sys.exit(main())
