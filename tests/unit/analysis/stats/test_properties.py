"""Properties of estimates for any values: symmetry, scale, order, and no crash."""

from dataclasses import replace

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longlook.analysis.stats import estimate
from longlook.analysis.stats.stopping import undecided
from longlook.core.codec import canonical
from longlook.core.model import Stopping, Verdict
from tests.data.samples import only, row, rows, study

values = st.floats(1e-3, 1e6)
finished = st.lists(st.tuples(st.one_of(values, st.none()), st.one_of(values, st.none())), min_size=1, max_size=14)
MIRROR = {Verdict.BETTER: Verdict.WORSE, Verdict.WORSE: Verdict.BETTER}
fast = settings(max_examples=25)


def columns(data: list[tuple[float | None, float | None]]) -> tuple[list[float | None], list[float | None]]:
    return [tcp for tcp, _ in data], [quic for _, quic in data]


@fast
@given(finished, st.sampled_from(["page_load_time", "throughput"]))
def test_swapping_the_arms_mirrors_the_verdict(data: list[tuple[float | None, float | None]], metric: str) -> None:
    tcp, quic = columns(data)
    one = only(rows(tcp, quic, metric=metric), metric=metric, min_rounds=2)
    two = only(rows(quic, tcp, metric=metric), metric=metric, min_rounds=2)
    assert two.verdict is MIRROR.get(one.verdict, one.verdict)
    assert two.p_paired == pytest.approx(one.p_paired)
    assert two.p_welch == pytest.approx(one.p_welch)
    assert two.p_equivalence == pytest.approx(one.p_equivalence)


@fast
@given(finished, st.integers(-20, 20))
def test_scaling_both_arms_changes_nothing(data: list[tuple[float | None, float | None]], exponent: int) -> None:
    def scaled(values: list[float | None]) -> list[float | None]:
        return [None if value is None else value * 2.0**exponent for value in values]

    tcp, quic = columns(data)
    one, two = (only(rows(*sides), min_rounds=2) for sides in ((tcp, quic), (scaled(tcp), scaled(quic))))
    assert one.verdict is two.verdict
    assert one.effect_pct == pytest.approx(two.effect_pct, abs=1e-6)
    assert one.p_welch == pytest.approx(two.p_welch)
    assert one.p_mannwhitney == two.p_mannwhitney


@fast
@given(finished, st.randoms(use_true_random=False))
def test_the_order_of_rows_is_irrelevant(data: list[tuple[float | None, float | None]], random: object) -> None:
    samples = pd.concat([rows(*columns(data)), pd.DataFrame([row("tcp", 0, 1.25, attempt=2)])], ignore_index=True)
    order = list(range(len(samples)))
    random.shuffle(order)  # type: ignore[attr-defined]
    assert only(samples.iloc[order]) == only(samples)


@fast
@given(st.lists(st.tuples(st.floats(width=64), st.floats(width=64)), min_size=1, max_size=12))
def test_no_floats_whatever_crash_warn_or_give_nan(data: list[tuple[float, float]]) -> None:
    only(rows(*columns(data)), min_rounds=2)  # type: ignore[arg-type]


@fast
@given(st.lists(st.tuples(st.floats(width=64), st.floats(width=64)), min_size=1, max_size=24))
def test_nor_where_rounds_decide(data: list[tuple[float, float]]) -> None:
    deciding = replace(study(min_rounds=2), stopping=Stopping())
    (found,) = estimate(rows(*columns(data)), deciding)  # type: ignore[arg-type]
    canonical(found)
    assert undecided([found], deciding) <= {found.cell_id}
