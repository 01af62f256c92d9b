"""Caddy's configuration for one job, as plain data, and the meaning of its access log."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from longlook_adapter.either import ALT_SVC_KNOBS, ALT_SVC_PORT, EITHER, alt_svc, spoken
from longlook_adapter.knobs import parse_knobs
from longlook_adapter.lines import endpoint
from longlook_adapter.options import Options

Data = dict[str, Any]

_EARLY = "early"
_ACCESS = "http.log.access"
_PROTOCOLS = {"HTTP/2.0": "h2", "HTTP/3.0": "h3"}


def knobs_of(options: Options, version: str) -> Mapping[str, Any]:
    """Return checked knobs."""
    known = ALT_SVC_KNOBS if options.protocol == EITHER else {}
    return parse_knobs(options.knobs, known, f"Caddy {version} over {options.protocol}")


def configuration(options: Options, knobs: Mapping[str, Any], port: int, folder: str, keylog: str | None) -> Data:
    """Return Caddy's configuration. Its own files go to `folder`, secrets of TLS to `keylog`, if any."""
    tls: Data = {"certificates": {"load_files": [{"certificate": options.certificate, "key": options.key}]}}
    if ALT_SVC_PORT in knobs:  # who learned of HTTP/3 comes back, and every connection is to be cold
        tls["session_tickets"] = {"disabled": True}
    return {
        "admin": {"disabled": True, "config": {"persist": False}},
        "storage": {"module": "file_system", "root": folder},
        "logging": {"logs": _logs()},
        "apps": {
            "http": {"grace_period": "100ms", "servers": {"server": _server(options, knobs, port, keylog)}},
            "tls": tls,
        },
    }


def _logs() -> Data:
    return {
        "default": {"writer": {"output": "stderr"}, "encoder": {"format": "json"}, "exclude": [_ACCESS]},
        "access": {"writer": {"output": "stdout"}, "encoder": {"format": "json"}, "include": [_ACCESS]},
    }


def _server(options: Options, knobs: Mapping[str, Any], port: int, keylog: str | None) -> Data:
    protocols = spoken(options.protocol)
    policy: Data = {"protocol_min": "tls1.3", "alpn": list(protocols)}
    if keylog:
        policy["insecure_secrets_log"] = keylog
    files = {"handler": "file_server", "root": options.www, "index_names": []}
    no_store = {"handler": "headers", "response": {"set": {"Cache-Control": ["no-store"]}}}
    told = {"set": {"Alt-Svc": [alt_svc(knobs[ALT_SVC_PORT])]}} if ALT_SVC_PORT in knobs else {"delete": ["Alt-Svc"]}
    no_answer = {"match": [{"protocol": "http/1.1"}], "handle": [{"handler": "static_response", "abort": True}]}
    early = {"handler": "log_append", "key": _EARLY, "value": "true"}
    over_quic: Data = {"match": [{"tls": {"handshake_complete": False}}], "handle": [early]}
    over_tcp: Data = {"match": [{"protocol": "http/2"}], "handle": [{"handler": "headers", "response": told}]}
    return {
        "listen": [endpoint((options.address, port))],
        "protocols": [*(["h3"] if "h3" in protocols else []), *(["h1", "h2"] if "h2" in protocols else [])],
        "automatic_https": {"disable": True},
        "tls_connection_policies": [policy],
        "logs": {},
        "routes": [
            *([over_quic] if "h3" in protocols else []),
            *([no_answer] if "h2" in protocols else []),  # it refuses h2 alone
            *([over_tcp] if options.protocol == EITHER else []),  # of itself it names its own HTTP/3
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
