"""Shares of a declared population, worked out by hand."""

from dataclasses import replace

import pandas as pd
import pytest

from longlook.analysis.claims.judge import judge
from longlook.analysis.stats.population import population_curves, population_levels
from longlook.core.model import Claim, ExpectedLevel, Population, Study
from longlook.core.results import Agreement
from tests.data.samples import rows, study

SHARES = {"wide": 70.0, "narrow": 20.0, "blocked": 10.0}
METRIC = "usable_payload"


def claim(below: float, **bounds: float) -> Claim:
    return Claim("c", "s", "", {}, None, True, expected=ExpectedLevel("quic", METRIC, below=below, **bounds))


def made(*claims: Claim) -> Study:
    population = Population("rate", SHARES, "made up")
    return replace(study(tuple(SHARES), METRIC, claims, min_rounds=2), population=population)


def samples(rounds: int = 2) -> pd.DataFrame:
    """Wide paths carry 1470 (QUIC: 1450) bytes, narrow ones 1370; where UDP is blocked nothing is measured."""
    blocked = rows([None] * rounds, [None] * rounds, "blocked", METRIC, outcome="ok")
    wide = rows([1470.0] * rounds, [1450.0] * rounds, "wide", METRIC)
    return pd.concat([wide, rows([1370.0] * rounds, [1370.0] * rounds, "narrow", METRIC), blocked])


def curve(arm: str, table: pd.DataFrame) -> dict[float, float]:
    own = table[table["arm"] == arm]
    return dict(zip(own["below"], own["share_pct"], strict=True))


def test_the_share_below_a_value_is_that_of_the_strata_below_it_or_without_a_value() -> None:
    table = population_curves(samples(), made(), METRIC)
    assert table is not None
    assert curve("tcp", table) == {1370.0: 10.0, 1450.0: 30.0, 1470.0: 30.0}
    assert curve("quic", table) == {1370.0: 10.0, 1450.0: 30.0, 1470.0: 100.0}
    assert set(table["rounds"]) == {2}


def test_the_sizes_of_an_echo_are_on_the_curve_whether_they_occur_or_not() -> None:
    swept = replace(made(), settings={"workload.payload": "1300B, 1370B, 1500B"})
    table = population_curves(samples(), swept, METRIC)
    assert table is not None
    assert curve("tcp", table) == {1300.0: 10.0, 1370.0: 10.0, 1450.0: 30.0, 1470.0: 30.0, 1500.0: 100.0}


def test_shares_differ_from_round_to_round_where_paths_do() -> None:
    found = samples()
    moved = found["trial_id"] == "quic-wide-1"
    found.loc[moved, "value"] = 1300.0
    (level,) = [each for each in population_levels(found, made(claim(1400))) if each.arm == "quic"]
    assert (level.n, level.median, level.unit, level.below) == (2, (30.0 + 100.0) / 2, "%", 1400)


def test_a_round_without_a_sound_trial_in_a_stratum_has_no_share() -> None:
    found = samples()
    found.loc[found["trial_id"] == "quic-narrow-1", "outcome"] = "failed"
    levels = {each.arm: each.n for each in population_levels(found, made(claim(1400)))}
    assert levels == {"tcp": 2, "quic": 1}


def test_a_stratum_that_was_not_run_leaves_no_share() -> None:
    found = samples()
    found = found[found["factor.rate"] != "narrow"]
    assert population_levels(found, made(claim(1400))) == []
    assert population_curves(found, made(), METRIC) is None


@pytest.mark.parametrize(
    ("asked", "result", "words"),
    [
        (claim(1400, at_most=30), Agreement.WITHIN_BOUNDS, "taken as ≤ 30, ours 30"),
        (claim(1400, at_most=29.9), Agreement.CONTRADICTED, "ours 30"),
        (claim(1460, at_least=99), Agreement.WITHIN_BOUNDS, "ours 100"),
    ],
)
def test_claims_are_judged_by_the_share(asked: Claim, result: Agreement, words: str) -> None:
    own = made(asked)
    (found,) = judge(own.claims, [], own, population_levels(samples(), own))
    assert found.result == result
    assert words in found.reason


def test_a_claim_about_a_population_takes_no_level_of_a_cell() -> None:
    own = made(claim(1400, at_most=30))
    levels = [replace(level, below=None) for level in population_levels(samples(), own)]
    (found,) = judge(own.claims, [], own, levels)
    assert found.result is Agreement.NOT_RUN


def test_without_a_population_there_are_no_shares() -> None:
    assert population_levels(samples(), replace(made(claim(1400)), population=None)) == []
    assert population_curves(samples(), replace(made(), population=None), METRIC) is None
