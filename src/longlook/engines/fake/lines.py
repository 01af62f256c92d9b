"""Lines of made-up programs, as adapters print them (adapters/CONTRACT.md)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from longlook.core import ConnectionState, ExpectedAnswer, Trial, find_protocol
from longlook.engines.fake.link_log import ConnectionLoad

FIRST_PORT = 40_000
"""The port of the client's first connection."""


@dataclass(frozen=True)
class Reported:
    """A connection, and the objects that came over it; `trial` is the trial as its flow sees it."""

    trial: Trial
    host: str
    load: ConnectionLoad
    expected: Mapping[str, ExpectedAnswer]
    arrived: bool


def client_lines(connections: Iterable[Reported]) -> list[Mapping[str, Any]]:
    """Return the lines of a client: for each connection itself, a move if it made one, and its objects."""
    return [line for each in connections for line in _connection_lines(each)]


def _connection_lines(of: Reported) -> list[Mapping[str, Any]]:
    load, common = of.load, {"protocol": of.trial.protocol}
    if find_protocol(of.trial.protocol).cross_traffic:
        return []
    lines: list[Mapping[str, Any]] = [
        {
            "event": "connection",
            "local": load.client,
            "remote": load.server,
            "primes": False,
            "t_start_ns": load.began_ns,
            "t_handshake_ns": load.secure_ns,
            **_state(of.trial),
            **common,
        }
    ]
    if load.moves_to:
        moved_ns = (load.first_byte_ns + 2 * load.end_ns) // 3
        lines.append({"event": "move", "from": load.client, "to": load.moves_to, "t_start_ns": moved_ns})
    for path, expected in of.expected.items():
        answer = {
            "status": 200,
            "t_first_byte_ns": load.first_byte_ns,
            "t_end_ns": load.end_ns,
            "bytes": expected.bytes,
            "digest": expected.digest,
            "error": None,
        }
        nothing = {**dict.fromkeys(answer), "error": "made to fail"}
        lines.append(
            {
                "event": "object",
                "url": f"https://{of.host}{path}",
                "path": path,
                "local": load.client,
                "t_start_ns": load.began_ns,
                **(answer if of.arrived else nothing),
                **common,
            }
        )
    return lines


def server_lines(connections: Iterable[Reported]) -> list[Mapping[str, Any]]:
    """Return the lines of a server: one for each connection."""
    return [_server_line(each) for each in connections if not find_protocol(each.trial.protocol).cross_traffic]


def _server_line(of: Reported) -> Mapping[str, Any]:
    line: dict[str, Any] = {
        "event": "connection",
        "protocol": of.trial.protocol,
        "local": of.load.server,
        "t_handshake_ns": of.load.secure_ns,
        **_state(of.trial),
    }
    if of.trial.congestion_control is not None:
        line["congestion_control"] = of.trial.congestion_control
    return {**line, "remote": of.load.client}


def _state(trial: Trial) -> dict[str, bool]:
    state = trial.connection
    return {"resumed": state is not ConnectionState.COLD, "used_0rtt": state is ConnectionState.ZERO_RTT}
