"""Configurations of other people's servers for a job, as text and plain data."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from longlook.core.paths import adapters_dir
from longlook.stacks import apache, caddy, envoy, haproxy, nginx

STACKS = {
    "envoy": envoy.STACK,
    "caddy": caddy.STACK,
    "nginx": nginx.STACK,
    "apache": apache.STACK,
    "haproxy": haproxy.STACK,
}


@pytest.fixture(autouse=True)
def adapters(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    before = set(sys.modules)
    for name in ("lib/python", *STACKS):
        monkeypatch.syspath_prepend(str(adapters_dir() / name))
    yield
    for name in set(sys.modules) - before:
        if name.split(".")[0].endswith("_adapter"):
            del sys.modules[name]


def options(protocol: str, www: str = "/www", **knobs: str) -> Any:
    made = import_module("longlook_adapter.options").Options
    return made(protocol, "10.8.0.2", 443, www, "/tls/certificate.pem", "/tls/key.pem", knobs)


def envoy_told(protocol: str, version: str = "1.40.0", www: str = "/www", **knobs: str) -> Any:
    module = import_module("envoy_adapter.configuration")
    wanted = options(protocol, www, **knobs)
    place = module.Place(443, "/tmp/ticket.key")
    return module.configuration(wanted, module.knobs_of(wanted, version), place, version)


def listener(told: Any) -> Any:
    (found,) = told["static_resources"]["listeners"]
    return found


def test_envoy_over_quic() -> None:
    found = listener(envoy_told("h3"))
    assert found["address"]["socket_address"] == {"protocol": "UDP", "address": "10.8.0.2", "port_value": 443}
    (chain,) = found["filter_chains"]
    assert chain["transport_socket"]["typed_config"]["enable_early_data"] is True
    manager = chain["filters"][0]["typed_config"]
    assert manager["codec_type"] == "HTTP3"
    assert [part["name"].rpartition(".")[2] for part in manager["http_filters"]] == [
        "header_mutation",
        "router",
    ]


def test_envoy_knobs_over_quic() -> None:
    told = envoy_told(
        "h3",
        congestion_control="bbr2",
        initial_stream_window="70000",
        initial_connection_window="80000",
        max_incoming_streams="7",
        allow_0rtt="false",
    )
    (layer,) = told["layered_runtime"]["layers"]
    flags = {name.rpartition("quic_")[2]: value for name, value in layer["static_layer"].items()}
    assert flags == {"default_to_bbr": False, "default_to_bbr_v2": True}
    found = listener(told)
    assert found["udp_listener_config"]["quic_options"]["quic_protocol_options"] == {
        "initial_stream_window_size": 70_000,
        "initial_connection_window_size": 80_000,
        "max_concurrent_streams": 7,
    }
    assert found["filter_chains"][0]["transport_socket"]["typed_config"]["enable_early_data"] is False


def test_envoy_over_tcp() -> None:
    found = listener(envoy_told("h2", max_incoming_streams="7"))
    (chain,) = found["filter_chains"]
    assert chain["filter_chain_match"] == {"application_protocols": ["h2"]}
    context = chain["transport_socket"]["typed_config"]["common_tls_context"]
    assert context["alpn_protocols"] == ["h2"]
    assert set(context["tls_params"].values()) == {"TLSv1_3"}
    assert chain["filters"][0]["typed_config"]["http2_protocol_options"] == {"max_concurrent_streams": 7}


def test_envoy_answers_from_memory_what_is_not_too_large(tmp_path: Path) -> None:
    (tmp_path / "i").mkdir()
    (tmp_path / "index.html").write_text("<p>")
    (tmp_path / "i" / "0.png").write_bytes(b"12345")
    (chain,) = listener(envoy_told("h3", www=str(tmp_path)))["filter_chains"]
    manager = chain["filters"][0]["typed_config"]
    routes = manager["route_config"]
    assert routes["max_direct_response_body_size_bytes"] == 5
    found = {route["match"].get("path"): route for route in routes["virtual_hosts"][0]["routes"]}
    assert set(found) == {"/index.html", "/i/0.png", None}
    assert found["/i/0.png"]["response_headers_to_add"][0]["header"] == {"key": "content-type", "value": "image/png"}
    assert found[None]["direct_response"] == {"status": 404}
    with (tmp_path / "large").open("wb") as file:
        file.truncate(1 << 30)
    (chain,) = listener(envoy_told("h3", www=str(tmp_path)))["filter_chains"]
    names = [part["name"].rpartition(".")[2] for part in chain["filters"][0]["typed_config"]["http_filters"]]
    assert names == ["header_mutation", "file_server", "router"]
    with pytest.raises(import_module("longlook_adapter.errors").AdapterError, match=r"1\.38"):
        envoy_told("h3", "1.37.0", str(tmp_path))


@pytest.mark.parametrize(
    ("knob", "value"), [("congestion_control", "cubic"), ("allow_0rtt", "true"), ("nonsense", "1")]
)
def test_knobs_that_mean_nothing_over_tcp(knob: str, value: str) -> None:
    with pytest.raises(import_module("longlook_adapter.errors").UnsupportedError, match=knob):
        envoy_told("h2", **{knob: value})


@pytest.mark.parametrize(
    ("knob", "value"), [("congestion_control", "reno"), ("allow_0rtt", "1"), ("initial_stream_window", "9000")]
)
def test_values_out_of_range(knob: str, value: str) -> None:
    with pytest.raises(import_module("longlook_adapter.errors").BadUsageError, match=knob):
        envoy_told("h3", **{knob: value})


def test_ticket_keys_follow_from_the_servers_key() -> None:
    module = import_module("envoy_adapter.configuration")
    assert len(module.ticket_key(b"one")) == 80
    assert module.ticket_key(b"one") == module.ticket_key(b"one") != module.ticket_key(b"two")


def caddy_told(protocol: str, **knobs: str) -> Any:
    module = import_module("caddy_adapter.configuration")
    wanted = options(protocol, **knobs)
    return module.configuration(wanted, module.knobs_of(wanted, "2.11.7"), 443, "/tmp/x", "/tmp/keys")


@pytest.mark.parametrize(
    ("protocol", "alpn", "spoken"),
    [("h3", ["h3"], ["h3"]), ("h2", ["h2"], ["h1", "h2"]), ("h3-or-h2", ["h3", "h2"], ["h3", "h1", "h2"])],
)
def test_caddy(protocol: str, alpn: list[str], spoken: list[str]) -> None:
    told = caddy_told(protocol)
    server = told["apps"]["http"]["servers"]["server"]
    assert (server["listen"], server["protocols"]) == (["10.8.0.2:443"], spoken)
    assert server["tls_connection_policies"] == [
        {"protocol_min": "tls1.3", "alpn": alpn, "insecure_secrets_log": "/tmp/keys"}
    ]
    assert told["admin"]["disabled"] is True


def alt_svc_of_caddy(told: Any) -> Any:
    """What happens to the header in answers over HTTP/2; None where nothing does."""
    routes = told["apps"]["http"]["servers"]["server"]["routes"]
    found = [route["handle"][0]["response"] for route in routes if route.get("match") == [{"protocol": "http/2"}]]
    return found[0] if found else None


def test_caddy_names_http_3_only_where_it_is_asked_to() -> None:
    assert alt_svc_of_caddy(caddy_told("h3")) is alt_svc_of_caddy(caddy_told("h2")) is None
    assert alt_svc_of_caddy(caddy_told("h3-or-h2")) == {"delete": ["Alt-Svc"]}  # it would name it of itself
    told = caddy_told("h3-or-h2", alt_svc_port="4")
    assert alt_svc_of_caddy(told) == {"set": {"Alt-Svc": ['h3=":4"; ma=86400']}}
    assert told["apps"]["tls"]["session_tickets"] == {"disabled": True}
    assert "session_tickets" not in caddy_told("h3-or-h2")["apps"]["tls"]
    with pytest.raises(import_module("longlook_adapter.errors").UnsupportedError, match="alt_svc_port"):
        caddy_told("h2", alt_svc_port="443")


def test_envoy_over_both() -> None:
    quic, tcp = envoy_told("h3-or-h2", max_incoming_streams="7", congestion_control="cubic")["static_resources"][
        "listeners"
    ]
    assert [each["address"]["socket_address"]["protocol"] for each in (quic, tcp)] == ["UDP", "TCP"]
    assert quic["name"] != tcp["name"]
    assert quic["udp_listener_config"]["quic_options"]["quic_protocol_options"] == {"max_concurrent_streams": 7}
    managers = [each["filter_chains"][0]["filters"][0]["typed_config"] for each in (quic, tcp)]
    assert managers[1]["http2_protocol_options"] == {"max_concurrent_streams": 7}
    assert [headers_of_envoy(each) for each in managers] == [{"cache-control": "no-store"}] * 2
    assert [each.get("access_log") for each in managers] == [None, None]


def headers_of_envoy(manager: Any) -> Any:
    added = manager["http_filters"][0]["typed_config"]["mutations"]["response_mutations"]
    return {each["append"]["header"]["key"]: each["append"]["header"]["value"] for each in added}


def test_envoy_names_http_3_over_tcp_alone_and_then_gives_no_tickets() -> None:
    quic, tcp = (each["filter_chains"][0] for each in listeners(envoy_told("h3-or-h2", alt_svc_port="443")))
    told = [headers_of_envoy(each["filters"][0]["typed_config"]).get("alt-svc") for each in (quic, tcp)]
    assert told == [None, 'h3=":443"; ma=86400']
    contexts = (
        quic["transport_socket"]["typed_config"]["downstream_tls_context"],
        tcp["transport_socket"]["typed_config"],
    )
    for context in contexts:
        assert "session_ticket_keys" not in context
        assert context["disable_stateless_session_resumption"] is True
    connection_of = import_module("envoy_adapter.configuration").connection_of
    line = '{"protocol": "HTTP/3", "remote": "[fd00::1]:5000"}'
    assert connection_of(line) == ("h3", ("fd00::1", 5000))


def listeners(told: Any) -> Any:
    return told["static_resources"]["listeners"]


def test_what_caddy_says_of_a_request() -> None:
    module = import_module("caddy_adapter.configuration")
    request = {"remote_ip": "10.8.0.1", "remote_port": "5000", "proto": "HTTP/3.0", "tls": {"resumed": True}}
    line = {"request": request, "early": "true"}
    assert module.request_of(line) == module.Request("h3", ("10.8.0.1", 5000), resumed=True, early=True)
    del line["early"]
    assert module.request_of(line).early is False


def nginx_told(folder: Path, protocol: str, version: str, **knobs: str) -> str:
    module, wanted = import_module("nginx_adapter.configuration"), options(protocol, **knobs)
    text: str = module.configuration(wanted, module.knobs_of(wanted, version), 443, folder, version)
    return text


def test_nginx_over_tcp(tmp_path: Path) -> None:
    old = nginx_told(tmp_path, "h2", "1.22.1", max_incoming_streams="9")
    assert "listen 10.8.0.2:443 ssl http2;" in old
    assert "http2_max_concurrent_streams 9;" in old
    assert "http3" not in old  # a variable that it does not know would end it
    new = nginx_told(tmp_path, "h2", "1.30.6")
    assert "listen 10.8.0.2:443 ssl;" in new
    assert "http2 on;" in new
    assert "quic" not in new


def test_nginx_over_quic(tmp_path: Path) -> None:
    text = nginx_told(tmp_path, "h3", "1.30.6", stream_send_buffer="70000", retry="true", max_incoming_streams="9")
    assert "listen 10.8.0.2:443 quic;" in text
    assert "http3_stream_buffer_size 70000;" in text
    assert "quic_retry on;" in text
    assert "http3_max_concurrent_streams 9;" in text
    assert "ssl_early_data on;" in text
    assert "ssl http2" not in text
    assert "ssl_early_data off;" in nginx_told(tmp_path, "h3", "1.30.6", allow_0rtt="false")
    assert "ssl_early_data" not in nginx_told(tmp_path, "h3", "1.26.3").replace("$ssl_early_data", "")


def test_nginx_over_both(tmp_path: Path) -> None:
    text = nginx_told(tmp_path, "h3-or-h2", "1.30.6", alt_svc_port="444")
    assert "listen 10.8.0.2:443 quic;" in text
    assert "listen 10.8.0.2:443 ssl;" in text
    assert """add_header Alt-Svc 'h3=":444"; ma=86400' always;""" in text
    assert "ssl_session_tickets off;" in text  # who learned of HTTP/3 comes back, and every connection is to be cold


@pytest.mark.parametrize(
    ("protocol", "version", "knobs", "words"),
    [
        ("h3", "1.22.1", {}, "does not speak QUIC: take 1.26.3 or newer"),
        ("h3", "1.26.3", {"allow_0rtt": "true"}, "unknown knob 'allow_0rtt'"),
        ("h2", "1.30.6", {"retry": "true"}, "unknown knob 'retry'"),
    ],
)
def test_nginx_refuses(tmp_path: Path, protocol: str, version: str, knobs: dict[str, str], words: str) -> None:
    error = import_module("longlook_adapter.errors").UnsupportedError
    with pytest.raises(error, match=words):
        nginx_told(tmp_path, protocol, version, **knobs)


def haproxy_told(folder: Path, protocol: str, version: str = "3.2.26", **knobs: str) -> str:
    module, wanted = import_module("haproxy_adapter.configuration"), options(protocol, **knobs)
    known = module.knobs_of(wanted, version)
    text: str = module.configuration(wanted, known, 443, folder / "site.pem", folder / "origin.sock", version)
    return text


def test_haproxy_over_quic(tmp_path: Path) -> None:
    text = haproxy_told(tmp_path, "h3")
    assert f"bind quic4@10.8.0.2:443 ssl crt {tmp_path}/site.pem ssl-min-ver TLSv1.3 alpn h3 allow-0rtt\n" in text
    assert f"server origin unix@{tmp_path}/origin.sock" in text
    assert "quic-cc-algo" not in text
    set_to = {"congestion_control": "reno", "max_window": "10", "hystart": "true", "pacing": "false", "retry": "true"}
    text = haproxy_told(tmp_path, "h3", **set_to, allow_0rtt="false", max_incoming_streams="9")
    assert "alpn h3 quic-force-retry quic-cc-algo newreno(12520)\n" in text
    for directive in ("cc-hystart on", "disable-tx-pacing", "frontend.max-streams-bidi 9"):
        assert f"tune.quic.{directive}\n" in text


def test_haproxy_over_tcp(tmp_path: Path) -> None:
    assert "tune.h2.fe.max-concurrent-streams 9\n" in haproxy_told(tmp_path, "h2", max_incoming_streams="9")
    old = haproxy_told(tmp_path, "h2", "2.6.12", max_incoming_streams="9")
    assert "tune.h2.max-concurrent-streams 9\n" in old
    assert "http-request reject if HTTP_1.0 or HTTP_1.1\n" in old
    assert "quic" not in old
    assert "reject" not in haproxy_told(tmp_path, "http/1.1", "2.6.12")


def test_haproxy_over_both_names_http_3_and_gives_no_tickets(tmp_path: Path) -> None:
    text = haproxy_told(tmp_path, "h3-or-h2", alt_svc_port="444")
    assert """http-response set-header Alt-Svc 'h3=":444"; ma=86400'""" in text
    assert "no-tls-tickets" in text
    request_of = import_module("haproxy_adapter.configuration").request_of
    assert request_of("10.8.0.1|7|HTTP/3.0\n") == ("h3", ("10.8.0.1", 7))
    assert request_of("[NOTICE] (7) : Loading success.") is None


def test_haproxy_of_an_older_release_does_not_speak_quic(tmp_path: Path) -> None:
    error = import_module("longlook_adapter.errors").UnsupportedError
    with pytest.raises(error, match=r"HAProxy 2\.6\.12 does not speak QUIC: take 3\.2\.26 or newer"):
        haproxy_told(tmp_path, "h3", "2.6.12")


def test_apache(tmp_path: Path) -> None:
    v6 = replace(options("h2"), address="::1")
    text = import_module("apache_adapter.configuration").configuration(
        v6, {"max_incoming_streams": 9}, 443, tmp_path, Path("/modules"), as_root=True
    )
    assert "Listen [::1]:443 https" in text
    assert "H2MaxSessionStreams 9" in text
    assert "User #65534" in text
    assert 'LoadModule http2_module "/modules/mod_http2.so"' in text


@pytest.mark.parametrize("name", ["envoy", "caddy"])
def test_every_version_has_a_lock(name: str) -> None:
    locks = {path.stem for path in (adapters_dir() / name / "locks").iterdir()}
    assert locks == set(STACKS[name].version_names)


@pytest.mark.parametrize("name", ["nginx", "apache"])
def test_every_version_has_a_list_of_packages(name: str) -> None:
    lists = {path.stem for path in (adapters_dir() / name / "packages").iterdir()}
    assert lists == set(STACKS[name].version_names)
