"""Arrays of one's own are compared as runs are, and what cannot be compared is refused."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import stats

import longlook.api as ll
from longlook.api.runs import Run

A = np.array([0.413, 0.405, 0.421, 0.417, 0.409, 0.411, 0.415, 0.408, 0.420, 0.412])
TIMES = arrays.arrays(np.float64, 12, elements=st.floats(1e-3, 1e3))


def test_the_samples_of_a_run_have_its_estimate(run: Run) -> None:
    for row in run.estimates.to_dict("records"):
        own = run.samples(["page_load_time"]).query("cell == @row['cell']").sort_values("round")
        tcp, quic = (own[own["arm"] == arm]["page_load_time_s"].to_numpy() for arm in ("tcp", "quic"))
        found = ll.compare(tcp, quic, margin=3)
        assert found.verdict == row["verdict"]
        assert (found.effect, found.p) == pytest.approx((row["effect_pct"], row["p_paired"]))
        assert found.interval == pytest.approx((row["ci_low_pct"], row["ci_high_pct"]))
        assert found.p_equivalence == pytest.approx(row["p_equivalence"])


def test_nine_values_decide_nothing() -> None:
    found = ll.compare(A[:9], A[:9] * 0.5 + 0.001 * np.arange(9))
    assert found.verdict == "inconclusive"
    assert "9 rounds with a value on both arms, 10 needed" in found.sentence


def test_no_values_decide_nothing() -> None:
    found = ll.compare([], [])
    assert (found.verdict, found.effect, found.interval, found.medians) == ("inconclusive", None, None, (None, None))


@given(TIMES, TIMES)
def test_swapped_arrays_have_the_swapped_verdict(a: Any, b: Any) -> None:
    one, other = ll.compare(a, b), ll.compare(b, a)
    swapped = {"better": "worse", "worse": "better"}
    assert other.verdict == swapped.get(one.verdict, one.verdict)
    assert other.p == pytest.approx(one.p, rel=1e-6, abs=1e-12)


@given(TIMES, TIMES, st.floats(1e-3, 1e3))
def test_a_unit_changes_no_ratio(a: Any, b: Any, factor: float) -> None:
    assert ll.compare(a, b).effect == pytest.approx(ll.compare(a * factor, b * factor).effect, rel=1e-6, abs=1e-6)


def test_more_is_better_where_the_caller_says_so() -> None:
    assert ll.compare(A, A * 1.3 + 0.001 * np.sin(range(10)), higher_is_better=True).verdict == "better"
    assert ll.compare(A, A * 1.3 + 0.001 * np.sin(range(10))).verdict == "worse"


def test_within_the_margin_is_equivalent() -> None:
    assert ll.compare(A, A * (1 + 0.002 * np.sin(range(10)))).verdict == "equivalent"
    same = ll.compare(A, A)
    assert (same.verdict, same.effect) == ("equivalent", 0.0)
    assert "both arms gave the same value in each of 10 rounds" in same.reason


def test_unpaired_arrays_are_compared_by_welch() -> None:
    b = 0.9 * np.array([*A, 0.39, 0.43])
    found = ll.compare(A, b, paired=False)
    assert found.p == pytest.approx(stats.ttest_ind(np.log(b), np.log(A), equal_var=False).pvalue)
    assert found.verdict == "better"
    assert found.effect == pytest.approx(100 * (1 - np.exp(np.mean(np.log(b)) - np.mean(np.log(A)))))
    assert found.n == (10, 12)


def test_differences_have_their_margin_in_the_unit() -> None:
    stalls = np.array([0.0, 1.0, 0.0, 2.0, 0.0, 1.0, 0.0, 0.0, 3.0, 0.0, 0.0, 1.0])
    found = ll.compare(stalls, stalls + 2.0 + np.linspace(0, 1, 12), by="difference", margin=0.5, unit="stalls")
    assert (found.verdict, found.effect_unit) == ("worse", "stalls")
    assert found.effect == pytest.approx(-2.5)
    ratio = ll.compare(stalls, stalls)
    assert "a value is zero or negative" in ratio.reason


@pytest.mark.parametrize(
    ("a", "b", "options", "words"),
    [
        (A, A[:9], {}, "cannot be paired"),
        (A, [*A[:9], np.nan], {}, "b has 1 values that are missing or infinite, at 9"),
        (A, [*A[:9], np.inf], {}, "infinite"),
        ([A], [A], {}, "2 dimensions"),
        (A, ["fast"] * 10, {}, "no numbers"),
        (A, A, {"margin": 0}, "margin = 0"),
        (A, A, {"margin": np.nan}, "margin = nan"),
        (A, A, {"confidence": 95}, "between 0 and 1"),
        (A, A, {"min_n": 1}, "two values are the fewest"),
        (A, A, {"by": "log"}, "by = 'log'"),
        (pd.Series(A), pd.Series(A, index=range(1, 11)), {}, "another index"),
    ],
)
def test_what_cannot_be_compared_is_refused(a: Any, b: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(ll.InputError, match=words) as error:
        ll.compare(a, b, **options)
    assert error.value.hint


def test_a_hostile_unit_is_text() -> None:
    assert "<b>" not in ll.compare(A, A * 0.9, unit="<b>")._repr_html_()
