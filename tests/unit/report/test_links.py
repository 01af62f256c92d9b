"""What came over which of two links: a panel for each cell, in it a row for each arm."""

import pandas as pd

from longlook.report.content import ReportContent
from longlook.report.links import first_rounds, make_links
from longlook.report.page import sections
from longlook.timeline.over_links import MAIN_LINK, SECOND_LINK
from tests.data.report import paper_content, with_tables


def content(*rows: tuple[str, int, str, float]) -> ReportContent:
    """A report on one cell with two links: arm, round, link, rate."""
    made = paper_content(only=["rate=10Mbit", "size=5KB"], faults=False)
    (cell,) = made.samples["cell"].unique()
    table = [{"trial_id": "t", "cell_id": cell, "arm": arm, "round": number, "time_s": 0.1, "link": link, "mbps": mbps}
             for arm, number, link, mbps in rows]  # fmt: skip
    return with_tables(made, links=pd.DataFrame(table) if table else None)


def test_each_arm_has_a_row_of_its_first_round() -> None:
    made = content(
        ("tcp", 3, MAIN_LINK, 4.0),
        ("tcp", 3, SECOND_LINK, 1.0),
        ("tcp", 2, MAIN_LINK, 2.0),
        ("quic", 0, MAIN_LINK, 1.0),
    )
    rows = made.table("links")
    assert rows is not None
    chosen = first_rounds(made, rows)
    assert [set(own["round"]) for _, own in chosen] == [{2}, {0}]  # arms in the order of the study
    (section,) = make_links(made)
    (panel,) = section.panels
    assert len(section.data()["specs"][panel.name]["vconcat"]) == 2
    assert list(section.figures()) == ["links"]


def test_a_report_without_a_second_link_in_use_has_no_such_section() -> None:
    for made in (content(), content(("tcp", 0, MAIN_LINK, 4.0), ("tcp", 0, SECOND_LINK, 0.0))):
        assert make_links(made) == []
        assert "links" not in [part.anchor for part in sections(made)[0]]
