"""Cases whose cause is known because it was planted: what `longlook explain --certify` explains without knowing it.

Both arms of a case are the same programs with the same settings, except for what is planted into one of them: a
setting, or a patch of its library (adapters/planted). A case can have several truths: causes that say why, of which
each must be confirmed (`expected`), places at which the gap arises (`where`), and the end that differs (`end`). If
several names say the same of it, each counts as found (`also`). A decoy changes something that should make no
difference, or only the occasion, on the path of one arm: then no end's rule is the reason, whatever closes the gap.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from longlook.core import Scalar

Settings = Mapping[str, Scalar]

PATCHED = ("planted", "example/variant")
"""Folders of adapters/ with stacks whose libraries are patched; they are plug-ins, and known to cases alone."""


@dataclass(frozen=True)
class Planted:
    """A case. `base` are settings of both arms, `planted` the changes of one arm, `cell` path and workload."""

    name: str
    expected: tuple[str, ...]  # each must be confirmed; none: a decoy, or a case of which only a place is true
    base: Settings
    planted: Settings
    also: tuple[str, ...] = ()  # may be confirmed as well: another true name of what was planted
    cell: Settings = field(default_factory=dict)
    where: tuple[str, ...] = ()  # each must say where, and none of them why
    end: str = ""  # server or client: the end that differs; a cause confirmed of the other one is wrong


_QUIC: Settings = {
    "protocol": "h3",
    "connection": "cold",
    "server": "quic-go@0.65.0+knobs",
    "client": "quic-go@0.65.0+knobs",
    "server_knobs.congestion_control": "cubic",
}
_PLAIN: Settings = {"protocol": "h3", "connection": "cold", "server": "quic-go@0.65.0", "client": "quic-go@0.65.0"}
_TCP: Settings = {"protocol": "h2", "connection": "cold", "server": "quic-go", "client": "quic-go", "tcp": "stock"}
_QUINN: Settings = {"protocol": "h3", "connection": "cold", "server": "quinn", "client": "quinn"}
_QUICHE: Settings = {"protocol": "h3", "connection": "cold", "server": "quiche@0.28.0", "client": "quic-go"}
_EITHER: Settings = {**_TCP, "protocol": "h3-or-h2", "client_knobs.fallback_delay": 0.1}
_PROXIED: Settings = {
    **_QUIC,
    "connection": "resumed",
    "proxy": "envoy@1.39.3",
    "proxy_knobs.upstream_connections": "warm",
}
_MIDWAY: Settings = {"network.rtt": "20ms", "behind.rate": "20Mbit", "behind.rtt": "20ms"}
_OF_BURSTS = ("queue_loss_response", "slow_start_overshoot", "burstiness", "window_after_loss", "tail_loss")
_BURSTS: Settings = {"workload.kind": "download", "workload.objects": 5, "workload.object": "150KB",
                     "workload.at_once": 1, "workload.idle": "500ms"}  # fmt: skip
_LOSS: Settings = {"network.loss": "1%", "workload.object": "3MB"}
_SHORT: Settings = {"workload.object": "20KB"}  # its last packets with data are the same in every round
_LONG: Settings = {"workload.object": "3MB"}
_JITTER: Settings = {"network.jitter": "8ms", "network.jitter_reorders": True, "workload.object": "3MB"}

CASES = (
    Planted("quic initial window", ("initial_window",), _QUIC, {"server_knobs.initial_window": 3}),
    Planted("tcp initial window", ("initial_window",), _TCP, {"tcp_initial_window": 2}),
    Planted(
        "quic largest window", ("window_capped",), _QUIC, {"server_knobs.max_window": 20}, cell=_LONG
    ),
    Planted(
        "quinn largest window", ("window_capped",), _QUINN, {"server_knobs.max_window": 20}, cell=_LONG
    ),
    Planted(
        "quic stream credit",
        ("stream_credit",),
        _QUIC,
        {"client_knobs.initial_stream_window": 20_000, "client_knobs.max_stream_window": 20_000},
    ),
    Planted(
        "quinn stream credit", ("stream_credit",), _QUINN, {"client_knobs.initial_stream_window": 20_000}
    ),
    Planted(
        "quic connection credit",
        ("connection_credit",),
        _QUIC,
        {"client_knobs.initial_connection_window": 20_000, "client_knobs.max_connection_window": 20_000},
    ),
    Planted("tcp receive window", ("connection_credit",), _TCP, {"tcp_receive_buffer": "24KiB"}),
    Planted("tcp send buffer", ("send_buffer",), _TCP, {"tcp_send_buffer": "24KiB"}),
    Planted("quinn send buffer", ("send_buffer",), _QUINN, {"server_knobs.send_buffer": 16_000}),
    Planted(
        "streams at once",
        ("stream_ids",),
        _QUIC,
        {"server_knobs.max_incoming_streams": 2},
        cell={"workload.objects": 40, "workload.object": "5KB"},
    ),
    Planted(
        "handshake",
        ("no_early_data",),
        {**_QUIC, "connection": "0rtt"},
        {"connection": "resumed"},
        also=("early_data_refused",),
        cell={"workload.object": "20KB"},
        where=("handshake_round_trips",),
    ),
    Planted(
        "quic loss response",
        ("window_after_loss",),
        _QUIC,
        {"server_knobs.window_after_loss": 0.2},
        also=("random_loss_response", "queue_loss_response"),
        cell=_LOSS,
    ),
    Planted(
        "tcp loss response",
        ("window_after_loss",),
        _TCP,
        {"tcp_window_after_loss": 0.2},
        also=("random_loss_response", "queue_loss_response"),
        cell=_LOSS,
    ),
    Planted(
        "quic controller",
        ("emulated_connections",),
        {**_QUIC, "server_knobs.emulated_connections": 4},
        {"server_knobs.emulated_connections": 1},
        also=("random_loss_response", "queue_loss_response", "window_after_loss"),
        cell=_LOSS,
    ),
    Planted(
        "quic reordering threshold",
        ("spurious_loss",),
        {**_QUIC, "server_knobs.adaptive_reordering": False, "server_knobs.packet_threshold": 300,
         "server_knobs.time_threshold": 4.0},
        {"server_knobs.packet_threshold": 3},
        also=("multiple_reductions", "duplicate_sending"),
        cell=_JITTER,
    ),
    Planted(
        "reductions kept after spurious losses",
        ("kept_reduction",),
        {**_QUIC, "server_knobs.undo_spurious_losses": True},
        {"server_knobs.undo_spurious_losses": False},
        also=("spurious_loss", "multiple_reductions", "duplicate_sending"),
        cell=_JITTER,
    ),
    Planted(
        "queue of a slow receiver",
        ("receiver_discards",),
        {**_QUIC, "client_processor": "12 * server-core"},
        {"client_knobs.receive_queue": 2},
        also=("queue_loss_response", "random_loss_response", "window_after_loss", "tail_loss"),
        cell=_LONG,
    ),
    Planted(
        "quinn reordering threshold",
        ("spurious_loss",),
        {**_QUINN, "server_knobs.packet_threshold": 300, "server_knobs.time_threshold": 4.0},
        {"server_knobs.packet_threshold": 3},
        also=("multiple_reductions", "duplicate_sending"),
        cell=_JITTER,
    ),
    Planted(
        "tcp hystart",
        ("slow_start_early_exit",),
        {**_TCP, "tcp_hystart": False},
        {"tcp_hystart": True},
        cell={"network.rate": "50Mbit", "network.rtt": "80ms", "network.jitter": "20ms", "workload.object": "3MB"},
    ),
    Planted(
        "quic threshold of slow start",
        ("slow_start_early_exit",),
        _QUIC,
        {"server_knobs.initial_ssthresh": 8},
        cell={"workload.object": "1MB"},
    ),
    Planted("quic probe timer", ("timer_too_long",), _QUIC, {"server_knobs.pto_factor": 8.0},
            also=("tail_loss",), cell={**_SHORT, "network.surgery.down": "drop 22, 23"}),
    Planted("tcp retransmission timer", ("timer_too_long",), {**_TCP, "tcp_tail_loss_probe": False},
            {"tcp_rto_min": "3s"}, also=("tail_loss",), cell={**_SHORT, "network.surgery.down": "drop 25, 26"}),
    Planted("acknowledgements", ("ack_starvation",), _QUIC,
            {"client_knobs.ack_threshold": 200, "client_knobs.max_ack_delay": 0.2}),
    Planted("small packets", ("small_payload",), {**_TCP}, {"tcp_mss": "400B"}, cell=_LONG),
    Planted("stream credit in another version", ("stream_credit",), {**_QUIC, "client": "quic-go@0.65.0"},
            {"client": "quic-go@0.65.0+knobs", "client_knobs.initial_stream_window": 20_000,
             "client_knobs.max_stream_window": 20_000}),
    Planted("initial window and stream credit", ("initial_window", "stream_credit"), _QUIC,
            {"server_knobs.initial_window": 3, "client_knobs.initial_stream_window": 30_000,
             "client_knobs.max_stream_window": 30_000}),
    Planted("early data and largest window", ("no_early_data", "window_capped"), {**_QUIC, "connection": "0rtt"},
            {"connection": "resumed", "server_knobs.max_window": 20}, cell={"workload.object": "350KB"}),
    Planted("quinn connection credit", ("connection_credit",), _QUINN,
            {"client_knobs.initial_connection_window": 20_000}),
    Planted("retry", ("retry_round_trip",), {"protocol": "h3", "connection": "cold", "server": "tquic",
            "client": "quic-go"}, {"server_knobs.retry": True}, cell=_SHORT, where=("handshake_round_trips",),
            end="server"),
    Planted("late fallback", ("late_fallback",), _EITHER, {"client_knobs.fallback_delay": 0.6},
            also=("middlebox",), cell={"network.block": "udp"}),
    Planted("a proxy's own connection", ("proxy_connection",), _PROXIED, {"proxy_knobs.upstream_connections": "cold"},
            cell={**_MIDWAY, "workload.object": "20KB"}),
    Planted("a path that no proxy splits", ("unsplit_path",), {**_TCP, "proxy": "haproxy@2.6.12"}, {"proxy": "none"},
            also=("random_loss_response",), cell={**_MIDWAY, **_LOSS}),
    Planted("bursts", ("burstiness",), _QUIC, {"server_knobs.pacing": False},
            also=_OF_BURSTS, cell={"network.queue": "10packets", "workload.object": "1MB"}),
    Planted("another controller", ("congestion_controller",), {**_QUICHE, "server_knobs.congestion_control": "bbr2"},
            {"server_knobs.congestion_control": "cubic"}, also=("random_loss_response", "queue_loss_response"),
            cell={**_LONG, "network.loss": "3%"}),
    Planted("pacing rate", ("pacing_limited",), {**_QUICHE, "server": "quiche@0.22.0"},
            {"server_knobs.max_pacing_rate": 5_000_000}),
    Planted("a packet of the handshake", (), _QUIC, {"network.surgery.down": "drop 1"}, cell=_SHORT,
            where=("handshake_loss",)),
    Planted("the last packets", (), _QUIC, {"network.surgery.down": "drop 22, 23"}, cell=_SHORT, where=("tail_loss",)),
    Planted("the last packets and the probes for them", (), _QUIC, {"network.surgery.down": "drop 22-25"},
            also=("rto_backoff",), cell=_SHORT, where=("tail_loss",)),
    Planted("a window that falls back after a pause", ("idle_restart",), {**_TCP, "tcp_idle_restart": False},
            {"tcp_idle_restart": True}, cell=_BURSTS),
    Planted("patched: a smaller initial window", ("initial_window",), _PLAIN, {"server": "small-window"}, end="server"),
    Planted("patched: late and rare acknowledgements", ("ack_starvation",), _QUIC, {"client": "rare-acks"},
            also=("rtt_overestimated",), end="client"),
    Planted("patched: a window that stops below what is declared", ("window_capped",), _QUIC, {"server": "low-cap"},
            cell=_LONG, end="server"),
    Planted("patched: late acknowledgements and a window that stops", ("ack_starvation", "window_capped"), _QUIC,
            {"client": "rare-acks", "server": "low-cap"}, also=("rtt_overestimated",), cell=_LONG),
    Planted("patched: datagrams sent twice", ("datagrams_sent_twice",), _PLAIN, {"server": "twice"},
            also=("duplicate_sending",), cell=_LONG, end="server"),
    Planted("patched: a client that reads slowly", (), _PLAIN, {"client": "slow-reader"}, cell=_LONG,
            where=("slow_reader",), end="client"),
    Planted("decoy: one arm's path loses packets", (), _QUIC, {"network.down.loss": "2%"}, cell=_LONG,
            where=("random_loss_response",)),
    Planted("decoy: one arm's path delivers out of order", (), _QUIC,
            {"network.down.jitter": "8ms", "network.down.jitter_reorders": True}, cell=_LONG, where=("spurious_loss",)),
    Planted("decoy: one arm's queue is short", (), _QUIC, {"network.down.queue": "5packets"}, cell=_LONG,
            where=("queue_loss_response",)),
    Planted("decoy: ECN off", (), _QUIC, {"server_knobs.ecn": False}),
    Planted("decoy: more streams at once", (), _QUIC, {"server_knobs.max_incoming_streams": 500}),
    Planted("decoy: another receive buffer", (), _TCP, {"tcp_receive_buffer": "8MiB"}),
    Planted("decoy: a window that is never reached", (), _QUIC, {"server_knobs.max_window": 9000}, cell=_LOSS),
    Planted("decoy: DSACK off without reordering", (), _TCP, {"tcp_dsack": False}, cell=_LOSS),
    Planted("decoy: credit that is never used up", (), _QUINN, {"client_knobs.initial_stream_window": 2_000_000}),
    Planted("decoy: a send buffer that is never full", (), _QUINN, {"server_knobs.send_buffer": 4_000_000}),
)  # fmt: skip

DEFAULT_CELL: Settings = {
    "network.rate": "20Mbit",
    "network.rtt": "36ms",
    "network.queue": "1bdp",
    "workload.kind": "page",
    "workload.objects": 1,
    "workload.object": "200KB",
}
"""The cell of a case whose own `cell` has nothing else."""
