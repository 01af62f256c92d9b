"""The report's part on flows that compete: what its figures draw, without a browser."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from longlook.core.model import MATRIX, Arm, Figure
from longlook.report.flows.colours import flow_colours
from longlook.report.flows.section import make_flow_section
from longlook.report.flows.shares import make_shares
from longlook.report.write import write_report
from tests.data.flows import BIN_S, competing_content, competing_study
from tests.data.report import with_tables

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
    rates, flows = content.table("rates"), content.table("flows")
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


def test_a_single_round_has_no_band_and_one_bin_is_enough() -> None:
    content = competing_content(TWO, rounds=1, bins=1)
    section = make_flow_section(content)
    assert all(arm.band_chart is None for cell in section.cells for arm in cell.arms)
    assert all(arm.round_chart in section.charts for cell in section.cells for arm in cell.arms)


def test_an_arm_without_the_shown_round_shows_its_own_first_and_says_so() -> None:
    content = competing_content(TWO, rounds=3)
    rates, flows = content.table("rates"), content.table("flows")
    assert rates is not None and flows is not None
    kept = with_tables(
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


def test_runs_without_flows_have_none_of_it() -> None:
    content = with_tables(competing_content(TWO), flows=None, rates=None)
    assert make_shares(content) == []
    assert make_flow_section(content).cells == []


def test_everything_is_exported_and_the_page_stays_small(tmp_path: Path) -> None:
    study = competing_study(("1",), figure=Figure("against", ("queue",), MATRIX))
    content = competing_content(
        {"tcp": {"subject": 1, "tcp": 4}, "quic": {"quic": 1, "tcp": 1}}, study, rounds=30, bins=120
    )
    index = write_report(tmp_path / "report", content)
    names = {path.name for path in (index.parent / "figures").iterdir()}
    for stem in ("flows-id-30kb-1", "phase-id-30kb-1", "shares-share-of-used", "matrix-share-of-used-30kb"):
        assert {f"{stem}.{ending}" for ending in ("svg", "png", "pdf")} <= names, names
    plain = write_report(tmp_path / "plain", replace(content, tables={}, study=competing_study(("1",))))
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
