"""Drive headless Chromium: jobs in on standard input, lines out (adapters/CONTRACT.md, session client).

Needs adapters/lib/python and adapters/lib/player in PYTHONPATH.
"""

import argparse
import sys

from chromium_driver.flags import Target
from chromium_driver.session import Session
from longlook_adapter.browserjob import parse_job
from longlook_adapter.either import EITHER
from longlook_adapter.errors import UnsupportedError
from longlook_adapter.lines import emit, emit_error
from longlook_adapter.resolver import Resolver
from longlook_adapter.sessions import run_session, standard_input
from longlook_player.play import PLAYERS

CONNECTIONS = ("cold", "resumed", "0rtt")
PROTOCOLS = ("h3", "h2", EITHER)


def main() -> int:
    """Run a session; return the exit code of the contract."""
    options = _options()
    return run_session(lambda: _session(options))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--browser", required=True, help="path of the Chromium binary")
    parser.add_argument("--domain", default="example.test", help="QUIC is spoken with quic.DOMAIN, TCP with tcp.DOMAIN")
    parser.add_argument("--address", default="198.18.0.2", help="address of the server (default: %(default)s)")
    parser.add_argument("--port", type=int, default=443, help="port of the server (default: %(default)s)")
    parser.add_argument("--spki", required=True, help="base64 SHA-256 of the server's public key, to be trusted")
    parser.add_argument("--certificate", required=True, help="certificate of the resolver, with that key (PEM)")
    parser.add_argument("--key", required=True, help="the key (PEM)")
    parser.add_argument("--players", default="", help="folder of the players' scripts, NAME.js beside NAME.sha256")
    return parser.parse_args()


async def _session(options: argparse.Namespace) -> None:
    target = Target(options.domain, options.address, options.port, options.spki)
    resolver = Resolver(target.domain, target.address, options.certificate, options.key)
    with resolver:
        await _serve(options, target, resolver)


async def _serve(options: argparse.Namespace, target: Target, resolver: Resolver) -> None:
    async with Session(options.browser, target, resolver, options.players) as session:
        version = await session.start()
        emit("ready", role="client", protocol=None, address=target.address, port=target.port, version=version)
        next_line = await standard_input()
        while line := await session.while_alive(next_line()):
            try:
                await session.run(parse_job(line.decode(), "Chromium", CONNECTIONS, PROTOCOLS, PLAYERS))
            except UnsupportedError as error:
                emit_error(str(error), supported=False)
                emit("done", ok=False)


if __name__ == "__main__":
    sys.exit(main())
