"""HAProxy's configuration as a server for one job, and the meaning of its log of requests."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from longlook_adapter.either import ALT_SVC_KNOBS, ALT_SVC_PORT, EITHER, alt_svc, spoken
from longlook_adapter.errors import UnsupportedError
from longlook_adapter.knobs import one_of, parse_knobs, truth, whole
from longlook_adapter.lines import endpoint
from longlook_adapter.options import Options
from longlook_adapter.versions import numbers

_SEPARATOR = "|"
_PROTOCOLS = {"HTTP/3.0": "h3", "HTTP/2.0": "h2", "HTTP/1.1": "http/1.1", "HTTP/1.0": "http/1.0"}
_CONTROLLERS = {"cubic": "cubic", "reno": "newreno", "bbr": "bbr"}
_QUIC_SINCE = (3, 2)
_DATAGRAM_BYTES = 1_252
"""The size by which its windows are counted in packets: what its datagrams carry at an MTU of 1,280 bytes."""
_LEAST_WINDOW, _LARGEST_WINDOW = 9, 10_000
_STREAMS: Mapping[str, Callable[[str], Any]] = {"max_incoming_streams": whole(1, 100_000)}
_QUIC: Mapping[str, Callable[[str], Any]] = {
    "congestion_control": one_of(*_CONTROLLERS),
    "max_window": whole(_LEAST_WINDOW, _LARGEST_WINDOW),
    "hystart": truth,
    "pacing": truth,
    "initial_connection_window": whole(16_384, 1 << 30),
    "retry": truth,
    "allow_0rtt": truth,
}

_FORM = """\
global
  nbthread 1
  maxconn 450
  log stdout format raw local0 info
  {settings}
defaults
  mode http
  log global
  timeout connect 10s
  timeout client 1h
  timeout server 1h
  timeout http-keep-alive 1h
frontend site
  {binds}
  log-format "%ci|%cp|%HV"
  {only}
  {headers}
  default_backend files
backend files
  server origin unix@{origin}
"""


def knobs_of(options: Options, version: str) -> Mapping[str, Any]:
    """Return checked knobs; UnsupportedError for a protocol that the version does not speak."""
    quic = "h3" in spoken(options.protocol)
    known = dict(_STREAMS) if {"h3", "h2"} & {*spoken(options.protocol)} else {}
    if quic and numbers(version) < _QUIC_SINCE:
        raise UnsupportedError(f"HAProxy {version} does not speak QUIC: take 3.2.26 or newer")
    if quic:
        known |= _QUIC
    known |= ALT_SVC_KNOBS if options.protocol == EITHER else {}
    return parse_knobs(options.knobs, known, f"HAProxy {version} over {options.protocol}")


def configuration(options: Options, knobs: Mapping[str, Any], port: int, pem: Path, origin: Path, version: str) -> str:
    """Return the text. `pem` has certificate and key, `origin` is the socket at which the files are served."""
    new = numbers(version) >= _QUIC_SINCE
    headers = "http-response set-header Cache-Control no-store"
    if ALT_SVC_PORT in knobs:
        headers += f"\n  http-response set-header Alt-Svc '{alt_svc(knobs[ALT_SVC_PORT])}'"
    return _FORM.format(
        settings="\n  ".join(_settings(options, knobs, new=new)),
        binds="\n  ".join(_bind(protocol, options, knobs, port, pem) for protocol in spoken(options.protocol)),
        only="http-request reject if HTTP_1.0 or HTTP_1.1" if {"h3", "h2"} & {*spoken(options.protocol)} else "",
        headers=headers,
        origin=origin,
    )


def request_of(line: str) -> tuple[str, tuple[str, int]] | None:
    """Return protocol and client's address of a request; None for a line about something else."""
    parts = line.strip().split(_SEPARATOR)
    if len(parts) != 3 or parts[2] not in _PROTOCOLS:
        return None
    host, port, protocol = parts
    return _PROTOCOLS[protocol], (host, int(port))


def _settings(options: Options, knobs: Mapping[str, Any], *, new: bool) -> Iterator[str]:
    """Yield the directives of the whole program."""
    streams = knobs.get("max_incoming_streams")
    if ALT_SVC_PORT in knobs:  # who learned of HTTP/3 comes back, and every connection is to be cold
        yield "ssl-default-bind-options no-tls-tickets"
        yield "tune.ssl.cachesize 0"
    if "h2" in spoken(options.protocol) and streams is not None:
        yield f"tune.h2.{'fe.' if new else ''}max-concurrent-streams {streams}"
    if "h3" not in spoken(options.protocol):
        return
    if streams is not None:
        yield f"tune.quic.frontend.max-streams-bidi {streams}"
    if "hystart" in knobs:
        yield f"tune.quic.cc-hystart {'on' if knobs['hystart'] else 'off'}"
    if not knobs.get("pacing", True):
        yield "tune.quic.disable-tx-pacing"
    if "initial_connection_window" in knobs:
        yield f"tune.quic.frontend.max-data-size {knobs['initial_connection_window']}"


def _bind(protocol: str, options: Options, knobs: Mapping[str, Any], port: int, pem: Path) -> str:
    """Return the listener of a protocol."""
    place = endpoint((options.address, port))
    tls = f"ssl crt {pem} ssl-min-ver TLSv1.3 alpn {protocol}"
    if protocol != "h3":
        return f"bind {place} {tls} allow-0rtt"
    words = [f"bind quic{6 if ':' in options.address else 4}@{place} {tls}"]
    if knobs.get("allow_0rtt", True):
        words.append("allow-0rtt")
    if knobs.get("retry"):
        words.append("quic-force-retry")
    if {"congestion_control", "max_window"} & {*knobs}:
        window = f"({knobs['max_window'] * _DATAGRAM_BYTES})" if "max_window" in knobs else ""
        words.append(f"quic-cc-algo {_CONTROLLERS[knobs.get('congestion_control', 'cubic')]}{window}")
    return " ".join(words)
