"""Every way in which qlog writes times, names, packets and connections."""

from pathlib import Path
from typing import Any

import pytest

from tests.data.decoded import acked, decode_bytes, document, event, lines, packet, rows, sequence

Folder = Path


def trace(*events: Any, **members: Any) -> dict[str, Any]:
    return {"vantage_point": {"type": "server"}, **members, "events": list(events)}


@pytest.mark.parametrize(
    ("common", "times", "reference", "expected"),
    [
        ({}, [0.035586998, 1.5], None, [35_587, 1_500_000]),
        ({"time_format": "relative", "reference_time": 1795226187546.9048}, [1, 2.000001], 1795226187546904800,
         [1_000_000, 2_000_001]),
        ({}, [1795228495184.0828, 1795228495185.2896], 1795228495184082800, [0, 1_206_800]),
        ({"time_format": "absolute", "reference_time": 1795228495000}, [1795228495001, 1795228495002.5],
         1795228495000000000, [1_000_000, 2_500_000]),
        ({"time_format": "delta", "reference_time": 1795228495000}, [5, 1, 2.5], 1795228495000000000,
         [5_000_000, 6_000_000, 8_500_000]),
        ({"time_format": "relative_to_previous_event"}, [5, 1], None, [5_000_000, 6_000_000]),
        ({"time_format": "relative_to_epoch", "reference_time": {"clock_type": "monotonic", "epoch": "unknown",
          "wall_clock_time": "2026-11-21T02:41:30.314828708Z"}}, [0.25], 1795228890314828708, [250_000]),
        ({"reference_time": "2026-11-21T02:41:30.314828708Z"}, ["1e-3"], 1795228890314828708, [1_000]),
    ],
    ids=["unsaid", "relative", "unsaid-absolute", "absolute", "delta", "previous", "object", "text"],
)  # fmt: skip
def test_times(tmp_path: Folder, common: Any, times: Any, reference: int | None, expected: list[int]) -> None:
    events = [packet(time, "sent", number) for number, time in enumerate(times)]
    table, account = decode_bytes(tmp_path, document(trace(*events, common_fields=common)))
    assert rows(table, "packet_sent", "time_ns") == expected
    assert account["reference_unix_ns"] == reference


def test_units_and_offset(tmp_path: Folder) -> None:
    configuration = {"time_units": "us", "time_offset": 500}
    table, _ = decode_bytes(tmp_path, document(trace(packet(1500, "sent", 0), configuration=configuration)))
    assert rows(table, "packet_sent", "time_ns") == [2_000_000]


def test_arrays_with_event_fields(tmp_path: Folder) -> None:
    fields = ["relative_time", "CATEGORY", "EVENT_TYPE", "TRIGGER", "DATA"]
    events = [
        [
            "2",
            "TRANSPORT",
            "PACKET_SENT",
            "LINE",
            {"packet_type": "1RTT", "header": {"packet_number": "7", "packet_size": 50}},
        ],
        ["3", "RECOVERY", "PACKET_LOST", "PACKET_THRESHOLD", {"packet_type": "1RTT", "packet_number": "7"}],
        ["4", "HTTP", "FRAME_PARSED", "GET", {}],
    ]
    table, account = decode_bytes(tmp_path, document(trace(*events, event_fields=fields), qlog_version="draft-01"))
    assert rows(table, "packet_sent", "time_ns", "space", "packet_number", "size_bytes") == [(2_000_000, "1rtt", 7, 50)]
    assert rows(table, "packet_lost", "packet_number", "size_bytes", "name") == [(7, 50, "reordering_threshold")]
    assert account["ignored"] == {"HTTP:FRAME_PARSED": 1}
    assert account["schema"] == "draft-01"


def test_what_stands_behind_the_events_counts(tmp_path: Folder) -> None:
    late = {"events": [packet(3, "sent", 0)], "common_fields": {"reference_time": 1795228495000, "group_id": "ab12"},
            "vantage_point": {"type": "client", "name": "aioquic"}}  # fmt: skip
    table, account = decode_bytes(tmp_path, document(late))
    assert rows(table, "packet_sent", "vantage", "time_ns") == [("client", 3_000_000)]
    assert account["vantage"] == "client"
    assert account["producer"] == "aioquic"
    assert account["reference_unix_ns"] == 1795228495000000000
    assert [entry["connection_id"] for entry in account["connections"]] == ["ab12"]


def test_several_traces_share_the_first_ones_reference(tmp_path: Folder) -> None:
    traces = [
        trace(packet(1, "sent", 0), packet(9, "sent", 1), common_fields={"reference_time": 1795228495000}),
        trace(packet(2, "sent", 0), common_fields={"reference_time": 1795228495003}),
    ]
    table, account = decode_bytes(tmp_path, document(*traces))
    sent = rows(table, "packet_sent", "time_ns", "connection")
    assert sent == [(1_000_000, 0), (5_000_000, 1), (9_000_000, 0)]
    assert [entry["rows"] for entry in account["connections"]] == [2, 1]


def test_groups_are_connections(tmp_path: Folder) -> None:
    events = [{**packet(time, "sent", 0), "group_id": group} for time, group in enumerate(["aa", "bb", "aa"])]
    table, account = decode_bytes(tmp_path, sequence(*events))
    assert rows(table, "packet_sent", "connection") == [0, 1, 0]
    assert [(entry["connection_id"], entry["rows"]) for entry in account["connections"]] == [("aa", 2), ("bb", 1)]


@pytest.mark.parametrize("container", [sequence, lines])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["plain", "with a byte order mark"])
def test_sequences(tmp_path: Folder, container: Any, mark: bytes) -> None:
    table, account = decode_bytes(tmp_path, mark + container(packet(1, "sent", 0), packet(2, "sent", 1)))
    assert rows(table, "packet_sent", "packet_number") == [0, 1]
    assert account["container"] == ("json-seq" if container is sequence else "ndjson")
    assert (account["read"], account["skipped"], account["truncated"]) == (2, {}, False)


@pytest.mark.parametrize(
    ("prefix", "metrics"),
    [("recovery:", "metrics_updated"), ("quic:", "recovery_metrics_updated"), ("quic:", "metrics_updated")],
)
def test_metrics_are_carried_forward(tmp_path: Folder, prefix: str, metrics: str) -> None:
    updates: list[dict[str, Any]] = [
        {"congestion_window": 12000, "smoothed_rtt": 10.5, "ssthresh": 18446744073709551615, "pto_count": 0},
        {"bytes_in_flight": 1200},
        {"bytes_in_flight": 1200},
        {"smoothed_rtt": 11.25, "ssthresh": 6000, "pacing_rate": 8000},
    ]
    events = [event(time, prefix + metrics, **update) for time, update in enumerate(updates)]
    table, account = decode_bytes(tmp_path, sequence(*events))
    columns = ("time_ns", "cwnd_bytes", "in_flight_bytes", "srtt_ns", "ssthresh_bytes", "pacing_bps")
    assert rows(table, "metrics", *columns) == [
        (0, 12000, None, 10_500_000, None, None),
        (1_000_000, 12000, 1200, 10_500_000, None, None),
        (3_000_000, 12000, 1200, 11_250_000, 6000, 8000),
    ]
    assert account["read"] == 4


@pytest.mark.parametrize(
    ("title", "first", "srtt_ns"),
    [
        ("quinn", 0.333, 333_000_000),
        ("quinn", 333.0, 333_000_000),
        ("an application with quinn", 0.333, 333_000_000),
        ("other", 0.334, 334_000),
        ("quic-go qlog", 0.333, 333_000),
    ],
)
def test_quinns_seconds(tmp_path: Folder, title: str, first: float, srtt_ns: int) -> None:
    header = {"qlog_version": "0.3", "title": title, "trace": {"vantage_point": {"type": "server"}}}
    table, _ = decode_bytes(tmp_path, sequence(event(0, "recovery:metrics_updated", smoothed_rtt=first), header=header))
    assert rows(table, "metrics", "srtt_ns") == [srtt_ns]


def test_quiches_bytes_per_second(tmp_path: Folder) -> None:
    header = {"qlog_version": "0.3", "title": "quiche 0.22.0", "trace": {"vantage_point": {"type": "server"}}}
    table, _ = decode_bytes(tmp_path, sequence(event(0, "recovery:metrics_updated", pacing_rate=1000), header=header))
    assert rows(table, "metrics", "pacing_bps") == [8000]


def test_counted_losses_and_limits_of_the_application(tmp_path: Folder) -> None:
    updates: list[dict[str, Any]] = [
        {"cf_lost_packets": {"total": 0, "delta": 0}, "cf_app_limited": False},
        {"cf_lost_packets": {"total": 3, "delta": 3}, "cf_app_limited": True},
        {"cf_lost_packets": 4},
    ]
    events = [event(time, "quic:recovery_metrics_updated", **update) for time, update in enumerate(updates)]
    table, _ = decode_bytes(tmp_path, sequence(*events))
    assert rows(table, "packet_lost", "time_ns", "value", "packet_number") == [
        (1_000_000, 3.0, None),
        (2_000_000, 1.0, None),
    ]
    assert rows(table, "app_limited", "value") == [0.0, 1.0]
    assert rows(table, "metrics", "time_ns") == []


@pytest.mark.parametrize(
    "write", [lambda low, high: [low, high], lambda low, high: f"{low}-{high}", lambda low, high: [str(low), str(high)]]
)
def test_acknowledged_once_whatever_the_ranges_say(tmp_path: Folder, write: Any) -> None:
    sent = [packet(time, "sent", time, length=1000 + time) for time in range(6)]
    received = [
        packet(10, "received", 0, acked(write(0, 1), write(4, 4))),
        packet(11, "received", 1, acked(write(0, 4), write(9, 99))),
        packet(12, "received", 2, acked(write(0, 5))),
        packet(13, "received", 3, acked(write(0, 5)), kind="handshake"),
    ]
    table, _ = decode_bytes(tmp_path, sequence(*sent, *received))
    assert rows(table, "packet_acked", "time_ns", "packet_number", "size_bytes", "acked_bytes", "space") == [
        (10_000_000, 0, 1000, 1000, "1rtt"),
        (10_000_000, 1, 1001, 2001, "1rtt"),
        (10_000_000, 4, 1004, 3005, "1rtt"),
        (11_000_000, 2, 1002, 4007, "1rtt"),
        (11_000_000, 3, 1003, 5010, "1rtt"),
        (12_000_000, 5, 1005, 6015, "1rtt"),
    ]


def test_one_number_in_a_range(tmp_path: Folder) -> None:
    events = [packet(0, "sent", 5), packet(1, "received", 0, acked([5])), packet(2, "received", 1, acked("5"))]
    table, _ = decode_bytes(tmp_path, sequence(*events))
    assert rows(table, "packet_acked", "packet_number") == [5]


def test_early_data(tmp_path: Folder) -> None:
    events = [packet(0, "sent", 0, kind="0RTT"), packet(1, "sent", 1), packet(2, "received", 0, acked([0, 1]))]
    table, _ = decode_bytes(tmp_path, sequence(*events))
    assert rows(table, "packet_acked", "packet_number", "space") == [(0, "0rtt"), (1, "1rtt")]
    assert rows(table, "milestone", "name") == ["early_data_accepted"]


def test_limits(tmp_path: Folder) -> None:
    frames = [
        {"frame_type": "data_blocked", "limit": 5000},
        {"frame_type": "stream_data_blocked", "stream_id": 4, "limit": 700},
        {"frame_type": "streams_blocked", "stream_type": "unidirectional", "limit": 3},
        {"frame_type": "streams_blocked", "stream_type": "bidirectional", "limit": 100},
    ]
    table, _ = decode_bytes(tmp_path, sequence(packet(0, "sent", 0, *frames), packet(1, "received", 0, frames[0])))
    assert rows(table, "blocked", "name", "stream", "value", "detail") == [
        ("connection", None, 5000.0, "frame_sent"),
        ("stream", 4, 700.0, "frame_sent"),
        ("streams_uni", None, 3.0, "frame_sent"),
        ("streams_bidi", None, 100.0, "frame_sent"),
        ("connection", None, 5000.0, "frame_received"),
    ]


def test_parts_of_streams_that_arrived(tmp_path: Folder) -> None:
    frames = [
        {"frame_type": "stream", "stream_id": 0, "offset": 1000, "length": 500, "fin": False},
        {"frame_type": "stream", "stream_id": "4", "length": "20"},
        {"frame_type": "stream", "stream_id": 8, "offset": 7, "raw": {"length": 12, "payload_length": 9}},
        {"frame_type": "stream", "stream_id": 12},
    ]
    received = packet(1, "received", 5, *frames)
    table, _ = decode_bytes(tmp_path, sequence(packet(0, "sent", 0, frames[0]), received))
    assert rows(table, "stream_data", "packet_number", "space", "stream", "value", "size_bytes") == [
        (5, "1rtt", 0, 1000.0, 500),
        (5, "1rtt", 4, 0.0, 20),
        (5, "1rtt", 8, 7.0, 9),
    ]


def test_probe_timeouts_are_reported_once(tmp_path: Folder) -> None:
    timer = {"timer_type": "pto", "packet_number_space": "application_data"}
    events = [
        event(0, "recovery:loss_timer_updated", event_type="set", delta=200.5, **timer),
        event(1, "recovery:loss_timer_updated", event_type="expired", **timer),
        event(1.1, "recovery:metrics_updated", pto_count=1),
        event(2, "recovery:metrics_updated", pto_count=2),
        event(3, "recovery:metrics_updated", pto_count=0),
        event(4, "recovery:loss_timer_updated", event_type="cancelled"),
    ]
    table, _ = decode_bytes(tmp_path, sequence(*events))
    assert rows(table, "pto", "time_ns", "value") == [(1_000_000, 1.0), (2_000_000, 2.0)]
    assert rows(table, "loss_timer", "name", "detail", "space", "value") == [
        ("set", "pto", "1rtt", 0.2005),
        ("expired", "pto", "1rtt", None),
        ("cancelled", None, None, None),
    ]


def test_timers_of_newer_drafts_that_are_no_loss_timers_are_ignored(tmp_path: Folder) -> None:
    kinds = ["ack", "pto", "loss_timeout", "idle_timeout", "handshake_timeout", "path_validation"]
    events = [event(time, "quic:timer_updated", timer_type=kind, event_type="set") for time, kind in enumerate(kinds)]
    table, account = decode_bytes(tmp_path, sequence(*events, event(9, "quic:timer_updated", event_type="set")))
    assert rows(table, "loss_timer", "detail") == ["ack", "pto", "loss_timeout", None]
    assert account["ignored"] == {"quic:timer_updated": 3}


def test_only_flow_control_is_a_limit(tmp_path: Folder) -> None:
    reasons = [None, "connection_flow_control", "stream_flow_control", "pacing", "congestion_control", "application"]
    connection = [
        event(time, "quic:connection_data_blocked_updated", new="blocked", **({"reason": reason} if reason else {}))
        for time, reason in enumerate(reasons)
    ]
    stream = event(9, "quic:stream_data_blocked_updated", new="blocked", stream_id=4)
    table, account = decode_bytes(tmp_path, sequence(*connection, stream))
    assert rows(table, "blocked", "name", "stream") == [
        ("connection", None),
        ("connection", None),
        ("stream", None),
        ("stream", 4),
    ]
    assert account["ignored"] == {"quic:connection_data_blocked_updated": 3}


def test_a_retry_by_its_own_event(tmp_path: Folder) -> None:
    table, _ = decode_bytes(tmp_path, sequence(event(3, "transport:connection_retried", trigger="unspecified")))
    assert rows(table, "milestone", "name", "time_ns") == [("retry", 3_000_000)]


def test_whatever_is_skipped_has_a_warning(tmp_path: Folder) -> None:
    for traces in (["no object"], [{"title": "no events"}], [{"events": "no array"}]):
        _, account = decode_bytes(tmp_path, document(*traces))
        (reason,) = account["skipped"]
        assert [warning["problem"] for warning in account["warnings"]] == [f"skipped: {reason}"]


def test_states_keep_the_stacks_own_name(tmp_path: Folder) -> None:
    own = ["slow_start", "conservative_slow_start", "bbr_probe_bw_up", "mystery"]
    events = [event(time, "recovery:congestion_state_updated", new=name) for time, name in enumerate(own)]
    table, _ = decode_bytes(tmp_path, sequence(*events))
    ours = ["slow_start", "slow_start", "bbr_probe_bandwidth", None]
    assert rows(table, "congestion_state", "name", "detail") == list(zip(ours, own, strict=True))


def test_milestones(tmp_path: Folder) -> None:
    events = [
        event(0, "transport:connection_started", local={"ip_v4": "10.8.0.2", "port_v4": 443},
              remote={"ip_v6": "fd00::1", "port_v6": 5000}),
        event(1, "security:key_updated", key_type="server_handshake_secret", trigger="tls"),
        event(2, "security:key_updated", key_type="server_1rtt_secret", trigger="tls", key_phase=0),
        event(3, "transport:connection_state_updated", new="handshake_complete"),
        packet(4, "sent", 0, {"frame_type": "handshake_done"}),
        event(5, "quic:connection_state_updated", new="handshake_confirmed"),
        event(6, "security:key_updated", key_type="client_1rtt_secret", trigger="remote_update", key_phase=1),
        event(6, "security:key_updated", key_type="server_1rtt_secret", trigger="remote_update", key_phase=1),
        event(7, "recovery:mtu_updated", new=1452, done=True),
        event(8, "recovery:ecn_state_updated", new="capable"),
        event(9, "transport:alpn_information", chosen_alpn={"string_value": "h3"}),
        event(10, "connectivity:connection_closed", owner="local", trigger="idle_timeout"),
    ]  # fmt: skip
    table, account = decode_bytes(tmp_path, sequence(*events))
    assert rows(table, "milestone", "name", "detail", "value") == [
        ("started", None, None),
        ("handshake_keys", None, None),
        ("application_keys", None, None),
        ("complete", None, None),
        ("confirmed", "handshake_done frame", None),
        ("key_update", "remote_update", None),
        ("mtu", None, 1452.0),
        ("ecn_capable", None, None),
        ("alpn", "h3", None),
        ("idle_timeout", "local idle_timeout", None),
    ]
    assert set(table.column("flow").to_pylist()) == {"udp [fd00::1]:5000 10.8.0.2:443"}
    assert (account["connections"][0]["client"], account["connections"][0]["server"]) == (
        "[fd00::1]:5000",
        "10.8.0.2:443",
    )


def test_parameters_are_json_with_sorted_keys(tmp_path: Folder) -> None:
    events = [
        event(0, "transport:parameters_set", owner="remote", initial_max_data=5, ack_delay_exponent=3),
        event(1, "quic:recovery_parameters_set", reordering_threshold=3),
        event(2, "recovery:parameters_set", reordering_threshold=4),
        event(3, "http:parameters_set", owner="local"),
    ]
    table, account = decode_bytes(tmp_path, sequence(*events))
    assert rows(table, "parameters", "name", "detail") == [
        ("remote", '{"ack_delay_exponent":3,"initial_max_data":5}'),
        ("recovery", '{"reordering_threshold":3}'),
        ("recovery", '{"reordering_threshold":4}'),
    ]
    assert account["ignored"] == {"http:parameters_set": 1}
