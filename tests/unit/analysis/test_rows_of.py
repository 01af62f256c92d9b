"""The tables of all trials: one list, and the rows of all attempts in one table."""

from dataclasses import replace

from longlook.analysis.outputs import OUTPUTS, rows_of
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


def test_names_and_files_are_unique() -> None:
    names, files = [each.name for each in OUTPUTS], [each.file for each in OUTPUTS if each.file is not None]
    assert (len(set(names)), len(set(files))) == (len(names), len(files))
