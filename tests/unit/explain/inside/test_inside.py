"""What happened inside a trial: what is found in its timeline and events, and what is reported as missing."""

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from syrupy.assertion import SnapshotAssertion

from longlook.core.errors import InputError
from longlook.core.model import Contrast
from longlook.explain.inside import endpoint_series, look_inside, look_into_flows
from longlook.explain.ledger import LedgerClass
from longlook.explain.rounds import choose_round, find_cells, wanted
from longlook.explain.states import time_in_states
from longlook.metrics import find_metric
from longlook.study.files import find_study
from longlook.study.plan import make_plan
from longlook.timeline.events import Events
from longlook.timeline.timeline import Kind, Timeline
from tests.data.events import events_of, row
from tests.data.report import small_content
from tests.data.sides import ledger
from tests.data.traces import PACKET_BYTES, PAYLOAD_BYTES, QUIC_FLOW, TCP_FLOW, link_timeline, traced

HANDSHAKE = LedgerClass.HANDSHAKE
CONTRAST = Contrast("quic vs tcp", "tcp", "quic", "page_load_time")


@pytest.fixture(scope="module")
def trial() -> tuple[Timeline, Events]:
    return traced(duration_s=2.0)


def test_competing_flows_are_looked_into_one_by_one() -> None:
    flows = {"quic": "udp 10.8.0.1:40000 10.8.0.2:443", "tcp": "tcp 10.8.0.3:40001 10.8.0.22:443"}
    trials = {name: traced(duration_s=1.0, flow=flow) for name, flow in flows.items()}
    both = Timeline(pa.concat_tables([timeline.table for timeline, _ in trials.values()]))
    events = Events(pa.concat_tables([own.table for _, own in trials.values()]))
    fact = {"cross": False, "began_ns": 2_000_000, "ended_ns": 1_002_000_000}
    facts = [
        {"name": "quic", "group": "a", "server_address": "10.8.0.2", **fact},
        {"name": "tcp", "group": "b", "server_address": "10.8.0.22", **fact},
        {"name": "late", "group": "b", "server_address": "10.8.0.9", **fact, "began_ns": None},
    ]
    found = look_into_flows(both.with_metadata({"competition": {"flows": facts}}), events)
    assert {name: group for name, (group, _) in found.items()} == {"quic": "a", "tcp": "b"}
    for name, (_, inside) in found.items():
        alone = look_inside(*trials[name], (2_000_000, 1_002_000_000))
        assert inside.flow == alone.flow == flows[name]
        assert inside.duration_s == 1.0
        for series in ("cwnd", "in_flight", "passed"):
            assert inside.series[series].value.tolist() == alone.series[series].value.tolist()
    assert [("queue" in inside.series) for _, inside in found.values()] == [True, False]
    assert look_into_flows(*trials["quic"]) == {}


def test_time_begins_with_the_first_request(trial: tuple[Timeline, Events]) -> None:
    inside = look_inside(*trial)
    assert inside.duration_s == pytest.approx(2.0)
    window = trial[0].load_window_ns()
    assert window is not None
    first = trial[0].select(Kind.PACKET_DELIVERED)["time_ns"][0].as_py()
    assert inside.series["passed"].time_ns[0] == first - window[0]


def test_the_link_counts_what_passed_and_what_was_dropped(trial: tuple[Timeline, Events]) -> None:
    inside = look_inside(*trial)
    delivered = trial[0].select(Kind.PACKET_DELIVERED).num_rows
    assert inside.series["passed"].value[-1] == delivered * PACKET_BYTES
    assert inside.series["delivered"].value[-1] == delivered * PAYLOAD_BYTES
    assert inside.marks["dropped"].count == trial[0].select(Kind.PACKET_DROPPED).num_rows > 0
    goodput = find_metric("goodput").measure(trial[0])
    assert goodput is not None
    within = inside.series["delivered"].time_ns <= 2 * 10**9
    assert inside.series["delivered"].value[within][-1] * 8 / 2e6 == pytest.approx(goodput, rel=1e-3)


def test_the_senders_own_figures_are_taken_from_its_trace(trial: tuple[Timeline, Events]) -> None:
    inside = look_inside(*trial)
    assert (inside.flow, inside.vantage) == (QUIC_FLOW, "server")
    assert {"cwnd", "ssthresh", "in_flight", "rtt", "srtt", "min_rtt", "acked"} <= inside.series.keys()
    assert inside.marks["declared"].count == inside.marks["dropped"].count
    assert np.all(np.diff(inside.series["acked"].value) > 0)
    states = inside.bands["state"]
    assert states.name[:2] == ("init", "slow_start")
    assert states.source[:2] == ("derived", "qlog")
    assert np.array_equal(states.start_ns[1:], states.end_ns[:-1])
    assert inside.missing == ()


def test_the_queue_is_what_packets_found_and_empty_once_the_last_was_sent() -> None:
    # Packets arrive 10 ms before they leave; the second is lost at random, having met no queue, while the first waits.
    left_s, lost = np.array([0.1, 0.2, 0.3, 2.0]), np.array([False, True, False, False])
    found = np.array([3000.0, 0.0, 6000.0, 0.0])
    timeline = link_timeline(left_s, lost, found, 3.0, 0.02, QUIC_FLOW, 0, rate_bps=1e5)
    queue = look_inside(timeline, None).series["queue"]
    assert queue.value.tolist() == [3000, 6000, 0]
    assert (queue.time_ns / 1e9).tolist() == pytest.approx([0.09, 0.29, 0.29 + 6000 * 8 / 1e5])


def test_the_ledger_is_bands_of_classes_whatever_their_details(trial: tuple[Timeline, Events]) -> None:
    start_ns = (trial[0].load_window_ns() or (0, 0))[0]
    own = ledger([(HANDSHAKE, 10.0, "a"), (HANDSHAKE, 5.0, "b"), (LedgerClass.PACING, 7.0)], start_ns / 1e6)
    bands = look_inside(*trial, ledger=own).bands["ledger"]
    assert bands.name == ("handshake", "pacing")
    assert bands.start_ns.tolist() == [0, 15_000_000]
    assert bands.end_ns.tolist() == [15_000_000, 22_000_000]
    assert "ledger" not in look_inside(*trial).bands


def test_without_a_trace_the_page_says_what_is_missing_and_why(
    trial: tuple[Timeline, Events], snapshot: SnapshotAssertion
) -> None:
    inside = look_inside(trial[0], None)
    assert {"passed", "delivered", "queue"} == inside.series.keys()
    ((what, why),) = inside.missing
    assert "congestion window" in what
    assert why == snapshot


def test_the_first_threshold_is_none_not_a_giant(trial: tuple[Timeline, Events]) -> None:
    table = trial[1].table
    column = table.schema.get_field_index("ssthresh_bytes")
    giants = np.full(table.num_rows, 2**31 - 1)
    inside = look_inside(trial[0], Events(table.set_column(column, table.schema.field(column), [giants])))
    assert "ssthresh" not in inside.series
    assert "cwnd" in inside.series


def test_a_flow_that_the_link_names_otherwise_is_still_found(trial: tuple[Timeline, Events]) -> None:
    timeline, _ = traced(duration_s=1.0, flow=TCP_FLOW)
    inside = look_inside(timeline, trial[1])
    assert inside.flow == QUIC_FLOW
    assert "cwnd" in inside.series


def values(*seconds: float) -> list[float]:
    return list(seconds)


def test_the_round_of_the_median_effect_is_chosen() -> None:
    # Effects of QUIC per round: +10 %, +50 %, +30 %.
    content = small_content({("10Mbit",): {"tcp": values(1, 1, 1), "quic": values(0.9, 0.5, 0.7)}})
    chosen = choose_round(content.samples, content.study, "id-10Mbit")
    assert (chosen.number, chosen.of) == (2, 3)
    assert (chosen.effect, chosen.unit) == (pytest.approx(30), "%")


def test_of_an_even_number_of_rounds_the_lower_middle_is_chosen_and_failures_do_not_count() -> None:
    arms = {"tcp": [1.0, 1.0, None, 1.0, 1.0], "quic": [0.9, 0.5, 0.1, 0.7, 0.6]}
    content = small_content({("10Mbit",): arms})
    chosen = choose_round(content.samples, content.study, "id-10Mbit")
    assert (chosen.number, chosen.of) == (3, 4)


def test_without_a_pair_the_first_good_round_is_taken_and_without_any_it_is_an_error() -> None:
    content = small_content({("10Mbit",): {"tcp": [None, None], "quic": [None, 0.5]}})
    chosen = choose_round(content.samples, content.study, "id-10Mbit")
    assert (chosen.number, chosen.contrast) == (1, None)
    content = small_content({("10Mbit",): {"tcp": [None], "quic": [None]}})
    with pytest.raises(InputError, match="no trial of cell id-10Mbit went well"):
        choose_round(content.samples, content.study, "id-10Mbit")


@pytest.mark.parametrize("name", ["10Mbit_5KB", "10Mbit,5KB", "5KB, 10Mbit", "10Mbit · 5KB", "rate=10Mbit,size=5KB"])
def test_a_cell_is_found_by_its_id_or_its_levels(name: str) -> None:
    trials = make_plan(find_study("kakhki2017-fig6a")).trials
    assert find_cells(trials, [name]) == ["10Mbit_5KB"]


def test_cells_that_are_none_or_several_are_named() -> None:
    trials = make_plan(find_study("kakhki2017-fig6a")).trials
    with pytest.raises(InputError, match="7Mbit is not a cell of this run"):
        find_cells(trials, ["7Mbit"])
    with pytest.raises(InputError, match="5KB fits several cells") as caught:
        find_cells(trials, ["5KB"])
    assert caught.value.hint is not None
    assert "10Mbit_5KB" in caught.value.hint
    assert len(find_cells(trials, ["all"])) == len({trial.cell_id for trial in trials})


def test_a_round_without_a_cell_is_refused() -> None:
    assert wanted((), None) is None
    assert wanted(["all"], 3) is not None
    with pytest.raises(InputError, match="--round"):
        wanted((), 3)


def states(rows: list[tuple[str, int, str, float]]) -> pd.DataFrame:
    columns: dict[str, Any] = {
        "trial_id": [f"{arm}{number}" for arm, number, _, _ in rows],
        "cell_id": "10Mbit",
        "arm": [row[0] for row in rows],
        "round": [row[1] for row in rows],
        "vantage": "server",
        "flow": "f",
        "state": [row[2] for row in rows],
        "source": ["derived" if row[0] == "quic" else "tcp" for row in rows],
        "time_s": [row[3] for row in rows],
        "share": 0.0,
        "visits": 1,
    }
    return pd.DataFrame(columns)


def test_time_in_states_is_shares_over_rounds_and_differences_are_tested() -> None:
    rows = []
    for number, recovery_s in enumerate((1.0, 1.2, 0.8, 1.1, 0.9)):
        rows += [("tcp", number, "slow_start", 4.0), ("tcp", number, "recovery", recovery_s)]
        rows += [("quic", number, "slow_start", 1.0), ("quic", number, "recovery", 1.0)]
    found = time_in_states(
        states(rows), "10Mbit", ["tcp", "quic"], CONTRAST, vantage="server", confidence=0.95, correction="holm"
    )
    by_key = {(item.arm, item.state): item for item in found.times}
    quic, tcp = by_key["quic", "recovery"], by_key["tcp", "recovery"]
    assert (quic.share_pct, quic.low_pct, quic.high_pct, quic.sources) == (50, 50, 50, ("derived",))
    assert tcp.share_pct == pytest.approx(np.mean([100 * s / (4 + s) for s in (1.0, 1.2, 0.8, 1.1, 0.9)]))
    assert tcp.low_pct is not None
    assert tcp.low_pct < tcp.share_pct < (tcp.high_pct or 0)
    slow_start, recovery = found.differences
    assert (slow_start.state, recovery.state) == ("slow_start", "recovery")
    assert recovery.points == pytest.approx(50 - tcp.share_pct)
    assert recovery.p_adjusted is not None
    assert recovery.p_adjusted < 0.001


def test_a_state_that_a_round_never_entered_has_no_time_in_it() -> None:
    rows = [("tcp", 0, "slow_start", 1.0), ("tcp", 1, "slow_start", 1.0), ("tcp", 1, "timeout", 1.0)]
    found = time_in_states(
        states(rows), "10Mbit", ["tcp", "quic"], CONTRAST, vantage="server", confidence=0.95, correction="holm"
    )
    timeout = next(item for item in found.times if item.state == "timeout")
    assert (timeout.n, timeout.share_pct, timeout.visits) == (2, 25, 0.5)
    assert found.differences == ()


def test_a_guess_of_the_round_trip_time_before_its_first_sample_is_not_drawn() -> None:
    def metrics(ms: int, srtt_ms: int, latest_ms: int | None, least_ms: int | None = None) -> dict[str, Any]:
        values = {"srtt_ns": srtt_ms, "latest_rtt_ns": latest_ms, "min_rtt_ns": least_ms}
        times = {name: None if value is None else value * 1_000_000 for name, value in values.items()}
        return row(ms * 1_000_000, "metrics", flow=QUIC_FLOW, cwnd_bytes=12_000 + ms, **times)

    guessed = [metrics(0, 333, 0, 333), metrics(10, 333, 333)]
    series = endpoint_series(events_of(*guessed, metrics(40, 36, 36, 36)), "server", QUIC_FLOW, 0)
    assert series["cwnd"].value.tolist() == [12_000, 12_010, 12_040]
    for name in ("rtt", "srtt", "min_rtt"):
        assert series[name].value.tolist() == [36_000_000], name
    kernels = endpoint_series(events_of(metrics(0, 40, None), metrics(10, 36, None)), "server", QUIC_FLOW, 0)
    assert kernels["srtt"].value.tolist() == [40_000_000, 36_000_000]


def test_a_log_without_acknowledgements_has_no_line_of_them() -> None:
    rows = [row(ms * 1_000_000, "metrics", flow=QUIC_FLOW, cwnd_bytes=12_000, acked_bytes=0) for ms in (0, 10)]
    assert "acked" not in endpoint_series(events_of(*rows), "server", QUIC_FLOW, 0)
