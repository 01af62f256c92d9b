"""The effect of each round against what it drew: plots of cells, and the figure of all cells on a cliff."""

from dataclasses import replace

import pytest
from syrupy.assertion import SnapshotAssertion

from longlook.report import wording
from longlook.report.content import ReportContent
from longlook.report.contrasts.drawn import chart_name
from longlook.report.contrasts.section import ContrastSection, make_contrasts
from longlook.report.text import plain_rows
from tests.data.report import cliff_content, paper_content

SIZE = "workload.object_bytes"
SENTENCE = "depends on the object's size: +52 % from about 98 KB, +46 % below"


@pytest.fixture(scope="module")
def content() -> ReportContent:
    return cliff_content()


@pytest.fixture(scope="module")
def section(content: ReportContent) -> ContrastSection:
    return make_contrasts(content, {})[0]


def test_a_cell_on_a_cliff_is_marked_in_the_heatmap_and_another_is_not(section: ContrastSection) -> None:
    squares = {square.column: square for square in section.squares.values()}
    assert squares["10Mbit"].cliff == wording.CLIFF
    assert squares["10Mbit"].tip[-1] == f"{wording.CLIFF} {SENTENCE}"
    assert squares["50Mbit"].cliff == ""
    assert section.cliffs == 1


def test_each_cell_has_a_plot_for_every_setting_the_one_that_explains_most_first(
    section: ContrastSection, snapshot: SnapshotAssertion
) -> None:
    on_cliff, flat = section.details.values()
    assert on_cliff.drawn[0].title == "object's size"
    assert on_cliff.drawn[0].found == snapshot
    assert {plot.title for plot in flat.drawn} == {"object's size", "rate", "round trip time", "queue", "start phase"}
    assert all("not distinguishable from noise" in plot.found for plot in flat.drawn)
    assert [plot.is_cliff for plot in on_cliff.drawn] == [True, False, False, False, False]
    assert {plot.chart for plot in flat.drawn} <= section.data()["charts"].keys()


def test_a_plot_has_the_effect_and_the_draw_of_each_round(content: ReportContent, section: ContrastSection) -> None:
    data = next(iter(section.details.values())).data["drawn"]
    assert data["rounds"] == list(range(1, 21))
    rows = content.samples[content.samples["factor.rate"] == "10Mbit"].pivot_table(
        index="round", columns="arm", values="value"
    )
    assert data["effects"] == pytest.approx(list(100 * (1 - rows["quic"] / rows["tcp"])), abs=1e-3)
    sizes = content.samples.query("`factor.rate` == '10Mbit' and arm == 'tcp'")[f"drawn.{SIZE}"]
    assert data["settings"][SIZE] == pytest.approx(list(sizes), rel=1e-5)


def test_only_what_chance_does_not_explain_has_a_line(section: ContrastSection) -> None:
    on_cliff, flat = (detail.data["drawn"] for detail in section.details.values())
    assert list(on_cliff["fits"]) == [SIZE] and flat["fits"] == {}
    low, split_low, split_high, high = on_cliff["fits"][SIZE]
    assert low["effect"] == split_low["effect"] < split_high["effect"] == high["effect"]
    assert split_low["drawn"] == split_high["drawn"] == 98e3


def test_cells_on_a_cliff_are_a_figure_of_their_own(section: ContrastSection) -> None:
    figure = section.figures()["cliffs-quic-vs-tcp"].to_dict()
    (panel,) = [part for line in figure["vconcat"] for part in line["hconcat"]]
    assert panel["title"] == {"text": "10Mbit", "subtitle": SENTENCE, "fontSize": 14, "offset": 10}


def test_verdicts_as_text_have_the_mark(content: ReportContent) -> None:
    _, *rows = plain_rows(content.study, content.estimates)
    assert [row[-1] for row in rows] == [f"▲ better {wording.CLIFF}", "▲ better"]


def test_a_run_of_points_has_neither_plots_nor_marks() -> None:
    (section,) = make_contrasts(paper_content(only=["size=5KB"]), {})
    assert all(detail.drawn == () and detail.data["drawn"] == {} for detail in section.details.values())
    assert section.cliffs == 0
    assert not any(name.startswith("cliffs") for name in section.figures())
    assert not any(name.startswith(chart_name("")) for name in section.data()["charts"])


def test_a_round_whose_effect_is_beyond_all_floats_has_no_dot(content: ReportContent) -> None:
    samples = content.samples.copy()
    samples.loc[(samples["round"] == 4) & (samples["arm"] == "quic"), "value"] = 1e300
    samples.loc[(samples["round"] == 4) & (samples["arm"] == "tcp"), "value"] = 1e-300
    (section,) = make_contrasts(replace(content, samples=samples), {})
    assert next(iter(section.details.values())).data["drawn"]["effects"][4] is None
