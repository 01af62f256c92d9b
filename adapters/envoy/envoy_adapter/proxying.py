"""Envoy's configuration as a proxy: it ends the client's connection, and requests each object again from the server."""

from collections.abc import Callable, Mapping
from typing import Any

from longlook_adapter.knobs import one_of, parse_knobs, truth
from longlook_adapter.options import ProxyOptions

from envoy_adapter.configuration import Data, Place, extension, listener, with_flags

COLD, WARM = "cold", "warm"
_KNOBS: Mapping[str, Callable[[str], Any]] = {"upstream_connections": one_of(COLD, WARM)}
_QUIC: Mapping[str, Callable[[str], Any]] = {
    "congestion_control": one_of("cubic", "bbr", "bbr2"),
    "allow_0rtt": truth,
    "upstream_0rtt": truth,
}


def proxy_knobs_of(options: ProxyOptions, version: str) -> Mapping[str, Any]:
    """Return checked knobs; some mean something with QUIC only."""
    known = {**_KNOBS, **(_QUIC if options.protocol == "h3" else {})}
    return parse_knobs(options.knobs, known, f"Envoy {version} as a proxy of {options.protocol}")


def proxy_configuration(options: ProxyOptions, knobs: Mapping[str, Any], place: Place) -> Data:
    """Return Envoy's configuration, in the terms of its API (v3). Both sides speak the job's protocol."""
    quic = options.protocol == "h3"
    manager = extension(
        "envoy.filters.network.http_connection_manager",
        "filters.network.http_connection_manager.v3.HttpConnectionManager",
        codec_type="HTTP3" if quic else "HTTP2",
        stat_prefix="proxy",
        route_config={"name": "routes", "virtual_hosts": [_host(knobs)]},
        http_filters=[extension("envoy.filters.http.router", "filters.http.router.v3.Router")],
        **({"http3_protocol_options": {}} if quic else {"http2_protocol_options": {}}),
    )
    resources = {"listeners": [listener(options, knobs, place, manager)], "clusters": [_cluster(options, knobs)]}
    return with_flags({"static_resources": resources}, knobs)


def _host(knobs: Mapping[str, Any]) -> Data:
    action: Data = {"cluster": "behind", "timeout": "0s"}
    if not knobs.get("upstream_0rtt", False):  # without a policy Envoy sends safe requests early where it can
        policy = "early_data.v3.DefaultEarlyDataPolicy"
        action["early_data_policy"] = extension("envoy.route.early_data_policy.default", policy)
    return {"name": "site", "domains": ["*"], "routes": [{"match": {"prefix": "/"}, "route": action}]}


def _cluster(options: ProxyOptions, knobs: Mapping[str, Any]) -> Data:
    address, _, port = options.upstream.rpartition(":")
    quic = options.protocol == "h3"
    endpoint = {"address": {"socket_address": {"address": address, "port_value": int(port)}}}
    name = "http3_protocol_options" if quic else "http2_protocol_options"
    kind = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"
    http = {"@type": f"type.googleapis.com/{kind}", "explicit_http_config": {name: {}}}
    return {
        "name": "behind",
        "type": "STATIC",
        "connect_timeout": "10s",
        "connection_pool_per_downstream_connection": knobs.get("upstream_connections", COLD) == COLD,
        "load_assignment": {"cluster_name": "behind", "endpoints": [{"lb_endpoints": [{"endpoint": endpoint}]}]},
        "typed_extension_protocol_options": {kind: http},
        "transport_socket": _upstream_security(options, quic=quic),
    }


def _upstream_security(options: ProxyOptions, *, quic: bool) -> Data:
    common: Data = {"validation_context": {"trusted_ca": {"filename": options.ca}}}
    context: Data = {"common_tls_context": common, "sni": options.host}
    if quic:
        kind = "transport_sockets.quic.v3.QuicUpstreamTransport"
        return extension("envoy.transport_sockets.quic", kind, upstream_tls_context=context)
    common["alpn_protocols"] = ["h2"]
    common["tls_params"] = {"tls_minimum_protocol_version": "TLSv1_3", "tls_maximum_protocol_version": "TLSv1_3"}
    return extension("envoy.transport_sockets.tls", "transport_sockets.tls.v3.UpstreamTlsContext", **context)
