from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from syrupy.assertion import SnapshotAssertion

from longlook.analysis.measure import MeasuredAttempt
from longlook.analysis.samples import loses_at_random, samples_table
from longlook.analysis.stats import estimate
from longlook.core.errors import InputError
from longlook.core.model import Link, Outcome, Stage
from tests.data.samples import study
from tests.data.trials import RUN, TRIAL, run

STUDY = replace(study(["10"]), metrics=("page_load_time", "client_cpu"))


def test_one_row_for_each_attempt_and_metric(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    rejected = run(outcome=Outcome.INVALID, reason="late packets")
    again = run(attempt=2)
    entries = [
        MeasuredAttempt(TRIAL, rejected, {}),
        MeasuredAttempt(TRIAL, again, {"page_load_time": 1.5, "client_cpu": None}),
    ]
    table = samples_table(STUDY, entries)
    assert list(table.columns) == [
        *("study", "cell", "arm", "round", "seed", "trial_id", "attempt"),
        *("metric", "value", "unit", "outcome", "reason", "factor.rate"),
    ]
    assert table["attempt"].tolist() == [1, 1, 2, 2]
    assert table["metric"].tolist() == ["page_load_time", "client_cpu"] * 2
    assert table["outcome"].tolist() == ["invalid", "invalid", "ok", "ok"]
    assert table["value"].notna().tolist() == [False, False, True, False]
    assert table["value"].iloc[2] == 1.5
    assert table["reason"].iloc[0] == "late packets"
    assert pd.isna(table["reason"].iloc[2])
    assert table["reason"].iloc[3] == snapshot
    assert table["factor.rate"].unique().tolist() == ["10"]
    assert set(table["cell"]) == {"cell10"}
    path = tmp_path / "samples.parquet"
    table.to_parquet(path, index=False)
    pd.testing.assert_frame_equal(pd.read_parquet(path), table)


def test_a_failed_trial_has_no_value_even_if_something_was_measured() -> None:
    failed = MeasuredAttempt(TRIAL, run(outcome=Outcome.FAILED, reason="died"), {"page_load_time": 1.0})
    table = samples_table(STUDY, [failed])
    assert table["value"].isna().all()


def test_a_value_that_is_not_finite_is_not_a_value(snapshot: SnapshotAssertion) -> None:
    attempt = MeasuredAttempt(TRIAL, RUN, {"page_load_time": float("nan"), "client_cpu": 1.0})
    table = samples_table(STUDY, [attempt])
    assert table["value"].isna().tolist() == [True, False]
    assert table["reason"].iloc[0] == snapshot


def test_nothing_ran() -> None:
    table = samples_table(STUDY, [])
    assert len(table) == 0
    assert estimate(table, STUDY) == []


def test_samples_feed_the_statistics() -> None:
    entries = [
        MeasuredAttempt(
            replace(TRIAL, id=f"{arm}{number}", arm=arm, round=number),
            RUN,
            {"page_load_time": time, "client_cpu": 1.0},
        )
        for arm, time in (("tcp", 2.0), ("quic", 1.0))
        for number in range(10)
    ]
    (result,) = estimate(samples_table(STUDY, entries), STUDY)
    assert result.effect_pct == pytest.approx(50)
    assert result.cell == {"rate": "10"}


def test_an_unknown_metric_is_an_error() -> None:
    with pytest.raises(InputError, match="unknown metric 'page_load'"):
        samples_table(replace(STUDY, metrics=("page_load",)), [])


def test_what_rounds_drew_has_a_column_for_each_setting() -> None:
    around = {"network.rtt": "uniform 5%", "network.queue": "uniform 5%", "start_phase": "uniform 100ms"}
    drew = replace(
        TRIAL,
        link=Link((), (Stage("rate", {"rate_bps": 10_000_000, "queue_bytes": 46_120}),)),
        drawn={"network.rtt": "36.42ms", "network.queue": "1.02bdp", "start_phase": "32us"},
        start_phase_ns=32_000,
    )
    times = {"page_load_time": 1.5, "client_cpu": 1.0}
    attempts = [MeasuredAttempt(trial, RUN, times) for trial in (drew, TRIAL)]
    table = samples_table(replace(STUDY, around=around), attempts)
    assert list(table.columns)[-3:] == ["drawn.network.rtt_ms", "drawn.network.queue_bytes", "drawn.start_phase_ms"]
    assert [table[name].dtype for name in list(table.columns)[-3:]] == ["float64"] * 3
    assert table.iloc[0, -3:].tolist() == [36.42, 46_120.0, 0.032]
    assert table.iloc[2, -3:].isna().all()


def test_packets_lost_at_random_have_columns_where_a_path_loses_any() -> None:
    lossy = replace(TRIAL, link=Link((Stage("loss", {"probability": 0.01}),), ()))
    times = {"page_load_time": 1.5, "client_cpu": 1.0}
    attempts = [
        MeasuredAttempt(TRIAL, RUN, times, random_losses=0),
        MeasuredAttempt(lossy, RUN, times, random_losses=4),
        MeasuredAttempt(lossy, RUN, times, random_losses=None),
    ]
    table = samples_table(STUDY, attempts)
    assert table["random_losses"].dtype == "float64"
    assert table["random_losses"].isna().tolist() == [True, True, False, False, True, True]
    assert table["random_losses"].iloc[2] == 4.0
    assert table["loses_at_random"].tolist() == [False, False, True, True, True, True]
    assert not {"random_losses", "loses_at_random"} & {*samples_table(STUDY, attempts[:1]).columns}


@pytest.mark.parametrize(
    ("kind", "at_random"),
    [("loss", True), ("burst_loss", True), ("gilbert_elliott", True), ("corrupt", True), ("loss_index", False)],
)
def test_a_path_loses_at_random_where_a_stage_draws_losses(kind: str, at_random: bool) -> None:
    assert loses_at_random(replace(TRIAL, link=Link((), (Stage("delay"), Stage(kind))))) is at_random
