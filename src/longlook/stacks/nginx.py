"""nginx of Debian: HTTP/3 and HTTP/2, alone or on one port (adapters/nginx)."""

from dataclasses import replace

from longlook.core import ALT_SVC_PORT, ConnectionState, Version, knobs, with_default
from longlook.provision import debian_server

SUITES = {"1.22.1": "bookworm", "1.26.3": "trixie", "1.30.6": "forky"}

_QUIC, _EVERY = ("h3",), ("h3", "h2")
_WITHOUT_EARLY_DATA = (ConnectionState.COLD, ConnectionState.RESUMED)
_QUIC_SINCE, _EARLY_DATA_SINCE = "1.26.3", "1.30.6"

_OVER_TCP = debian_server(
    "nginx",
    "nginx of Debian: HTTP/3 and HTTP/2 in one server",
    (
        Version("1.22.1", "2022-11-10", ("h2",), _WITHOUT_EARLY_DATA),
        Version("1.26.3", "2025-02-05", _EVERY, _WITHOUT_EARLY_DATA, "QUIC by OpenSSL's older interface, NewReno"),
        Version("1.30.6", "2026-10-14", _EVERY, note="QUIC by OpenSSL's own interface, CUBIC"),
    ),
    SUITES,
    streams=128,
)

STACK = replace(
    _OVER_TCP,
    default="1.26.3",  # of Debian's stable release: a later one may leave the archive any day
    protocols=_EVERY,
    connections=(ConnectionState.COLD, ConnectionState.RESUMED, ConnectionState.ZERO_RTT),
    either=True,
    server_config="nginx.conf",
    knobs={
        **_OVER_TCP.knobs,
        "stream_send_buffer": with_default(
            knobs.STREAM_SEND_BUFFER, "stack: 64 KiB",
            help="data of a stream kept until it is acknowledged; a client's stream gets the same window at first",
            minimum=8_192, maximum=1 << 30, since=_QUIC_SINCE, protocols=_QUIC,
        ),
        "retry": with_default(knobs.RETRY, "stack: no", since=_QUIC_SINCE, protocols=_QUIC),
        "allow_0rtt": with_default(
            knobs.ALLOW_0RTT, "adapter: yes", help="accepts early data", default=None, since=_EARLY_DATA_SINCE,
            protocols=_QUIC,
        ),
        "alt_svc_port": with_default(ALT_SVC_PORT, "stack: no header", since=_QUIC_SINCE),
    },
)  # fmt: skip
