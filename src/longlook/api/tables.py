"""The tables of a run as data frames of this package: one name a column, a column for each metric, levels in order."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from longlook.analysis import FACTOR_PREFIX
from longlook.api.columns import ESTIMATES, metric_column
from longlook.api.factors import UNITS, with_levels
from longlook.core import Claim, ClaimResult, Estimate, InputError, Metric, Outcome, Study, find_metric, nearest
from longlook.report import ordered, wording
from longlook.study import COLUMN_PREFIX, cell_id

_KEY = ("cell", "arm", "round")
_LAST = ("seed", "trial_id", "attempt")
_LOSSES = "random_losses"


def metric_columns(study: Study, names: Iterable[str] | None = None) -> dict[str, Metric]:
    """Return metrics of a study by the names of their columns; InputError for a metric that it does not measure."""
    chosen = list(study.metrics if names is None else names)
    for name in chosen:
        if name not in study.metrics:
            known = list(study.metrics)
            raise InputError(
                f"study {study.id} measures no {name!r}{nearest(name, known)}", f"it has {', '.join(known)}"
            )
    metrics = {name: find_metric(name) for name in chosen}
    return {metric_column(name, metric.unit): metric for name, metric in metrics.items()}


def last_attempts(samples: pd.DataFrame) -> tuple[pd.DataFrame, np.ndarray[Any, np.dtype[np.int64]]]:
    """Return the rows of samples that count, the last attempt of each trial, and the number of the trial of each row.

    A trial is a cell, arm and round; trials are numbered in the order in which they come.
    """
    trial = samples.groupby(list(_KEY), sort=False, observed=True).ngroup().to_numpy(np.int64)
    attempt = samples["attempt"].to_numpy(np.int64)
    last = np.zeros(int(trial.max(initial=-1)) + 1, np.int64)
    np.maximum.at(last, trial, attempt)
    counts = attempt == last[trial]
    return samples[counts], trial[counts]


def wide(samples: pd.DataFrame, study: Study, names: Iterable[str] | None = None) -> pd.DataFrame:
    """Return the samples of a run with one row a trial and one column a metric (`columns.SAMPLES`).

    `samples` has the rows of samples.parquet. InputError if a trial has two values of one metric.
    """
    metrics = metric_columns(study, names)
    rows, trial = last_attempts(samples)
    count = int(trial.max(initial=-1)) + 1
    first = np.full(count, -1, np.int64)
    first[trial[::-1]] = np.arange(len(rows), dtype=np.int64)[::-1]  # the first row of each trial is written last
    one = rows.iloc[first].reset_index(drop=True)
    table = pd.DataFrame({"study": one["study"], "cell": one["cell"]})
    table["arm"] = _arms(one["arm"], study)
    table["round"] = one["round"] + 1
    metric, value = rows["metric"].to_numpy(object), rows["value"].to_numpy(np.float64)
    for column, each in metrics.items():
        own = metric == each.name
        if len(np.unique(trial[own])) != own.sum():
            raise InputError(
                f"samples have two values of {each.name} in one trial", "longlook report RUN makes them again"
            )
        found = np.full(count, np.nan)
        found[trial[own]] = value[own]
        table[column] = found
    table["outcome"], table["reason"] = _outcomes(rows, trial, one)
    drawn = [str(name) for name in samples.columns if str(name).startswith(COLUMN_PREFIX) or name == _LOSSES]
    table = pd.concat([table, one[[*drawn, *_LAST]]], axis=1)
    table = _levelled(table, one, study, 4)
    table.attrs[UNITS] = {**table.attrs.get(UNITS, {}), **{column: each.unit for column, each in metrics.items()}}
    return table


def long(samples: pd.DataFrame, study: Study) -> pd.DataFrame:
    """Return the samples of a run with one row a trial and metric, the last attempt of each (`columns.LONG`)."""
    rows, _ = last_attempts(samples)
    rows = rows.reset_index(drop=True)
    table = rows[["study", "cell", "arm", "round", "metric", "value", "unit", "outcome", "reason", *_LAST]].copy()
    table["arm"] = _arms(rows["arm"], study)
    table["round"] += 1
    return _levelled(table, rows, study, 4)


def _outcomes(
    rows: pd.DataFrame, trial: np.ndarray[Any, np.dtype[np.int64]], one: pd.DataFrame
) -> tuple[pd.Series, pd.Series]:
    """Return the outcome of each trial, and in a text why it has no value, or lacks some."""
    outcome, reason = np.array(one["outcome"].tolist(), object), np.full(len(one), None, object)
    said = rows["reason"].notna().to_numpy() | (rows["outcome"] != str(Outcome.OK)).to_numpy()
    reasons: dict[int, dict[str, None]] = {}
    found = rows[said]
    for number, ended, why in zip(trial[said], found["outcome"], found["reason"], strict=True):
        if ended != str(Outcome.OK):
            outcome[number] = ended
        if pd.notna(why):
            reasons.setdefault(int(number), {})[str(why)] = None
    for number, texts in reasons.items():
        reason[number] = "; ".join(texts)
    return pd.Series(outcome, dtype="str"), pd.Series(reason, dtype="str")


def _arms(arms: Iterable[object], study: Study) -> pd.Categorical:
    return pd.Categorical(list(arms), categories=[arm.name for arm in study.arms])


def _levelled(table: pd.DataFrame, rows: pd.DataFrame, study: Study, at: int) -> pd.DataFrame:
    """Return a table with the columns of factors, from the columns of files; a factor that a row lacks is missing."""
    labels: dict[str, Sequence[object]] = {
        factor.name: rows[f"{FACTOR_PREFIX}{factor.name}"].tolist()
        if f"{FACTOR_PREFIX}{factor.name}" in rows
        else [None] * len(rows)
        for factor in study.factors
    }
    return with_levels(table, study, labels, at)


def estimates_frame(table: pd.DataFrame, study: Study) -> pd.DataFrame:
    """Return `estimates.parquet` with the columns of factors in the place of the file's (`columns.ESTIMATES`)."""
    own = table[[name for name in table.columns if not str(name).startswith(FACTOR_PREFIX)]].copy()
    first = [name for name in ESTIMATES if name in own.columns]
    own = own[[*first, *(name for name in own.columns if name not in first)]]
    return _levelled(own, table, study, 3)


def verdicts_frame(estimates: Sequence[Estimate], study: Study) -> pd.DataFrame:
    """Return the verdicts in words, in the order of the study (`columns.VERDICTS`)."""
    items = ordered(study, estimates)
    texts: dict[str, list[str]] = {
        "contrast": [item.contrast for item in items],
        "metric": [item.metric for item in items],
        "cell": [item.cell_id for item in items],
        "baseline": [item.baseline for item in items],
        "contender": [item.contender for item in items],
        "verdict": [str(item.verdict) for item in items],
        "effect": [_plain(wording.effect_of(item)) for item in items],
        "interval": [_plain(wording.interval_in_unit(item)) for item in items],
        "baseline_level": [_plain(wording.quantity(item.levels[0], item.unit)) for item in items],
        "contender_level": [_plain(wording.quantity(item.levels[1], item.unit)) for item in items],
    }
    table = pd.DataFrame({name: pd.Series(values, dtype="str") for name, values in texts.items()})
    table["p_adjusted"] = pd.Series([item.p_adjusted for item in items], dtype="float64")
    table["rounds"] = pd.Series([item.n_pairs for item in items], dtype="int64")
    table["reason"] = pd.Series([item.reason for item in items], dtype="str")
    labels = {factor.name: [item.cell.get(factor.name) for item in items] for factor in study.factors}
    return with_levels(table, study, labels, 3)


def claims_frame(claims: Sequence[ClaimResult], study: Study) -> pd.DataFrame:
    """Return published claims beside what was found (`columns.CLAIMS`)."""

    def text(values: Iterable[str | None]) -> pd.Series:
        return pd.Series([None if each is None else _plain(each) for each in values], dtype="str")

    def number(values: Iterable[float | None]) -> pd.Series:
        return pd.Series(list(values), dtype="float64")

    table = pd.DataFrame(
        {
            "claim": text(item.claim.id for item in claims),
            "source": text(item.claim.source for item in claims),
            "contrast": text(item.claim.contrast for item in claims),
            "cell": text(_cell_of(item.claim, study) for item in claims),
            "published": text(wording.published(item.claim) for item in claims),
            "ours": text(wording.effect_of(i.estimate) if i.estimate else wording.level(i.level) for i in claims),
            "interval": text(
                wording.interval_in_unit(item.estimate) if item.estimate else wording.level_interval(item.level)
                for item in claims
            ),
            "result": text(str(item.result) for item in claims),
            "published_pct": number(item.claim.effect_pct for item in claims),
            "ours_pct": number(None if item.estimate is None else item.estimate.effect_pct for item in claims),
            "reason": text(item.reason for item in claims),
        }
    )
    labels = {factor.name: [item.claim.cell.get(factor.name) for item in claims] for factor in study.factors}
    return with_levels(table, study, labels, 4)


def _cell_of(claim: Claim, study: Study) -> str | None:
    """Return the id of the cell that a claim is about; None of a claim about a part of the factors."""
    names = [factor.name for factor in study.factors]
    return cell_id({name: claim.cell[name] for name in names}) if claim.cell.keys() >= set(names) else None


def _plain(text: str) -> str:
    return text.replace(wording.NBSP, " ")
