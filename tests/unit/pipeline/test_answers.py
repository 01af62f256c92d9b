"""Answers on disk: read as they were written, replaced by later ones about the same, and found by a run's report."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from syrupy.assertion import SnapshotAssertion

from longlook.core.errors import InputError
from longlook.core.run_folder import RunFolder
from longlook.engines.fake import FakeEngine
from longlook.pipeline.analyse import analyse_run
from longlook.pipeline.answers import ANSWERS, FINDINGS, FOLDER, findings_table, read_answers, write_answers
from longlook.pipeline.options import Observer, RunOptions
from longlook.pipeline.run import run_study
from longlook.study.files import find_study
from tests.data import answers
from tests.data.answers import answer

TINY = str(Path(__file__).parents[2] / "data" / "tiny.toml")


def test_answers_are_read_as_they_were_written(tmp_path: Path) -> None:
    assert read_answers(tmp_path) == []
    for item in answers.ALL:
        write_answers(tmp_path, item)
    assert sorted(read_answers(tmp_path), key=lambda item: item.cell_id) == sorted(
        answers.ALL, key=lambda item: item.cell_id
    )


def test_a_later_answer_takes_the_place_of_an_earlier_one_about_the_same(tmp_path: Path) -> None:
    write_answers(tmp_path, answer(trials=1))
    write_answers(tmp_path, replace(answer(trials=2), contrast="another"))
    write_answers(tmp_path, answer(trials=3))
    assert {(item.contrast, item.trials) for item in read_answers(tmp_path)} == {("another", 2), ("quic vs tcp", 3)}


def test_the_table_has_a_row_for_each_change_and_for_what_could_not_be_tested(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    write_answers(tmp_path, answer())
    table = pd.read_parquet(tmp_path / FINDINGS)
    pd.testing.assert_frame_equal(table, findings_table([answer()]))
    assert list(table["kind"]) == ["cure", "cure", "transplant", "cure", "cure", ""]
    assert list(table["share_pct"])[:3] == [71.0, 24.0, 19.0]
    untestable = table.iloc[-1]
    assert untestable["verdict"] == "untestable"
    assert untestable["reason"] == snapshot


def test_a_damaged_file_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / ANSWERS).write_text('[{"study": 1}]')
    with pytest.raises(InputError, match="is damaged"):
        read_answers(tmp_path)


def test_a_class_of_time_that_is_not_known_is_named_before_a_page_needs_it(tmp_path: Path) -> None:
    write_answers(tmp_path, replace(answer(), ledger_ms={"quic": {"thinking": 3.0}, "tcp": {}}))
    with pytest.raises(InputError, match=r"answers\.json is damaged: 'thinking'"):
        read_answers(tmp_path)


def test_a_report_has_the_sentences_of_the_run(tmp_path: Path) -> None:
    result = run_study(find_study(TINY, rounds=3), tmp_path / "run", RunOptions(FakeEngine()), Observer())
    assert 'id="why"' not in result.report.read_text(encoding="utf-8")
    write_answers(tmp_path / "run" / FOLDER, answer())
    again = analyse_run(RunFolder.open(tmp_path / "run"), Observer())
    assert "loses to TCP (Linux, Cubic) in page load time" in again.report.read_text(encoding="utf-8")
