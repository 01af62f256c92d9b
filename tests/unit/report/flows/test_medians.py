"""The matrix of medians of every arm."""

from dataclasses import replace

from syrupy.assertion import SnapshotAssertion

from longlook.core.model import MATRIX, Figure
from longlook.report import wording
from longlook.report.flows.medians import departure_pct, make_matrix
from longlook.report.flows.section import make_flow_section
from tests.data.flows import competing_content, competing_study

FIVE = {"tcp": {"subject": 1, "tcp": 4}, "quic": {"quic": 2, "tcp": 2, "cross": 1}}


def test_a_matrix_has_a_square_for_every_arm_and_level_with_value_interval_and_n(snapshot: SnapshotAssertion) -> None:
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
    assert square.tip == snapshot
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
