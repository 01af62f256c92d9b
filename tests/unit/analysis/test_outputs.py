"""The tables of all trials: one list, and the rows of all attempts in one table."""

from dataclasses import replace
from pathlib import Path

import pandas as pd

from longlook.analysis.outputs import TABLES, filled_tables, rows_of, share_of_epochs
from tests.data.trials import TRIAL

OTHER = replace(TRIAL, id="another", arm="other", round=7)


def test_rows_stand_beside_what_identifies_their_trial() -> None:
    first = (TRIAL, {"goodput": {"time_s": [0.0, 0.1], "mbps": [8.0, None]}})
    second = (OTHER, {"goodput": {"time_s": [0.2], "mbps": [4.0]}})
    table = rows_of([first, (TRIAL, {}), second], "goodput")
    assert table is not None
    assert table.columns.tolist() == ["time_s", "mbps", "trial_id", "arm", "cell_id", "round"]
    assert table["time_s"].tolist() == [0.0, 0.1, 0.2]
    assert table["mbps"].isna().tolist() == [False, True, False]
    assert table["trial_id"].tolist() == [TRIAL.id, TRIAL.id, "another"]
    assert table["arm"].tolist() == [TRIAL.arm, TRIAL.arm, "other"]
    assert table["round"].tolist() == [TRIAL.round, TRIAL.round, 7]


def test_without_rows_there_is_no_table() -> None:
    assert rows_of([(TRIAL, {"rates": {"time_s": [], "mbps": []}}), (OTHER, {})], "rates") is None


def test_a_table_made_of_another_comes_after_it_and_is_missing_with_it(tmp_path: Path) -> None:
    work = {"role": ["server"], "work": ["copying bytes"], "cpu_s": [1.0], "counted_s": [2.0]}
    for rows, there in (({}, False), ({"cpu_work": work}, True)):
        found = list(filled_tables(tmp_path, [(TRIAL, rows)]))
        assert [table.name for table in found] == [table.name for table in TABLES]
        assert [table.name for table in found if table.rows is not None] == ["cpu_work", "cpu_stacks"] * there


def test_shares_of_epochs_are_cumulative_over_all_rounds_and_end_with_the_axis() -> None:
    epochs = pd.DataFrame({"lost": [1, 3, 1, 500], "epochs": [2, 4, 1, 1], "round": [0, 0, 1, 1]})
    assert share_of_epochs(epochs, 100) == [(1, 37.5), (3, 87.5), (100, 87.5)]


def test_names_and_files_are_unique() -> None:
    names, files = [each.name for each in TABLES], [each.file for each in TABLES if each.file is not None]
    assert (len(set(names)), len(set(files))) == (len(names), len(files))
