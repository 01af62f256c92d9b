"""The report's part on flows that compete: what its figures draw, without a browser."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from longlook.core.model import MATRIX, TREND, Arm, ArmLevel, Contrast, Figure
from longlook.report import metrics_by_arm, wording, write_report
from longlook.report.charts.labels import apart
from longlook.report.flows.colours import flow_colours, group_colours
from longlook.report.flows.medians import departure_pct, make_matrix
from longlook.report.flows.rates import MOST_POINTS, Rates, arm_flows, thinned
from longlook.report.flows.section import make_flow_section
from longlook.report.flows.shares import Fairness, make_shares
from tests.data.flows import BIN_S, competing_content, competing_study

TWO = {"tcp": {"subject": 1, "tcp": 1}, "quic": {"subject": 1, "tcp": 1}}
FIVE = {"tcp": {"subject": 1, "tcp": 4}, "quic": {"quic": 2, "tcp": 2, "cross": 1}}


def rows_of(spec: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """The rows of every data set of a chart whose rows have this key."""
    return [row for rows in spec["datasets"].values() for row in rows if key in row]


def test_every_flow_of_the_median_round_is_drawn_with_its_name_and_mean() -> None:
    content = competing_content(FIVE)
    section = make_flow_section(content)
    cell = section.cells[0]
    assert [arm.label for arm in cell.arms] == ["TCP", "QUIC"]
    assert cell.arms[1].who == "2 quic against 2 tcp; cross traffic: cross"
    lines = rows_of(section.charts[cell.arms[1].round_chart], "flow")
    assert {line["flow"] for line in lines} == {"quic-1", "quic-2", "tcp-1", "tcp-2", "cross"}
    assert {line["colour"] for line in lines} == set(
        flow_colours({"quic": ["quic-1", "quic-2"], "tcp": ["tcp-1", "tcp-2"], "cross": ["cross"]}, ["cross"]).values()
    )
    number = int(cell.chosen.split(":")[0].removeprefix("Round ")) - 1
    rates, flows = content.rates, content.flows
    assert rates is not None and flows is not None
    own = rates[(rates["cell_id"] == cell.cell_id) & (rates["arm"] == "quic") & (rates["round"] == number)].set_index(
        "flow"
    )
    for line in lines:
        assert line["mbps"] == pytest.approx(own.loc[line["flow"], "mbps"].tolist(), rel=1e-3)
        assert line["time_s"][0] == BIN_S / 2
    names = [row["name"] for row in rows_of(section.charts[cell.arms[1].round_chart], "from")]
    mean = flows[(flows["cell_id"] == cell.cell_id) & (flows["arm"] == "quic") & (flows["round"] == number)]
    wanted = [f"{flow} {mbps:.2f}" for flow, mbps in zip(mean["flow"], mean["rate_mbps"], strict=True)]
    assert sorted(names) == sorted(wanted)
    assert [row["name"] for row in rows_of(section.charts[cell.arms[1].round_chart], "name") if "from" not in row] == [
        "link 5 Mbit/s"
    ]


def test_bands_are_quartiles_over_the_rounds_of_a_groups_mean() -> None:
    content = competing_content(FIVE, rounds=9)
    (cell, *_) = make_flow_section(content).cells
    flows = arm_flows(content)[cell.cell_id][0]
    band = next(band for band in flows.bands() if band.group == "tcp")
    table = np.array(
        [np.mean([rates.flows[f"tcp-{n}"] for n in (1, 2, 3, 4)], axis=0) for rates in flows.rounds.values()]
    )
    assert band.low.tolist() == pytest.approx(np.quantile(table, 0.25, axis=0).tolist())
    assert band.middle.tolist() == pytest.approx(np.median(table, axis=0).tolist())
    assert band.high.tolist() == pytest.approx(np.quantile(table, 0.75, axis=0).tolist())


def test_bands_end_where_less_than_half_of_the_rounds_last() -> None:
    content = competing_content(TWO, rounds=4, bins=20)
    rates = content.rates
    assert rates is not None
    short = rates[(rates["round"] < 3) | (rates["time_s"] < 3)]
    short = short[(short["round"] != 0) | (short["time_s"] < 5)]  # two rounds of 10 s, one of 5 s, one of 3 s
    flows = next(iter(arm_flows(replace(content, rates=short)).values()))[0]
    assert flows.band_bins == 20
    shorter = short[(short["round"] != 1) | (short["time_s"] < 5)]
    assert next(iter(arm_flows(replace(content, rates=shorter)).values()))[0].band_bins == 10


def test_a_single_round_has_no_band_and_one_bin_is_enough() -> None:
    content = competing_content(TWO, rounds=1, bins=1)
    section = make_flow_section(content)
    assert all(arm.band_chart is None for cell in section.cells for arm in cell.arms)
    assert all(arm.round_chart in section.charts for cell in section.cells for arm in cell.arms)


def test_an_arm_without_the_shown_round_shows_its_own_first_and_says_so() -> None:
    content = competing_content(TWO, rounds=3)
    rates, flows = content.rates, content.flows
    assert rates is not None and flows is not None
    kept = replace(
        content,
        rates=rates[(rates["arm"] == "tcp") | (rates["round"] == 2)],
        flows=flows[(flows["arm"] == "tcp") | (flows["round"] == 2)],
    )
    notes = {arm.label: arm.note for cell in make_flow_section(kept).cells for arm in cell.arms if arm.note}
    assert set(notes) <= {"QUIC"}
    assert all(note.startswith("Round 3: ") for note in notes.values())


def test_only_two_competing_flows_have_a_phase_plot_and_cross_traffic_does_not_count() -> None:
    section = make_flow_section(competing_content({"tcp": {"a": 2, "cross": 1}, "quic": {"quic": 1, "tcp": 2}}))
    tcp, quic = section.cells[0].arms
    assert tcp.phase_chart is not None
    assert quic.phase_chart is None
    spec = section.charts[tcp.phase_chart]
    faint = rows_of(spec, "round")
    assert len(faint) == 2  # of three rounds
    steps = rows_of(spec, "time_s")
    assert steps[0]["x2"] == steps[1]["x"]
    assert {row["name"] for row in rows_of(spec, "name")} == {"start", "end", "equal parts", "link full"}


def test_a_phase_plot_says_nothing_of_a_link_that_is_not_known() -> None:
    section = make_flow_section(competing_content(TWO, link_mbps=None))
    spec = section.charts[section.cells[0].arms[0].phase_chart or ""]
    assert {row["name"] for row in rows_of(spec, "name")} == {"start", "end", "equal parts"}


def test_wider_bins_keep_the_bytes() -> None:
    values = np.random.default_rng(1).random(241)
    rates = Rates(0.5, {"a": values}, values * 2)
    wide = rates.widened(1.7)
    assert wide.bins == 70
    assert wide.flows["a"].sum() * 1.7 == pytest.approx(
        np.interp(70 * 1.7, np.arange(242) * 0.5, np.append(0, np.cumsum(values) * 0.5))
    )
    assert wide.link is not None
    assert wide.link.tolist() == pytest.approx((wide.flows["a"] * 2).tolist())
    assert thinned(rates).bins <= MOST_POINTS
    assert thinned(rates).bin_s == 1.5
    assert rates.widened(0.1) is rates


@pytest.mark.parametrize(
    ("wanted", "places"),
    [
        ([], []),
        ([50.0], [50.0]),
        ([10.0, 80.0], [10.0, 80.0]),
        ([50.0, 50.0, 50.0], [37.0, 50.0, 63.0]),
        ([99.0, 98.0], [100.0, 87.0]),
        ([0.0, 0.0, 90.0], [0.0, 13.0, 90.0]),
    ],
)
def test_labels_move_apart_in_order_and_stay_inside(wanted: list[float], places: list[float]) -> None:
    assert apart(wanted, 13.0, 0.0, 100.0) == pytest.approx(places)


def test_many_labels_share_the_room_that_there_is() -> None:
    places = apart([50.0] * 21, 13.0, 0.0, 100.0)
    assert sorted(places) == pytest.approx(np.linspace(0, 100, 21).tolist())


def test_the_subject_has_a_hue_of_its_own_and_cross_traffic_is_grey() -> None:
    colours = group_colours(["cross", "quic", "tcp"], ["cross"])
    assert colours["quic"] == group_colours(["quic"], [])["quic"]
    assert len(set(colours.values())) == 3
    shades = flow_colours({"quic": ["quic"], "tcp": ["a", "b", "c"]}, [])
    assert len(set(shades.values())) == 4


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


def test_runs_without_flows_have_none_of_it() -> None:
    content = replace(competing_content(TWO), flows=None, rates=None)
    assert make_shares(content) == []
    assert make_flow_section(content).cells == []


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


def test_a_matrix_has_a_square_for_every_arm_and_level_with_value_interval_and_n() -> None:
    study = competing_study(rows=("30KB", "120KB"), figure=Figure("against", ("queue",), MATRIX))
    content = competing_content(FIVE, study, rounds=8)
    matrix = make_matrix(content, make_flow_section(content).anchors)
    assert matrix is not None and matrix.fair
    assert [each.title for each in matrix.matrices] == ["30KB", "120KB"]
    first = matrix.matrices[0]
    assert (first.grid.rows, first.grid.columns) == (("TCP", "QUIC"), ("1", "4"))
    level = next(
        item for item in content.levels if item.arm == "tcp" and item.cell == {"queue": "30KB", "against": "1"}
    )
    square = first.squares["TCP", "1"]
    assert square.text == wording.level(level)
    assert square.note == f"{wording.level_bounds(level)} · n\u00a08"
    assert "fair would be 20.0\u00a0%" in square.tip
    assert first.details["QUIC", "4"].anchor == "flows-2"
    assert make_matrix(replace(content, study=competing_study()), {}) is None


def test_colours_of_a_matrix_say_how_far_from_fair() -> None:
    assert departure_pct(20.0, 20.0, 100.0) == 0
    assert departure_pct(0.0, 20.0, 100.0) == -100
    assert departure_pct(60.0, 20.0, 100.0) == 50
    assert departure_pct(100.0, 20.0, 100.0) == 100
    assert departure_pct(250.0, 100.0, None) == 100
    assert departure_pct(0.5, 1.0, 1.0) == -50


def test_cells_that_were_not_run_are_blank_in_a_matrix() -> None:
    study = competing_study(figure=Figure("against", ("queue",), MATRIX))
    content = competing_content(FIVE, study)
    without = replace(content, levels=[item for item in content.levels if item.arm != "quic"])
    matrix = make_matrix(without, {})
    assert matrix is not None
    square = matrix.matrices[0].squares["QUIC", "1"]
    assert (square.text, square.state, square.note) == ("", "no estimate", "no value")


def test_bounds_of_a_level_are_in_one_unit() -> None:
    level = ArmLevel("a", {}, "c", "page_load_time", "s", 10, 0.95, 0.9, 1.2)
    assert wording.level_interval(level) == "0.900 … 1.20\u00a0s"
    assert wording.level_bounds(replace(level, low=0.035, high=0.041)) == "35.0\u00a0to\u00a041.0"
    assert wording.level_bounds(replace(level, low=None)) == ""


def test_everything_is_exported_and_the_page_stays_small(tmp_path: Path) -> None:
    study = competing_study(("1",), figure=Figure("against", ("queue",), MATRIX))
    content = competing_content(
        {"tcp": {"subject": 1, "tcp": 4}, "quic": {"quic": 1, "tcp": 1}}, study, rounds=30, bins=120
    )
    index = write_report(tmp_path / "report", content)
    names = {path.name for path in (index.parent / "figures").iterdir()}
    for stem in ("flows-id-30kb-1", "phase-id-30kb-1", "shares-share-of-used", "matrix-share-of-used-30kb"):
        assert {f"{stem}.{ending}" for ending in ("svg", "png", "pdf")} <= names, names
    plain = write_report(tmp_path / "plain", replace(content, flows=None, rates=None, study=competing_study(("1",))))
    # Two arms in one cell, of 30 rounds, 7 flows and 120 bins.
    assert index.stat().st_size - plain.stat().st_size < 250_000
    assert (index.parent / "tables" / "levels.csv").is_file()


def test_the_same_content_gives_the_same_figures(tmp_path: Path) -> None:
    study = competing_study(("1",))
    pages = [write_report(tmp_path / str(number), competing_content(TWO, study)).parent for number in (1, 2)]
    files = sorted(path.relative_to(pages[0]) for path in pages[0].rglob("*") if path.is_file())
    assert [path for path in files if (pages[0] / path).read_bytes() != (pages[1] / path).read_bytes()] == []


def test_hostile_labels_stay_labels(tmp_path: Path) -> None:
    study = competing_study(("</script><b>",), arms=(Arm("tcp", "<img src=x>", {}), Arm("quic", "QUIC", {})))
    page = write_report(tmp_path / "report", competing_content(TWO, study)).read_text()
    assert "<img src=x>" not in page
    assert "</script><b>" not in page
