"""Drive a Chromium that runs on another machine: jobs in on standard input, lines out (adapters/CONTRACT.md).

    remote_main.py session --browser FILE --spki BASE64    a session client; FILE is what `describe` printed
    remote_main.py describe HOST:PORT                      the browser that answers there, as one line of JSON
    remote_main.py flags --spki BASE64                     the flags that it has to be started with, one a line

Needs adapters/lib/python in PYTHONPATH.
"""

import argparse
import json
import sys
from pathlib import Path

from chromium_driver.flags import Target
from chromium_driver.remote import endpoint, flags
from chromium_driver.remote.errors import ElsewhereError
from chromium_driver.remote.session import Session
from longlook_adapter.browserjob import parse_job
from longlook_adapter.errors import UnsupportedError
from longlook_adapter.lines import emit, emit_error
from longlook_adapter.sessions import run_session, standard_input

CONNECTIONS = ("cold", "resumed", "0rtt")


def main() -> int:
    """Do what the first argument says; return the exit code of the contract."""
    options = _options()
    if options.what == "session":
        return _run_session(options)
    try:
        print(json.dumps(_described(options.endpoint)) if options.what == "describe" else _flags(options))
    except ElsewhereError as error:
        emit_error(str(error))
        return 1
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_subparsers(dest="what", required=True)
    described = what.add_parser("describe")
    described.add_argument("endpoint", help="HOST:PORT of the browser's DevTools port")
    listed, session = what.add_parser("flags"), what.add_parser("session")
    listed.add_argument(
        "--without-early-data", action="store_true", help="for jobs that resume over QUIC without 0-RTT"
    )
    session.add_argument("--browser", type=Path, required=True, help="file with what `describe` printed")
    for each in (listed, session):
        each.add_argument("--domain", default="example.test", help="the server has every name below it")
        each.add_argument("--address", default="198.18.0.2", help="address of the server (default: %(default)s)")
        each.add_argument("--port", type=int, default=443, help="port of the server (default: %(default)s)")
        each.add_argument("--spki", required=True, help="base64 SHA-256 of the server's public key, to be trusted")
    return parser.parse_args()


def _described(where: str) -> dict[str, object]:
    return {"endpoint": where, **endpoint.find(where).identity()}


def _flags(options: argparse.Namespace) -> str:
    return "\n".join(flags.wanted(_target(options), early_data=not options.without_early_data))


def _target(options: argparse.Namespace) -> Target:
    return Target(options.domain, options.address, options.port, options.spki)


def _run_session(options: argparse.Namespace) -> int:
    lost: list[str] = []

    async def session() -> None:
        try:
            await _session(options)
        except ElsewhereError as error:
            lost.append(str(error))

    code = run_session(session)
    if lost:  # the trial is not at fault, and can be repeated
        emit("error", reason=lost[0], disturbed=True)
        return 1
    return code


async def _session(options: argparse.Namespace) -> None:
    target, expected = _target(options), json.loads(options.browser.read_text())
    where = expected.pop("endpoint")
    async with await Session.connect(where, expected, target) as session:
        emit("ready", role="client", protocol=None, address=target.address, port=target.port, version=session.version)
        next_line = await standard_input()
        while line := await session.while_there(next_line()):
            try:
                await session.run(parse_job(line.decode(), "Chromium", CONNECTIONS))
            except UnsupportedError as error:
                emit_error(str(error), supported=False)
                emit("done", ok=False)


if __name__ == "__main__":
    sys.exit(main())
