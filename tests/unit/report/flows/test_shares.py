"""Shares of each arm, and the fair value beside them."""

from dataclasses import replace

import pytest

from longlook.core.model import MATRIX, TREND, Contrast, Figure
from longlook.report import metrics_by_arm
from longlook.report.flows.section import make_flow_section
from longlook.report.flows.shares import Fairness, make_shares
from tests.data.flows import competing_content, competing_study

FIVE = {"tcp": {"subject": 1, "tcp": 4}, "quic": {"quic": 2, "tcp": 2, "cross": 1}}


def test_what_is_fair_follows_the_number_of_flows() -> None:
    content = competing_content(FIVE)
    fairness = Fairness(content)
    cell = make_flow_section(content).cells[0].cell_id
    assert fairness.of("share_of_used", cell, "tcp") == pytest.approx(20)
    assert fairness.of("share_of_used", cell, "quic") == pytest.approx(50)
    assert fairness.of("share_of_link", cell, "tcp") == pytest.approx(20)
    assert fairness.of("share_of_link", cell, "quic") is None  # others cross
    assert fairness.of("fair_share", cell, "quic") == 100
    assert fairness.of("jain_index", cell, "quic") == 1
    assert fairness.of("queue_delay", cell, "quic") is None
    assert fairness.of("share_of_used", "no such cell", "quic") is None


def test_shares_are_drawn_against_the_columns_a_panel_for_each_row() -> None:
    content = competing_content(FIVE, competing_study(rows=("30KB", "120KB")), rounds=8)
    (section,) = make_shares(content)
    (share,) = section.shares
    assert [title for title, _ in share.panels] == ["30KB", "120KB"]
    spec = share.specs[share.panels[0][1]]
    rows = [row for rows in spec["datasets"].values() for row in rows] if "datasets" in spec else []
    rows = rows or [row for layer in spec["layer"] for row in layer["data"]["values"]]
    points = {(row["arm"], row["column"]): row for row in rows if "value" in row}
    levels = {(item.arm, item.cell["against"]): item for item in content.levels if item.cell["queue"] == "30KB"}
    for (arm, column), row in points.items():
        level = levels[arm.lower(), column]
        assert (row["value"], row["low"], row["high"]) == (level.median, level.low, level.high)
        assert "n = 8" in row["shown"]
    assert {row["fair"] for row in rows if "fair" in row} == {20.0, 50.0}


def test_levels_are_asked_for_where_a_figure_shows_them() -> None:
    study = competing_study(metrics=("share_of_used", "queue_delay", "jain_index"))
    assert metrics_by_arm(study) == ["share_of_used", "jain_index"]
    assert metrics_by_arm(replace(study, figure=Figure("against", ("queue",), MATRIX, "queue_delay"))) == [
        "queue_delay", "share_of_used", "jain_index",
    ]  # fmt: skip
    plain = replace(study, metrics=("goodput",), contrasts=(Contrast("c", "tcp", "quic", "goodput"),))
    assert metrics_by_arm(plain) == []
    assert metrics_by_arm(replace(plain, figure=Figure("against", ("queue",), MATRIX))) == ["goodput"]
    assert metrics_by_arm(replace(plain, figure=Figure("against", ("queue",), TREND))) == ["goodput"]
