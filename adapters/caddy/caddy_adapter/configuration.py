"""Caddy's configuration for one job, as plain data, and the meaning of its access log."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from longlook_adapter.lines import endpoint
from longlook_adapter.options import Options

Data = dict[str, Any]

_EARLY = "early"
_ACCESS = "http.log.access"
_PROTOCOLS = {"HTTP/2.0": "h2", "HTTP/3.0": "h3"}


def configuration(options: Options, port: int, folder: str, keylog: str | None) -> Data:
    """Return Caddy's configuration. Its own files go to `folder`, secrets of TLS to `keylog`, if any."""
    return {
        "admin": {"disabled": True, "config": {"persist": False}},
        "storage": {"module": "file_system", "root": folder},
        "logging": {"logs": _logs()},
        "apps": {
            "http": {"grace_period": "100ms", "servers": {"server": _server(options, port, keylog)}},
            "tls": {"certificates": {"load_files": [{"certificate": options.certificate, "key": options.key}]}},
        },
    }


def _logs() -> Data:
    return {
        "default": {"writer": {"output": "stderr"}, "encoder": {"format": "json"}, "exclude": [_ACCESS]},
        "access": {"writer": {"output": "stdout"}, "encoder": {"format": "json"}, "include": [_ACCESS]},
    }


def _server(options: Options, port: int, keylog: str | None) -> Data:
    quic = options.protocol == "h3"
    policy: Data = {"protocol_min": "tls1.3", "alpn": [options.protocol]}
    if keylog:
        policy["insecure_secrets_log"] = keylog
    files = {"handler": "file_server", "root": options.www, "index_names": []}
    no_store = {"handler": "headers", "response": {"set": {"Cache-Control": ["no-store"]}}}
    no_answer = {"match": [{"protocol": "http/1.1"}], "handle": [{"handler": "static_response", "abort": True}]}
    early = {"handler": "log_append", "key": _EARLY, "value": "true"}
    return {
        "listen": [endpoint((options.address, port))],
        "protocols": ["h3"] if quic else ["h1", "h2"],  # it refuses h2 alone
        "automatic_https": {"disable": True},
        "tls_connection_policies": [policy],
        "logs": {},
        "routes": [
            {"match": [{"tls": {"handshake_complete": False}}], "handle": [early]} if quic else no_answer,
            {"handle": [no_store, files]},
        ],
    }


@dataclass(frozen=True)
class Request:
    """The connection of a request in the access log."""

    protocol: str
    remote: tuple[str, int]
    resumed: bool
    early: bool


def request_of(line: Mapping[str, Any]) -> Request:
    """Return the request of one line of the access log."""
    request = line["request"]
    remote = (request["remote_ip"], int(request["remote_port"]))
    protocol, resumed = _PROTOCOLS.get(request["proto"], ""), request["tls"]["resumed"] is True
    return Request(protocol, remote, resumed=resumed, early=line.get(_EARLY) == "true")
