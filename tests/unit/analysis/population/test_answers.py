"""Distributions over users, worked out by hand; assignment to cells; and the copula."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from longlook.analysis.population.answers import AnswerOfUsers, answer
from longlook.analysis.population.grid import as_fast_as_links, networks_for
from longlook.analysis.population.making import read_users
from longlook.analysis.population.people import Users, kish, whose_udp_passes
from longlook.analysis.population.places import Placing, cells_with_quantities, place
from longlook.analysis.stats.cells import Cells
from longlook.analysis.stats.copula import draw
from longlook.core import Estimate, Factor, InputError, Level, Study
from longlook.study import cell_id
from tests.data.gates import estimate
from tests.data.samples import rows, study

METRIC = "page_load_time"


def paths(**levels: dict[str, str]) -> Study:
    """Return a study whose only factor has these paths."""
    made = study(tuple(levels), METRIC, (), min_rounds=2)
    factor = Factor(made.factors[0].name, tuple(
        Level(label, {f"network.{name}": value for name, value in sets.items()}) for label, sets in levels.items()
    ))  # fmt: skip
    return replace(made, factors=(factor,))


NEAR, FAR, SHUT = {"rtt": "20ms", "rate": "50Mbit"}, {"rtt": "200ms", "rate": "2Mbit"}, {
    "rtt": "20ms", "rate": "50Mbit", "block": "udp"}  # fmt: skip


def placed(users: Users, made: Study) -> list[Placing]:
    ran = [cell_id({made.factors[0].name: level.label}) for level in made.factors[0].levels]
    return place(users, made, cells_with_quantities(made, ran))


def people(rtt_s: list[float], rate_bps: list[float], **more: object) -> Users:
    count = len(rtt_s)
    quantities = {"rtt": np.array(rtt_s), "rate": np.array(rate_bps)}
    return replace(Users("people", "made up", np.full(count, 1 / count), quantities), **more)  # type: ignore[arg-type]


def said(
    users: Users, made: Study, samples: pd.DataFrame, estimates: Mapping[str, Estimate] | None = None
) -> AnswerOfUsers:
    (placing,) = placed(users, made)
    (contrast,) = made.contrasts
    samples = samples.assign(cell=samples["factor.rate"])  # the ids that the study's cells have
    found = answer(users, placing, Cells(samples, made, [METRIC]), contrast, made, estimates or {})
    assert found is not None
    return found


def test_users_go_to_the_nearest_cell_and_those_beyond_all_are_counted() -> None:
    users = people([0.02, 0.025, 0.19, 2.0], [40e6, 60e6, 2.5e6, 2e6])
    (placing,) = placed(users, paths(near=NEAR, far=FAR))
    assert placing.weights.tolist() == pytest.approx([0.5, 0.25])
    assert placing.outside == pytest.approx(0.25)
    assert dict(placing.reasons) == {"the round trip is above every cell's": pytest.approx(0.25)}
    (kept,) = placed(replace(users, keeps_outside=True), paths(near=NEAR, far=FAR))
    assert kept.weights.tolist() == pytest.approx([0.5, 0.5])
    assert kept.outside == 0


def test_a_share_that_is_blocked_goes_to_blocked_cells_or_outside() -> None:
    users = people([0.02], [50e6], blocked_share=0.1)
    (placing,) = placed(users, paths(near=NEAR, shut=SHUT))
    assert placing.weights.tolist() == pytest.approx([0.9, 0.1])
    (without,) = placed(users, paths(near=NEAR, far=FAR))
    assert without.outside == pytest.approx(0.1)
    assert [*without.reasons] == ["no cell has UDP blocked"]


def test_a_factor_that_users_do_not_differ_in_stays_apart() -> None:
    made = paths(near=NEAR, far=FAR)
    page = Factor("page", (Level("small", {"workload.object": "5KB"}), Level("large", {"workload.object": "1MB"})))
    made = replace(made, factors=(*made.factors, page))
    name = made.factors[0].name
    ran = [cell_id({name: path, "page": size}) for path in ("near", "far") for size in ("small", "large")]
    found = place(people([0.02], [50e6]), made, cells_with_quantities(made, ran))
    assert [dict(each.apart) for each in found] == [{"page": "small"}, {"page": "large"}]
    shares = {"page": {"small": 0.25, "large": 0.75}}
    (together,) = place(people([0.02], [50e6], shares=shares), made, cells_with_quantities(made, ran))
    assert sorted(together.weights.tolist()) == pytest.approx([0, 0, 0.25, 0.75])
    with pytest.raises(InputError, match="no level of it"):
        place(people([0.02], [50e6], shares={"page": {"huge": 1.0}}), made, cells_with_quantities(made, ran))


def test_means_quantiles_tails_and_shares_are_those_of_the_mixture() -> None:
    made = paths(near=NEAR, far=FAR)
    near = rows([1.0] * 8, [0.5] * 8, "near", METRIC)
    far = rows([10.0] * 8, [20.0] * 8, "far", METRIC)
    users = people([0.02] * 9 + [0.2], [50e6] * 9 + [2e6])
    found = said(users, made, pd.concat([near, far]))
    levels = {each.name: each for each in found.levels}
    assert levels["mean"].baseline.value == pytest.approx(0.9 * 1 + 0.1 * 10)
    assert levels["mean"].contender.value == pytest.approx(0.9 * 0.5 + 0.1 * 20)
    assert (levels["p50"].baseline.value, levels["p95"].contender.value) == (1.0, 20.0)
    assert levels["slowest 5 %"].change is not None
    assert levels["slowest 5 %"].change.value == pytest.approx(-100)
    assert (found.better.value, found.worse.value) == (pytest.approx(90), pytest.approx(10))
    assert found.typical is not None
    assert found.typical.value == pytest.approx(0.9 * 50 - 0.1 * 100)
    assert sum(cell.share_pct for cell in found.cells) == pytest.approx(100)


def test_intervals_hold_rounds_and_samples_of_users() -> None:
    made = paths(near=NEAR, far=FAR)
    samples = pd.concat([rows([1.0] * 8, [0.5] * 8, "near", METRIC), rows([10.0] * 8, [20.0] * 8, "far", METRIC)])
    users = people([0.02] * 9 + [0.2], [50e6] * 9 + [2e6])
    assert said(users, made, samples).better.low == pytest.approx(90)
    sampled = said(replace(users, sampled=50.0), made, samples).better
    assert sampled.low is not None
    assert sampled.high is not None
    assert 75 < sampled.low < 90 < sampled.high <= 100  # of a binomial: 90 % of 50 with a deviation of 4.2 points
    few = said(users, made, samples[samples["round"] < 3])
    assert few.better.low is None
    assert any("a bootstrap over rounds needs" in note for note in few.notes)


def test_percentiles_of_integrated_losses_are_said_to_be_of_means() -> None:
    made, samples = paths(near=NEAR, far=FAR), rows([1.0] * 8, [0.5] * 8, "near", METRIC)
    users = people([0.02] * 10, [50e6] * 10)
    drawn, integrated = (
        said(users, made, samples, {"near": estimate(50.0, unseen_pct=unseen)}) for unseen in (None, 0.1)
    )
    assert not any("Losses are integrated" in note for note in drawn.notes)
    assert any("percentiles and slowest parts are of such means" in note for note in integrated.notes)


def test_a_load_that_fails_is_slower_than_all_and_counts_as_the_time_limit_in_means() -> None:
    made = paths(near=NEAR, shut=SHUT)
    shut = pd.concat([rows([1.0] * 8, [], "shut", METRIC), rows([], [None] * 8, "shut", METRIC, outcome="failed")])
    samples = pd.concat([rows([1.0] * 8, [0.5] * 8, "near", METRIC), shut])
    users = people([0.02], [50e6], blocked_share=0.1)
    found = said(users, made, samples)
    levels = {each.name: each for each in found.levels}
    assert found.failed[1].value == pytest.approx(10)
    assert found.worse.value == pytest.approx(10)
    assert np.isinf(levels["p95"].contender.value)
    assert levels["p95"].change is None
    assert levels["mean"].contender.value == pytest.approx(0.9 * 0.5 + 0.1 * made.timeout_s)
    modelled = said(replace(users, fallback_s=3.0), made, samples)
    assert modelled.failed[1].value == 0
    assert modelled.modelled_pct == pytest.approx(10)
    assert {each.name: each for each in modelled.levels}["p95"].contender.value == pytest.approx(4.0)


def test_a_gaussian_copula_has_its_marginals_and_rank_correlations() -> None:
    marginals = {"rtt": [(0.05, 1.0), (0.5, 2.0), (0.95, 4.0)], "rate": [(0.05, 1.0), (0.5, 3.0), (0.95, 5.0)]}
    found, beyond = draw(marginals, {("rtt", "rate"): -0.5}, 40_000, 7)
    assert np.quantile(found["rtt"], [0.05, 0.5, 0.95]) == pytest.approx([1, 2, 4], abs=0.05)
    ranks = [pd.Series(found[name]).rank() for name in ("rtt", "rate")]
    assert ranks[0].corr(ranks[1]) == pytest.approx(-0.5, abs=0.02)
    assert beyond == pytest.approx(0.1, abs=0.01)


def test_networks_for_measured_users_hold_their_ends() -> None:
    users = people([0.01] * 50 + [0.1] * 49 + [0.6], [100e6] * 50 + [5e6] * 49 + [1e6])
    found = networks_for(users, 3)
    assert [label for label, _ in found] == ["10ms, 100000kbit, 0%", "100ms, 5000kbit, 0%", "600ms, 1000kbit, 0%"]
    fast = as_fast_as_links(people([0.01], [1e9]))
    assert fast.quantities["rate"].tolist() == [200e6]
    assert "100.0% have more than 200 Mbit/s" in fast.notes[0]


def test_a_weighted_sample_counts_as_many_as_its_effective_size() -> None:
    assert kish(np.array([1.0, 1, 1, 1])) == 4
    assert kish(np.array([3.0, 1])) == pytest.approx(1.6)
    users = people([0.02, 0.02], [5e6, 5e6], labels=("a", "b"), blocked_share=0.5)
    shut = replace(users, quantities={**users.quantities, "blocked": np.array([0.0, 1.0])})
    assert whose_udp_passes(shut).labels == ("a",)
    assert whose_udp_passes(shut).blocked_share is None


FILE = """
schema = 1
title = "t"
source = "s"
"""


def refused(folder: Path, text: str) -> str:
    path = folder / "users.toml"
    path.write_text(FILE + text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_users(path)
    return f"{caught.value.message} | {caught.value.hint}"


NETWORK = '[[networks]]\nlabel = "{0}"\nshare = "{1}"\nrate = "{2}"\nrtt = "20ms"\n'

TWO = NETWORK.format("a", "{0}", "5Mbit") + NETWORK.format("b", "{1}", "5Mbit")


@pytest.mark.parametrize(
    ("text", "said_of_it"),
    [
        (TWO.format("60%", "30%"), "90 % together, not 100 %: 10 points are missing"),
        (TWO.format("60%", "50%"), "10 points are too many (a 60 %, b 50 %)"),
        (NETWORK.format("a", "100%", "5MB"), "B means bytes"),
        (NETWORK.format("a", "100%", "5"), "a rate needs a unit"),
        (NETWORK.format("a", "100", "5Mbit"), "ambiguous from 1 up"),
        (NETWORK.format("a", "100%", "5Mbit") + 'speed = "3"\n', "no setting of a network"),
        ('[[networks]]\nlabel = "a"\nshare = "100%"\nrtt = "20ms"\n', "networks.a.rate: missing"),
        ("", "one of [[networks]], [measurements] and [fitted] is needed"),
        ('[fitted]\nrtt = { 50 = "36ms", 95 = "20ms" }\nrate = { 5 = "1Mbit", 95 = "9Mbit" }\n', "quantiles only rise"),
        ('[fitted]\nrtt = { 50 = "36", 95 = "90ms" }\nrate = { 5 = "1Mbit", 95 = "9Mbit" }\n', "needs a unit"),
        ('[fitted]\nrtt = { 50 = "36ms", 950 = "90ms" }\nrate = { 5 = "1Mbit", 95 = "9Mbit" }\n', "is no percentile"),
        (NETWORK.format("a", "100%", "5Mbit") + "[everyone]\nblocked = \"4\"\n", "ambiguous from 1 up"),
        (NETWORK.format("a", "100%", "5Mbit") + "[everyone]\nrtt = \"4ms\"\n", "each user has one already"),
        (NETWORK.format("a", "100%", "5Mbit") + '[factors.ticket]\nfresh = "80%"\n', "80 % together"),
        ('[measurements]\nfile = "none.csv"\n', "cannot be read"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_is_refused_with_the_fix(tmp_path: Path, text: str, said_of_it: str) -> None:
    assert said_of_it in refused(tmp_path, text)


def test_measurements_are_weighted_by_the_users_of_their_networks(tmp_path: Path) -> None:
    (tmp_path / "rum.csv").write_text("asn,MinRTT,MeanThroughputMbps,LossRate\n1,20,50,0\n1,30,40,0\n2,200,2,0.02\n")
    (tmp_path / "apnic.csv").write_text("ASN,Users\nAS1,300\nAS2,100\nAS9,600\n")
    path = tmp_path / "users.toml"
    path.write_text(FILE + '[measurements]\nfile = "rum.csv"\nformat = "ndt7"\nkey = "asn"\n'
                    '[weights]\nfile = "apnic.csv"\nkey = "ASN"\nusers = "Users"\n')  # fmt: skip
    users = read_users(path)
    assert users.weights.tolist() == pytest.approx([0.375, 0.375, 0.25])
    assert any("40.0% of the 1,000 users are in networks with a measurement" in note for note in users.notes)


def test_users_who_are_drawn_are_drawn_alike_each_time(tmp_path: Path) -> None:
    path = tmp_path / "users.toml"
    path.write_text(
        FILE
        + """
[fitted]
users = 20000
rtt = { 5 = "10ms", 50 = "40ms", 95 = "200ms" }
rate = { 5 = "1Mbit", 50 = "20Mbit", 95 = "100Mbit" }
loss = { 50 = "0%", 90 = "1%" }
rank_correlation = { "rtt rate" = -0.4 }
"""
    )
    one, other = read_users(path), read_users(path)
    assert np.array_equal(one.quantities["rtt"], other.quantities["rtt"])
    assert np.median(one.quantities["rtt"]) == pytest.approx(0.04, rel=0.1)
    assert np.quantile(one.quantities["loss"], 0.9) == pytest.approx(0.01, rel=0.2)
    assert any("taken as independent" in note for note in one.notes)
