"""nginx's configuration for one job."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from longlook_adapter.either import ALT_SVC_KNOBS, ALT_SVC_PORT, EITHER, alt_svc, spoken
from longlook_adapter.errors import UnsupportedError
from longlook_adapter.knobs import parse_knobs, truth, whole
from longlook_adapter.lines import endpoint
from longlook_adapter.nginx import nginx_configuration
from longlook_adapter.options import Options
from longlook_adapter.versions import numbers

_QUIC_SINCE, _EARLY_DATA_SINCE = (1, 25, 1), (1, 29, 1)
_STREAMS: Mapping[str, Callable[[str], Any]] = {"max_incoming_streams": whole(1, 100_000)}
_OVER_QUIC: Mapping[str, Callable[[str], Any]] = {
    "stream_send_buffer": whole(8_192, 1 << 30),
    "retry": truth,
}
_DEFAULT_STREAMS = 128  # nginx's own
_CONNECTIONS = 1_024

_SITE = """\
  log_format connection escape=json
    '{{"address":"$remote_addr","port":"$remote_port","reused":"$ssl_session_reused",'
    '"protocol":"$protocol","early":"$early"}}';
  access_log /proc/self/fd/1 connection if=$protocol;
  server {{
    {protocols}
    ssl_certificate "{certificate}";
    ssl_certificate_key "{key}";
    ssl_protocols TLSv1.3;
    root "{www}";
    add_header Cache-Control no-store always;
    set $early "{early}";
    set $protocol "{protocol}";
    if ($protocol = "") {{ return 444; }}
  }}
"""


def knobs_of(options: Options, version: str) -> Mapping[str, Any]:
    """Return checked knobs; UnsupportedError for a protocol that the version does not speak."""
    quic = "h3" in spoken(options.protocol)
    if quic and numbers(version) < _QUIC_SINCE:
        raise UnsupportedError(f"nginx {version} does not speak QUIC: take 1.26.3 or newer")
    known = dict(_STREAMS)
    if quic:
        known |= _OVER_QUIC
        known |= {"allow_0rtt": truth} if numbers(version) >= _EARLY_DATA_SINCE else {}
    known |= ALT_SVC_KNOBS if options.protocol == EITHER else {}
    return parse_knobs(options.knobs, known, f"nginx {version} over {options.protocol}")


def configuration(options: Options, knobs: Mapping[str, Any], port: int, folder: Path, version: str) -> str:
    """Return the text. nginx always accepts HTTP/1.1 as well: such a request is closed without an answer (444)."""
    site = _SITE.format(
        protocols="\n    ".join(_protocols(options, knobs, endpoint((options.address, port)), numbers(version))),
        early="$ssl_early_data" if numbers(version) >= _QUIC_SINCE else "",
        protocol="$http2$http3" if numbers(version) >= _QUIC_SINCE else "$http2",
        certificate=options.certificate,
        key=options.key,
        www=options.www,
    )
    return nginx_configuration(folder, site, log="stderr", connections=_CONNECTIONS)


def _protocols(options: Options, knobs: Mapping[str, Any], place: str, version: tuple[int, ...]) -> Iterator[str]:
    """Yield the directives of what the server speaks."""
    streams = knobs.get("max_incoming_streams", _DEFAULT_STREAMS)
    for protocol in spoken(options.protocol):
        if protocol == "h3":
            yield f"listen {place} quic;"
            yield f"http3_max_concurrent_streams {streams};"
            yield from _quic(knobs, version)
        else:
            new = version >= _QUIC_SINCE
            yield f"listen {place} ssl;" if new else f"listen {place} ssl http2;"
            yield f"{'http2 on; ' if new else ''}http2_max_concurrent_streams {streams};"
    if ALT_SVC_PORT in knobs:  # who learned of HTTP/3 comes back, and every connection is to be cold
        yield "ssl_session_tickets off;"
        yield f"add_header Alt-Svc '{alt_svc(knobs[ALT_SVC_PORT])}' always;"


def _quic(knobs: Mapping[str, Any], version: tuple[int, ...]) -> Iterator[str]:
    yield f"quic_retry {_switch(knobs.get('retry', False))};"
    if version >= _EARLY_DATA_SINCE:
        yield f"ssl_early_data {_switch(knobs.get('allow_0rtt', True))};"
    if "stream_send_buffer" in knobs:
        yield f"http3_stream_buffer_size {knobs['stream_send_buffer']};"


def _switch(value: object) -> str:
    return "on" if value else "off"
