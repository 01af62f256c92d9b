"""Competing flows: shares, fairness and convergence from made-up packets, with answers worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from longlook.core import registry
from longlook.timeline.competition import Competition, LinkFlow, Packets, flow_columns, jain, rate_columns

S = 1_000_000_000


def flow(name: str, address: str, *, cross: bool = False, began_s: float = 0.0, ended_s: float = 60.0) -> LinkFlow:
    return LinkFlow(name, name.split("-", maxsplit=1)[0], cross, address, round(began_s * S), round(ended_s * S))


def packets(*rates: tuple[float, float, float]) -> Packets:
    """Flows as (Mbit/s, from s, to s), in packets of 1250 bytes of which 1000 are new payload."""
    times, numbers = [], []
    for index, (mbps, begin_s, end_s) in enumerate(rates):
        count = round(mbps * 1e6 * (end_s - begin_s) / 10_000)
        times.append(begin_s * S + (np.arange(count) + 0.5) * (end_s - begin_s) * S / max(count, 1))
        numbers.append(np.full(count, index))
    time_ns, flow_of = np.concatenate(times).astype(np.int64), np.concatenate(numbers).astype(np.int64)
    order = np.argsort(time_ns, kind="stable")
    size = np.full(len(order), 1250)
    return Packets(time_ns[order], flow_of[order], size, np.full(len(order), 1000), np.full(len(order), 0.01))


NOTHING = packets((0, 0, 1))
FLOWS = (flow("quic", "10.8.0.2"), flow("tcp-1", "10.8.0.4"), flow("tcp-2", "10.8.0.6"))
COMPETITION = Competition(
    flows=FLOWS,
    window_ns=(0, 60 * S),
    delivered=packets((2.5, 0, 60), (1.5, 0, 60), (1.0, 0, 60)),
    dropped=NOTHING,
    capacity={"steps": [[0, 5_000_000]], "repeat_ns": None},
    first_packet_ns=0,
)


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> object:
    def measure(competition: Competition, metric: str) -> float | None:
        monkeypatch.setattr(Competition, "of", classmethod(lambda _cls, _timeline: competition))
        value: float | None = registry.get("metrics", metric).measure(None)
        return value

    return measure


EXPECTED = {
    "subject_goodput": 2.0,
    "competitor_goodput": 1.0,
    "share_of_used": 50.0,
    "share_of_link": 50.0,
    "fair_share": 150.0,
    "competitor_fair_share": 75.0,
    "jain_index": 25 / (3 * (2.5**2 + 1.5**2 + 1)),
    "utilisation": 100.0,
    "subject_loss": 0.0,
    "competitor_loss": 0.0,
}


@pytest.mark.parametrize(("metric", "value"), EXPECTED.items())
def test_what_each_got(measured: object, metric: str, value: float) -> None:
    assert measured(COMPETITION, metric) == pytest.approx(value, abs=0.05)  # type: ignore[operator]


def test_a_flow_alone_has_no_competitors(measured: object) -> None:
    alone = replace(COMPETITION, flows=FLOWS[:1], delivered=packets((5, 0, 60)))
    for metric in ("competitor_goodput", "competitor_fair_share", "competitor_loss", "convergence_time"):
        assert measured(alone, metric) is None, metric  # type: ignore[operator]
    assert measured(alone, "share_of_used") == 100  # type: ignore[operator]


def test_without_a_time_in_which_all_were_at_it_nothing_is_measured(measured: object) -> None:
    for metric in (*EXPECTED, "convergence_time"):
        assert measured(replace(COMPETITION, window_ns=None), metric) is None, metric  # type: ignore[operator]


def test_of_a_link_whose_rate_is_not_known_no_share_is_reported(measured: object) -> None:
    for metric in ("share_of_link", "fair_share", "competitor_fair_share", "utilisation"):
        assert measured(replace(COMPETITION, capacity=None), metric) is None, metric  # type: ignore[operator]


def test_the_capacity_of_a_rate_in_steps_that_repeat() -> None:
    steps = {"steps": [[0, 10_000_000], [1 * S, 2_000_000]], "repeat_ns": 2 * S}
    competition = replace(COMPETITION, capacity=steps, window_ns=(S, 6 * S), first_packet_ns=S)
    assert competition.capacity_bps() == pytest.approx((3 * 10e6 + 2 * 2e6) / 5)


def test_cross_traffic_keeps_what_it_wants_and_competing_flows_share_the_rest() -> None:
    flows = (*FLOWS[:2], flow("web", "10.8.0.6", cross=True))
    competition = replace(COMPETITION, flows=flows, delivered=packets((2, 0, 60), (2, 0, 60), (1, 0, 60)))
    assert competition.fair_bps() == pytest.approx(2e6, rel=0.01)
    greedy = replace(competition, delivered=packets((1, 0, 60), (1, 0, 60), (3, 0, 60)))
    assert greedy.fair_bps() == pytest.approx(5e6 / 3, rel=0.01)


def test_convergence_is_the_first_time_of_equal_parts(measured: object) -> None:
    late = (flow("quic", "10.8.0.2"), flow("tcp-1", "10.8.0.4", began_s=10))
    both = packets((4.5, 0, 20), (0.5, 10, 20), (2.5, 20, 60), (2.5, 20, 60))
    delivered = replace(both, flow=both.flow % 2)
    competition = replace(COMPETITION, flows=late, delivered=delivered, window_ns=(10 * S, 60 * S))
    found = measured(competition, "convergence_time")  # type: ignore[operator]
    assert 8 <= found <= 10  # a window of 5 s is fair when most of it lies behind the change
    never = replace(competition, delivered=packets((4.5, 0, 60), (0.5, 10, 60)))
    assert measured(never, "convergence_time") is None  # type: ignore[operator]


def test_losses_are_of_what_reached_the_link() -> None:
    competition = replace(COMPETITION, dropped=packets((0.25, 0, 60), (0, 0, 60), (1.0, 0, 60)))
    shares = competition.lost_shares()
    assert shares is not None
    assert shares.tolist() == pytest.approx([1 / 11, 0, 0.5], abs=0.01)


def test_only_of_tcp_it_is_reported_what_was_sent_again(measured: object) -> None:
    segments = packets((0, 0, 60), (1.0, 0, 60), (0.5, 0, 60))
    again = np.where(segments.flow == 1, segments.size_bytes * 9 // 10, segments.size_bytes)
    competition = replace(COMPETITION, offered=replace(segments, fresh_bytes=again))
    shares = competition.repeated_shares()
    assert shares is not None
    assert np.isnan(shares[0])
    assert shares[1:].tolist() == pytest.approx([0.1, 0], abs=0.001)
    assert measured(competition, "subject_retransmission") is None  # type: ignore[operator]
    assert measured(competition, "competitor_retransmission") == pytest.approx(5, abs=0.05)  # type: ignore[operator]
    assert flow_columns(competition)["repeated_pct"][0] is None


def test_tables_have_a_row_for_each_flow_and_bin() -> None:
    flows, rates = flow_columns(COMPETITION), rate_columns(COMPETITION)
    assert flows["flow"] == ["quic", "tcp-1", "tcp-2"]
    assert sum(flows["share_pct"]) == pytest.approx(100)
    assert len(rates["mbps"]) == 3 * 120
    assert np.mean(rates["mbps"][:120]) == pytest.approx(2.5, rel=0.01)


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=20))
def test_jains_index_lies_between_one_nth_and_one(rates: list[float]) -> None:
    index = jain(rates)
    if index is not None:
        assert 1 / len(rates) - 1e-9 <= index <= 1 + 1e-9


@given(st.floats(0.1, 1e6), st.integers(1, 20))
def test_jains_index_of_equal_rates_is_one(rate: float, flows: int) -> None:
    assert jain([rate] * flows) == pytest.approx(1)


def test_a_schedule_that_began_before_the_first_packet_is_so_far_on() -> None:
    steps = {"steps": [[0, 10_000_000], [1 * S, 2_000_000]], "repeat_ns": 2 * S, "phase_ns": S // 2}
    competition = replace(COMPETITION, capacity=steps, window_ns=(S, 2 * S), first_packet_ns=S)
    assert competition.capacity_bps() == pytest.approx((0.5 * 10e6 + 0.5 * 2e6) / 1)
