"""Envoy's configuration for one job, as plain data."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from longlook_adapter.either import ALT_SVC_KNOBS, ALT_SVC_PORT, EITHER, alt_svc, spoken
from longlook_adapter.errors import AdapterError
from longlook_adapter.knobs import one_of, parse_knobs, truth, whole
from longlook_adapter.options import Options, ProxyOptions

Data = dict[str, Any]

_TICKET_KEY_BYTES = 80
_CONTENT_TYPES = {"html": "text/html", "png": "image/png"}
_OTHER_TYPE = "application/octet-stream"
_LARGEST_ROUTE_BYTES = 64 << 20
_FILE_SERVER_SINCE = (1, 38)
_BBR, _BBR2 = (
    f"envoy.reloadable_features.FLAGS_envoy_quiche_reloadable_flag_quic_{name}"
    for name in ("default_to_bbr", "default_to_bbr_v2")
)
_CONTROLLERS = {"cubic": (False, False), "bbr": (True, False), "bbr2": (False, True)}  # values of the two above
_EITHER: Mapping[str, Callable[[str], Any]] = {
    "max_incoming_streams": whole(1, 100_000),
}
_QUIC: Mapping[str, Callable[[str], Any]] = {
    "congestion_control": one_of(*_CONTROLLERS),
    "initial_stream_window": whole(65_535, 1 << 24),
    "initial_connection_window": whole(65_535, 25_165_824),
    "allow_0rtt": truth,
}
_PROTOCOLS = {"HTTP/2": "h2", "HTTP/3": "h3"}
_FIELDS = {
    "initial_stream_window": "initial_stream_window_size",
    "initial_connection_window": "initial_connection_window_size",
    "max_incoming_streams": "max_concurrent_streams",
}


def knobs_of(options: Options, version: str) -> Mapping[str, Any]:
    """Return checked knobs; some mean something with QUIC only."""
    known = {**_EITHER, **(_QUIC if "h3" in spoken(options.protocol) else {})}
    known |= ALT_SVC_KNOBS if options.protocol == EITHER else {}
    return parse_knobs(options.knobs, known, f"Envoy {version} over {options.protocol}")


def ticket_key(key: bytes) -> bytes:
    """Return the key of session tickets, derived from the server's key: without one Envoy resumes nothing over QUIC."""
    return hashlib.shake_256(b"session tickets" + key).digest(_TICKET_KEY_BYTES)


@dataclass(frozen=True)
class Place:
    """The port to listen on, and the files of the ticket key and of TLS secrets, where they are wanted."""

    port: int
    tickets: str
    keylog: str | None = None


def configuration(options: Options, knobs: Mapping[str, Any], place: Place, version: str) -> Data:
    """Return Envoy's configuration, in the terms of its API (v3)."""
    each = (replace(options, protocol=protocol) for protocol in spoken(options.protocol))
    listeners = [listener(one, knobs, place, _manager(one, knobs, version)) for one in each]
    return with_flags({"static_resources": {"listeners": listeners}}, knobs)


def connection_of(line: str) -> tuple[str, tuple[str, int]]:
    """Return protocol and client's address of the connection that carried a request, from a line of the access log."""
    entry = json.loads(line)
    host, _, port = entry["remote"].rpartition(":")
    return _PROTOCOLS[entry["protocol"]], (host.strip("[]"), int(port))


def with_flags(data: Data, knobs: Mapping[str, Any]) -> Data:
    """Return a configuration with the flags that knobs need."""
    if "congestion_control" in knobs:
        flags = dict(zip((_BBR, _BBR2), _CONTROLLERS[knobs["congestion_control"]], strict=True))
        data["layered_runtime"] = {"layers": [{"name": "knobs", "static_layer": flags}]}
    return data


def listener(options: Options | ProxyOptions, knobs: Mapping[str, Any], place: Place, manager: Data) -> Data:
    """Return the listener whose connections a manager serves."""
    quic = options.protocol == "h3"
    address = {"protocol": "UDP" if quic else "TCP", "address": options.address, "port_value": place.port}
    found: Data = {
        "name": options.protocol,
        "address": {"socket_address": address},
        "filter_chains": [{"transport_socket": _security(options, knobs, place), "filters": [manager]}],
    }
    if quic:
        found["udp_listener_config"] = _udp(knobs)
    else:
        found["enable_reuse_port"] = False
        found["filter_chains"][0]["filter_chain_match"] = {"application_protocols": ["h2"]}
        inspector = extension("envoy.filters.listener.tls_inspector", "filters.listener.tls_inspector.v3.TlsInspector")
        found["listener_filters"] = [inspector]
    return found


def _udp(knobs: Mapping[str, Any]) -> Data:
    return {"quic_options": {"quic_protocol_options": _protocol_options(knobs)}}


def _protocol_options(knobs: Mapping[str, Any]) -> Data:
    return {field: knobs[name] for name, field in _FIELDS.items() if name in knobs}


def _h2_options(knobs: Mapping[str, Any]) -> Data:
    """Return the options of HTTP/2: of the knobs that have a field of that name, windows are QUIC's."""
    return {_FIELDS[name]: knobs[name] for name in _EITHER if name in knobs}


def _security(options: Options | ProxyOptions, knobs: Mapping[str, Any], place: Place) -> Data:
    versions = {"tls_minimum_protocol_version": "TLSv1_3", "tls_maximum_protocol_version": "TLSv1_3"}
    certificate = {"certificate_chain": {"filename": options.certificate}, "private_key": {"filename": options.key}}
    common: Data = {"tls_params": versions, "tls_certificates": [certificate]}
    if place.keylog and options.protocol == "h2":  # over QUIC it would stay empty
        common["key_log"] = {"path": place.keylog}
    context = {"common_tls_context": common, **_tickets(knobs, place)}
    if options.protocol == "h3":
        kind = "transport_sockets.quic.v3.QuicDownstreamTransport"
        early = knobs.get("allow_0rtt", True)
        return extension("quic", kind, enable_early_data=early, downstream_tls_context=context)
    common["alpn_protocols"] = ["h2"]
    return extension("tls", "transport_sockets.tls.v3.DownstreamTlsContext", **context)


def _tickets(knobs: Mapping[str, Any], place: Place) -> Data:
    """Return a key of session tickets; none of them where clients learn of HTTP/3 and come back: each is to be cold."""
    if ALT_SVC_PORT in knobs:
        return {"disable_stateless_session_resumption": True, "disable_stateful_session_resumption": True}
    return {"session_ticket_keys": {"keys": [{"filename": place.tickets}]}}


def _manager(options: Options, knobs: Mapping[str, Any], version: str) -> Data:
    """Return the connection manager. Its filters answer every request: 404 where there is no file."""
    files, www, quic = _files(Path(options.www)), Path(options.www), options.protocol == "h3"
    large = [path for path in files if path.stat().st_size > _LARGEST_ROUTE_BYTES]
    if large and tuple(int(part) for part in version.split(".")[:2]) < _FILE_SERVER_SINCE:
        raise AdapterError(
            f"{large[0]} is too large for Envoy {version}, which answers from memory: take 1.38 or newer"
        )
    return extension(
        "envoy.filters.network.http_connection_manager",
        "filters.network.http_connection_manager.v3.HttpConnectionManager",
        codec_type="HTTP3" if quic else "HTTP2",
        stat_prefix="server",
        route_config=_routes([] if large else files, www),
        http_filters=[
            _headers({} if quic or ALT_SVC_PORT not in knobs else {"alt-svc": alt_svc(knobs[ALT_SVC_PORT])}),
            *([_file_server(www)] if large else []),
            extension("envoy.filters.http.router", "filters.http.router.v3.Router"),
        ],
        **({"http3_protocol_options": {}} if quic else {"http2_protocol_options": _h2_options(knobs)}),
        **({"access_log": [_requests()]} if ALT_SVC_PORT in knobs else {}),
    )


def _requests() -> Data:
    """Return the access log: where no ticket is given, an address is all that there is to say of a connection."""
    form = {"remote": "%DOWNSTREAM_DIRECT_REMOTE_ADDRESS%", "protocol": "%PROTOCOL%"}
    kind = "access_loggers.stream.v3.StdoutAccessLog"
    return extension("envoy.access_loggers.stdout", kind, log_format={"json_format": form})


def _headers(more: Mapping[str, str]) -> Data:
    headers = {"cache-control": "no-store", **more}
    added = [
        {"append": {"header": {"key": key, "value": value}, "append_action": "OVERWRITE_IF_EXISTS_OR_ADD"}}
        for key, value in headers.items()
    ]
    return extension(
        "envoy.filters.http.header_mutation",
        "filters.http.header_mutation.v3.HeaderMutation",
        mutations={"response_mutations": added},
    )


def _file_server(www: Path) -> Data:
    """Return the filter for files too large for memory. It refuses (400) requests whose end comes in its own packet."""
    return extension(
        "envoy.filters.http.file_server",
        "filters.http.file_server.v3.FileServerConfig",
        manager_config={"thread_pool": {"thread_count": 1}},
        path_mappings=[{"request_path_prefix": "/", "file_path_prefix": f"{www}/"}],
        content_types=_CONTENT_TYPES,
        default_content_type=_OTHER_TYPE,
    )


def _routes(files: list[Path], www: Path) -> Data:
    """Return one route for each file, all read into memory at the start; anything else is 404."""
    absent: Data = {"match": {"prefix": "/"}, "direct_response": {"status": 404}}
    largest = max((path.stat().st_size for path in files), default=1)
    host = {"name": "site", "domains": ["*"], "routes": [*(_route(path, www) for path in files), absent]}
    return {"name": "routes", "virtual_hosts": [host], "max_direct_response_body_size_bytes": max(largest, 1)}


def _route(path: Path, www: Path) -> Data:
    kind = {"key": "content-type", "value": _CONTENT_TYPES.get(path.suffix[1:], _OTHER_TYPE)}
    return {
        "match": {"path": f"/{path.relative_to(www)}"},
        "direct_response": {"status": 200, "body": {"filename": str(path)}},
        "response_headers_to_add": [{"header": kind, "append_action": "OVERWRITE_IF_EXISTS_OR_ADD"}],
    }


def _files(www: Path) -> list[Path]:
    return sorted(path for path in www.rglob("*") if path.is_file())


def extension(name: str, kind: str, **fields: Any) -> Data:
    """Return an extension by its name, with its configuration of a kind."""
    return {"name": name, "typed_config": {"@type": f"type.googleapis.com/envoy.extensions.{kind}", **fields}}
