"""The places of cells in a heatmap, and labels that fit."""

from hypothesis import given
from hypothesis import strategies as st

from longlook.core.model import Factor, Figure, Level
from longlook.report.layout import abbreviated, make_grid
from tests.data.report import small_content, small_study

TEN = [0.5, 0.51, 0.49, 0.5, 0.52, 0.48, 0.5, 0.51, 0.49, 0.5]
FASTER = [value * 0.8 for value in TEN]


def test_the_grid_tells_excluded_from_not_run_and_leaves_empty_rows_out() -> None:
    study = small_study(
        factors=(
            Factor("client", (Level("browser", {}), Level("plain", {}))),
            Factor("rate", (Level("10Mbit", {}), Level("50Mbit", {}))),
            Factor("size", (Level("1MB", {}), Level("10MB", {}), Level("1GB", {}))),
        ),
        exclude=({"client": ("browser",), "size": ("10MB", "1GB")},),
        figure=Figure("size", ("client", "rate")),
    )
    both = {"tcp": TEN, "quic": FASTER}
    content = small_content({("browser", "10Mbit", "1MB"): both, ("plain", "10Mbit", "10MB"): both}, study)
    grid = make_grid(content, study.contrasts[0])
    assert grid.rows == ("browser · 10Mbit", "plain · 10Mbit")
    assert grid.columns == ("1MB", "10MB")
    assert [place.state for place in grid.in_order()] == ["estimated", "excluded", "not run", "estimated"]
    assert grid.omitted == 5  # the excluded ones are not missed


def test_factors_that_the_figure_forgets_become_rows() -> None:
    study = small_study(
        factors=(Factor("rate", (Level("10Mbit", {}),)), Factor("loss", (Level("0%", {}), Level("1%", {})))),
    )
    both = {"tcp": TEN, "quic": FASTER}
    content = small_content({("10Mbit", "0%"): both, ("10Mbit", "1%"): both}, study)
    assert make_grid(content, study.contrasts[0]).rows == ("0%", "1%")


@given(st.lists(st.text(min_size=1, max_size=60), unique=True, max_size=12))
def test_abbreviated_labels_stay_apart(labels: list[str]) -> None:
    short = abbreviated(labels, 10)
    assert len(set(short.values())) == len(labels)
