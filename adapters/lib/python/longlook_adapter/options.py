"""The command lines of a server and of a proxy."""

import argparse
import ipaddress
from dataclasses import dataclass
from typing import NoReturn

from longlook_adapter.errors import BadUsageError, UnsupportedError


@dataclass(frozen=True)
class Options:
    """The options of a server's command line."""

    protocol: str
    address: str
    port: int
    www: str
    certificate: str
    key: str
    knobs: dict[str, str]


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise BadUsageError(message)


def parse_options(arguments: list[str], stack: str, protocols: tuple[str, ...]) -> Options:
    """Return the options of `server`; BadUsageError and UnsupportedError as the contract demands."""
    parser = _Parser(prog="server", add_help=False, allow_abbrev=False)
    for name in ("protocol", "address", "www", "certificate", "key"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--knob", action="append", default=[])
    found = parser.parse_args(arguments)
    if found.protocol not in protocols:
        raise UnsupportedError(f"protocol {found.protocol!r}: {stack} speaks {' and '.join(protocols)}")
    if wrong := [text for text in found.knob if "=" not in text]:
        raise BadUsageError(f"--knob {wrong[0]}: give NAME=VALUE")
    try:
        ipaddress.ip_address(found.address)
    except ValueError as error:
        raise BadUsageError(str(error)) from error
    knobs = dict(text.split("=", 1) for text in found.knob)
    return Options(found.protocol, found.address, found.port, found.www, found.certificate, found.key, knobs)


@dataclass(frozen=True)
class ProxyOptions:
    """The options of a proxy's command line; `upstream` is the server's `ip:port`, and `host` its name."""

    protocol: str
    address: str
    port: int
    upstream: str
    host: str
    certificate: str
    key: str
    ca: str
    knobs: dict[str, str]


def parse_proxy_options(arguments: list[str], stack: str, protocols: tuple[str, ...]) -> ProxyOptions:
    """Return the options of `proxy`; errors as for `parse_options`."""
    parser = _Parser(prog="proxy", add_help=False, allow_abbrev=False)
    for name in ("upstream", "host", "ca"):
        parser.add_argument(f"--{name}", required=True)
    own, others = parser.parse_known_args(arguments)
    if not own.upstream.rpartition(":")[2].isdigit():
        raise BadUsageError(f"--upstream {own.upstream}: give IP:PORT")
    found = parse_options([*others, "--www", "/"], stack, protocols)
    ends = (found.certificate, found.key, own.ca)
    return ProxyOptions(found.protocol, found.address, found.port, own.upstream, own.host, *ends, found.knobs)
