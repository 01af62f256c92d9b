"""States of senders from records written by hand, the answers worked out."""

from typing import Any

import numpy as np

from longlook.timeline.normalise.rows import Rows
from longlook.timeline.normalise.sender import COLUMNS
from longlook.timeline.normalise.states import derive_states, find_states
from longlook.timeline.states import times_in_states
from tests.data.events import events_of, row, table_of

MS = 1_000_000
RTT: dict[str, Any] = {"srtt_ns": 40 * MS}


def metrics(ms: int, cwnd: int, flight: int, **more: Any) -> dict[str, Any]:
    return row(ms * MS, "metrics", cwnd_bytes=cwnd, in_flight_bytes=flight, **RTT, **more)


def packet(ms: int, kind: str, number: int, size: int = 1200) -> dict[str, Any]:
    return row(ms * MS, kind, space="1rtt", packet_number=number, size_bytes=size)


def rows_of(*rows: dict[str, Any]) -> Rows:
    return Rows.of(table_of(*rows), COLUMNS)


def view(found: Any) -> list[tuple[int, str]]:
    return [(time // MS, str(state)) for time, state in zip(found.times_ns, found.states, strict=True)]


def a_loss() -> list[dict[str, Any]]:
    """Slow start, a loss at 80 ms, its recovery until a packet sent after it is acknowledged at 130 ms."""
    return [
        row(0, "milestone", name="started"),
        packet(10, "packet_sent", 1),
        metrics(10, 12_000, 12_000),
        packet(50, "packet_acked", 1),
        metrics(50, 24_000, 23_000),
        packet(60, "packet_sent", 2),
        packet(70, "packet_sent", 3),
        packet(80, "packet_acked", 3),
        packet(80, "packet_lost", 2),
        metrics(80, 12_000, 12_000),
        packet(90, "packet_sent", 4),
        packet(100, "packet_lost", 1),
        metrics(110, 12_000, 12_000),
        packet(130, "packet_acked", 4),
        metrics(130, 12_300, 12_000),
        metrics(150, 12_600, 12_000),
    ]


def test_a_loss_ends_slow_start_and_recovery_ends_with_a_packet_sent_since() -> None:
    found = derive_states(rows_of(*a_loss()))
    assert view(found) == [
        (0, "init"),
        (10, "slow_start"),
        (80, "recovery"),
        (130, "congestion_avoidance"),
    ]
    assert set(found.sources) == {"derived"}
    assert found.details == ["handshake", "growth", "loss", "growth"]


def test_a_threshold_says_where_slow_start_ends() -> None:
    before = [metrics(ms, 10_000 + ms * 100, 10_000 + ms * 100) for ms in range(0, 50, 10)]
    after = [metrics(ms, 20_000, 20_000, ssthresh_bytes=15_000) for ms in range(50, 100, 10)]
    assert view(derive_states(rows_of(packet(0, "packet_sent", 1), *before, *after))) == [
        (0, "slow_start"),
        (50, "congestion_avoidance"),
    ]


def test_what_a_row_of_metrics_does_not_say_still_holds() -> None:
    rows = [
        packet(0, "packet_sent", 1),
        metrics(0, 30_000, 30_000),
        row(20 * MS, "metrics", ssthresh_bytes=15_000),
        row(40 * MS, "metrics", cwnd_bytes=10_000),
        row(60 * MS, "metrics", in_flight_bytes=9_000),
        row(80 * MS, "metrics", cwnd_bytes=16_000, in_flight_bytes=16_000),
    ]
    assert view(derive_states(rows_of(*rows))) == [
        (0, "slow_start"),
        (20, "congestion_avoidance"),
        (40, "slow_start"),
        (80, "congestion_avoidance"),
    ]


def test_an_unused_window_for_more_than_a_round_trip_is_the_applications() -> None:
    used = [metrics(ms, 50_000, 49_000, ssthresh_bytes=10_000) for ms in range(0, 100, 10)]
    idle = [metrics(ms, 50_000, 5_000, ssthresh_bytes=10_000) for ms in range(100, 200, 10)]
    again = [metrics(ms, 50_000, 49_000, ssthresh_bytes=10_000) for ms in range(200, 250, 10)]
    assert view(derive_states(rows_of(packet(0, "packet_sent", 1), *used, *idle, *again))) == [
        (0, "congestion_avoidance"),
        (100, "application_limited"),
        (200, "congestion_avoidance"),
    ]


def test_a_shorter_pause_changes_nothing() -> None:
    used = [metrics(ms, 50_000, 49_000, ssthresh_bytes=10_000) for ms in range(0, 100, 10)]
    idle = [metrics(ms, 50_000, 5_000, ssthresh_bytes=10_000) for ms in range(100, 130, 10)]
    again = [metrics(ms, 50_000, 49_000, ssthresh_bytes=10_000) for ms in range(130, 180, 10)]
    found = derive_states(rows_of(packet(0, "packet_sent", 1), *used, *idle, *again))
    assert view(found) == [(0, "congestion_avoidance")]


def test_a_used_window_that_stays_at_its_cap_is_maxed() -> None:
    growing = [metrics(ms, 40_000 + 10 * ms, 40_000 + 10 * ms, ssthresh_bytes=10_000) for ms in range(0, 200, 10)]
    capped = [metrics(ms, 42_000, 41_500, ssthresh_bytes=10_000) for ms in range(200, 1000, 10)]
    assert view(derive_states(rows_of(packet(0, "packet_sent", 1), *growing, *capped))) == [
        (0, "congestion_avoidance"),
        (200, "congestion_avoidance_maxed"),
    ]


def test_probe_timeouts_last_until_an_acknowledgement() -> None:
    found = derive_states(
        rows_of(
            packet(0, "packet_sent", 1),
            metrics(0, 12_000, 12_000),
            row(20 * MS, "pto", value=1.0),
            row(60 * MS, "pto", value=2.0),
            packet(70, "packet_acked", 1),
            metrics(70, 12_000, 12_000),
            metrics(90, 12_000, 12_000),
        )
    )
    assert view(found) == [(0, "slow_start"), (20, "loss_probe"), (60, "timeout"), (70, "slow_start")]


def test_a_stack_that_says_its_state_is_believed_and_timers_are_added() -> None:
    found = find_states(
        rows_of(
            row(0, "congestion_state", name="slow_start", detail="slow_start"),
            packet(10, "packet_sent", 1),
            metrics(10, 12_000, 12_000),
            row(20 * MS, "congestion_state", name="recovery", detail="recovery"),
            row(40 * MS, "pto", value=1.0),
            packet(50, "packet_acked", 1),
            row(60 * MS, "congestion_state", name="congestion_avoidance", detail="congestion_avoidance"),
            metrics(70, 12_000, 12_000),
        ),
        "qlog",
    )
    assert view(found) == [
        (0, "init"),
        (10, "slow_start"),
        (20, "recovery"),
        (40, "loss_probe"),
        (50, "recovery"),
        (60, "congestion_avoidance"),
    ]
    assert found.sources == ["derived", "qlog", "qlog", "derived", "qlog", "qlog"]


def test_the_kernels_states_and_its_window_give_tcps() -> None:
    found = find_states(
        rows_of(
            row(0, "milestone", name="complete", source="tcp"),
            metrics(0, 14_480, 14_480),
            metrics(30, 28_960, 28_960, ssthresh_bytes=20_000),
            row(50 * MS, "congestion_state", name="recovery", detail="Recovery"),
            row(90 * MS, "congestion_state", name="congestion_avoidance", detail="Open"),
            metrics(150, 15_000, 15_000, ssthresh_bytes=20_000),
        ),
        "tcp",
    )
    assert view(found) == [
        (0, "slow_start"),
        (30, "congestion_avoidance"),
        (50, "recovery"),
        (90, "congestion_avoidance"),
        (150, "slow_start"),
    ]
    assert set(found.sources) == {"tcp"}


def test_the_kernels_flag_of_a_limited_application_counts_for_nothing_without_an_unused_window() -> None:
    def download(*flags: dict[str, Any]) -> Rows:
        return rows_of(
            row(0, "app_limited", value=1.0, source="tcp"),  # as every connection begins
            metrics(0, 14_480, 1_000),  # the handshake of TLS, and then the wait for a request
            *(metrics(ms, 14_480 + 300 * ms, 14_480 + 300 * ms) for ms in range(80, 200, 10)),
            row(160 * MS, "app_limited", value=0.0, source="tcp"),
            *(metrics(ms, 74_480, 10_000) for ms in range(200, 300, 10)),  # the end: it does not come back
            *flags,
        )

    found = find_states(download(), "tcp")
    assert view(found) == [(0, "application_limited"), (80, "slow_start"), (200, "application_limited")]
    assert found.sources == ["derived", "tcp", "derived"]
    again = find_states(download(row(210 * MS, "app_limited", value=1.0, source="tcp")), "tcp")
    assert view(again) == view(found)


def of_bbr() -> list[dict[str, Any]]:
    """A window of twice what is in flight, with a loss."""
    sent = [packet(ms, "packet_sent", ms) for ms in range(10, 400, 10)]
    acked = [packet(ms + 40, "packet_acked", ms) for ms in range(10, 300, 10) if ms != 200]
    windows = [metrics(ms, 60_000, 30_000) for ms in range(10, 400, 10)]
    rows = [row(0, "milestone", name="started"), *sent, *acked, *windows, packet(260, "packet_lost", 200)]
    return sorted(rows, key=lambda each: int(each["time_ns"]))


def test_of_a_controller_that_no_rule_fits_only_handshake_and_losses_are_reported() -> None:
    expected = [(0, "init"), (10, "unknown"), (260, "recovery"), (310, "unknown")]
    found = find_states(rows_of(*of_bbr()), "qlog", "bbr")
    assert view(found) == expected
    assert found.details == ["handshake", "controller", "loss", "controller"]
    assert set(found.sources) == {"derived"}
    says = row(0, "parameters", name="recovery", detail='{"congestion_control":"BBRv2"}')
    assert view(find_states(rows_of(says, *of_bbr()), "qlog")) == expected
    # its configuration counts before the name in its trace
    assert "application_limited" in [name for _, name in view(find_states(rows_of(says, *of_bbr()), "qlog", "cubic"))]


def test_a_log_of_bbrs_states_is_believed() -> None:
    states = [
        row(20 * MS, "congestion_state", name="bbr_startup", detail="bbr_startup"),
        row(150 * MS, "congestion_state", name="bbr_probe_bandwidth", detail="bbr_probe_bw"),
    ]
    rows = sorted([*states, *of_bbr()], key=lambda each: int(each["time_ns"]))
    found = find_states(rows_of(*rows), "qlog", "bbr2")
    assert view(found) == [(0, "init"), (20, "bbr_startup"), (150, "bbr_probe_bandwidth")]


def test_every_kernel_controller_but_bbr_has_a_threshold() -> None:
    rows = rows_of(*(metrics(ms, 20_000, 20_000, ssthresh_bytes=15_000) for ms in range(0, 100, 10)))
    assert view(find_states(rows, "tcp", "vegas")) == [(0, "congestion_avoidance")]
    assert view(find_states(rows, "tcp", "bbr")) == [(0, "unknown")]
    assert view(find_states(rows, "qlog", "copa")) == [(0, "unknown")]


def test_time_in_state_counts_within_the_window() -> None:
    def state(ms: int, name: str) -> dict[str, Any]:
        return row(ms * MS, "state", source="derived", name=name, flow="udp a b")

    events = events_of(
        state(0, "init"),
        state(10, "slow_start"),
        state(30, "recovery"),
        state(50, "slow_start"),
        row(100 * MS, "packet_sent", flow="udp a b"),
    )
    whole = {each.state: (each.time_ns // MS, each.visits, each.share) for each in times_in_states(events)}
    assert whole == {"init": (10, 1, 0.1), "slow_start": (70, 2, 0.7), "recovery": (20, 1, 0.2)}
    part = {each.state: (each.time_ns // MS, each.visits) for each in times_in_states(events, (20 * MS, 60 * MS))}
    assert part == {"slow_start": (20, 2), "recovery": (20, 1)}


def test_a_million_rows_take_seconds() -> None:
    import time

    count = 250_000
    number = np.arange(count)
    sent = table_of(
        packet(0, "packet_sent", 1), packet(0, "packet_acked", 1), metrics(0, 1, 1), packet(0, "packet_lost", 1)
    )
    rows = Rows.of(sent, COLUMNS)
    big = {}
    for name, array in rows.columns.items():
        big[name] = np.tile(array, count)
    big["time_ns"] = np.repeat(number * MS, 4)
    big["packet_number"] = np.repeat(number, 4)
    big["packet_number"][1::4] = np.maximum(number - 40, 0)
    lost = number % 100 != 0
    big["kind"][3::4][lost] = big["kind"][2]
    big["cwnd_bytes"][2::4] = 40 * 1200 + number % 5000
    big["cwnd_bytes"][3::4], big["in_flight_bytes"][3::4] = big["cwnd_bytes"][2::4], 40 * 1200
    big["in_flight_bytes"][2::4] = 40 * 1200
    began = time.process_time()
    found = derive_states(Rows(big, rows.texts))
    assert time.process_time() - began < 20
    assert len(found.times_ns) > 1000
