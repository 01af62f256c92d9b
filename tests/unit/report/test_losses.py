"""Losses within a round trip: a panel for each cell that lost packets."""

from typing import Any

import pandas as pd

from longlook.report.content import ReportContent
from longlook.report.losses import make_losses
from longlook.report.page import sections
from tests.data.report import paper_content, with_tables


def content(*rows: tuple[str, str, int, int]) -> ReportContent:
    """A report on two cells with loss epochs: cell, arm, packets lost, epochs."""
    made = paper_content(only=["rate=10Mbit", "size=5KB", "size=10KB"], faults=False)
    ids = dict(zip(("5KB", "10KB"), made.samples["cell"].unique(), strict=True))
    table = [{"trial_id": "t", "cell_id": ids[cell], "arm": arm, "round": 0, "lost": lost, "epochs": count}
             for cell, arm, lost, count in rows]  # fmt: skip
    return with_tables(made, epochs=pd.DataFrame(table) if table else None)


def test_there_is_a_panel_for_each_cell_with_the_arms_that_lost_packets() -> None:
    made = content(("5KB", "tcp", 1, 3), ("5KB", "tcp", 2, 1), ("10KB", "tcp", 1, 2), ("10KB", "quic", 4, 5))
    (section,) = make_losses(made)
    assert len(section.panels) == 2
    charts = section.data()["specs"]
    assert list(charts) == [panel.name for panel in section.panels]
    arms = [{row["arm"] for row in _rows(charts[panel.name])} for panel in section.panels]
    assert sorted(len(each) for each in arms) == [1, 2]
    assert any("5 epochs" in panel.note for panel in section.panels)
    assert list(section.figures()) == ["loss-epochs"]


def test_a_report_without_losses_has_no_such_section() -> None:
    assert make_losses(content()) == []
    assert "losses" not in [part.anchor for part in sections(content())[0]]
    assert "losses" in [part.anchor for part in sections(content(("5KB", "tcp", 1, 3)))[0]]


def _rows(chart: dict[str, Any]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = chart["data"]["values"]
    return rows
