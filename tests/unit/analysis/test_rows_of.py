"""The rows of all attempts in one table."""

from dataclasses import replace

from longlook.analysis.measure import Measured, rows_of
from tests.data.trials import RUN, TRIAL

OTHER = replace(TRIAL, id="another", arm="other", round=7)


def test_rows_stand_beside_what_identifies_their_trial() -> None:
    first = Measured(TRIAL, RUN, {}, goodput={"time_s": [0.0, 0.1], "mbps": [8.0, None]})
    second = Measured(OTHER, RUN, {}, goodput={"time_s": [0.2], "mbps": [4.0]})
    table = rows_of([first, Measured(TRIAL, RUN, {}), second], "goodput")
    assert table is not None
    assert table.columns.tolist() == ["time_s", "mbps", "trial_id", "arm", "cell_id", "round"]
    assert table["time_s"].tolist() == [0.0, 0.1, 0.2]
    assert table["mbps"].isna().tolist() == [False, True, False]
    assert table["trial_id"].tolist() == [TRIAL.id, TRIAL.id, "another"]
    assert table["arm"].tolist() == [TRIAL.arm, TRIAL.arm, "other"]
    assert table["round"].tolist() == [TRIAL.round, TRIAL.round, 7]


def test_without_rows_there_is_no_table() -> None:
    empty = Measured(TRIAL, RUN, {}, rates={"time_s": [], "mbps": []})
    assert rows_of([empty, Measured(OTHER, RUN, {})], "rates") is None
