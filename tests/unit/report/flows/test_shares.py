"""Shares of each arm, and the fair value beside them."""

from dataclasses import replace

import pytest

from longlook.analysis.stats import metrics_by_arm
from longlook.core.model import MATRIX, TREND, Contrast, Figure
from longlook.report.flows import shares
from longlook.report.flows.section import make_flow_section
from longlook.report.flows.shares import Fairness, emulated_parts, make_shares
from longlook.study.files import find_study
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


def test_a_flow_that_acts_for_several_connections_has_their_part() -> None:
    found = emulated_parts(find_study("corbel2019-emulation"))
    assert {(cell, arm): round(part, 1) for (cell, arm), part in found.items()} == {
        ("2_1", "quic"): 66.7,
        ("2_2", "quic"): 50.0,
        ("4_1", "quic"): 80.0,
        ("4_2", "quic"): 66.7,
    }


def test_a_stack_declares_by_its_window_after_a_loss_for_how_many_it_acts() -> None:
    found = emulated_parts(find_study("kakhki2017-tab4"))  # Google's QUICHE keeps 0.85 of its window
    parts = {(cell.rpartition("_")[0], arm): round(part, 1) for (cell, arm), part in found.items()}
    assert parts == {
        ("1-TCP", "quic"): 66.7,
        ("2-TCP", "quic"): 50.0,
        ("4-TCP", "quic"): 33.3,
        ("1-QUIC", "tcp"): 33.3,  # QUIC against itself has half, whatever it acts for
    }


def test_the_part_of_the_connections_that_a_flow_acts_for_is_drawn_beside_the_fair_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    content = competing_content(FIVE, rounds=3)
    cell = make_flow_section(content).cells[0].cell_id
    assert "Dotted" not in make_shares(content)[0].context()["about"]
    monkeypatch.setattr(shares, "emulated_parts", lambda _: {(cell, "tcp"): 33.3})
    (section,) = make_shares(content)
    assert "N/(M+N)" in section.context()["about"]
    spec = section.shares[0].specs[section.shares[0].panels[0][1]]
    rows = [row for layer in spec["layer"] for row in layer["data"].get("values", [])]
    rows = rows or [row for each in spec["datasets"].values() for row in each]
    assert [row["fair"] for row in rows if "connections for which" in row.get("line", "")] == [33.3]
    fairness = Fairness(content)
    assert fairness.emulated("share_of_used", cell, "tcp") == 33.3
    assert fairness.emulated("jain_index", cell, "tcp") is None
    assert fairness.emulated("share_of_used", cell, "quic") is None


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
