"""The dot plot of every arm in every cell."""

from dataclasses import replace

import pytest
from syrupy.assertion import SnapshotAssertion

from longlook.core.model import DOTS, Figure
from longlook.report.charts.theme import specification
from longlook.report.content import ReportContent
from longlook.report.dots import make_dots
from tests.data.flows import competing_content, competing_study

FLOWS = {"tcp": {"subject": 1, "tcp": 4}, "quic": {"quic": 2, "tcp": 2, "cross": 1}}


@pytest.fixture
def content() -> ReportContent:
    study = competing_study(rows=("30KB", "120KB"), figure=Figure("against", ("queue",), DOTS))
    return competing_content(FLOWS, study, rounds=8)


def points(content: ReportContent, layer: int = 1) -> list[dict[str, object]]:
    (section,) = make_dots(content)
    (figure,) = section.figures().values()
    spec = specification(figure)
    values: list[dict[str, object]] = spec["layer"][layer]["data"]["values"]
    return values


def test_every_arm_is_there_in_every_cell_with_its_median_and_interval(content: ReportContent) -> None:
    found = points(content)
    cells = ["30KB · 1", "30KB · 4", "120KB · 1", "120KB · 4"]
    assert [(row["cell"], row["arm"]) for row in found] == [(cell, arm) for cell in cells for arm in ("TCP", "QUIC")]
    level = next(
        item for item in content.levels if item.arm == "tcp" and item.cell == {"queue": "30KB", "against": "1"}
    )
    assert (found[0]["value"], found[0]["low"], found[0]["high"]) == (level.median, level.low, level.high)
    assert "n = 8" in str(found[0]["shown"])


def test_an_arm_without_a_value_is_marked_beyond_all_values(
    content: ReportContent, snapshot: SnapshotAssertion
) -> None:
    without = replace(content, levels=[item for item in content.levels if item.arm != "quic"])
    known, missing = points(without), points(without, layer=2)
    assert {row["arm"] for row in known} == {"TCP"} and {row["arm"] for row in missing} == {"QUIC"}
    greatest = max(float(str(row["high"])) for row in known)
    assert all(float(str(row["value"])) > greatest for row in missing)
    (section,) = make_dots(without)
    assert section.about == snapshot


def test_values_that_lie_far_apart_have_a_logarithmic_axis(content: ReportContent) -> None:
    assert "logarithmic" not in make_dots(content)[0].about
    far = [
        replace(item, median=item.median / 50, low=item.low / 50)
        if item.arm == "tcp" and item.median is not None and item.low is not None
        else item
        for item in content.levels
    ]
    (section,) = make_dots(replace(content, levels=far))
    assert "logarithmic" in section.about
    assert section.data()["specs"]["dots"]["layer"][1]["encoding"]["x"]["scale"]["type"] == "log"


def test_another_figure_has_none() -> None:
    assert make_dots(competing_content(FLOWS, competing_study())) == []
