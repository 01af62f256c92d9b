"""Samples: one row per attempt and metric, failed attempts included (`samples.parquet`)."""

import math
from collections.abc import Iterable, Mapping

import pandas as pd

from longlook.analysis.measure import MeasuredAttempt
from longlook.core import Metric, Outcome, Run, Study, Trial, find_metric
from longlook.network import DROPPING_AT_RANDOM
from longlook.study import columns, drawn_number
from longlook.timeline import CORRUPTING_AT_RANDOM

FACTOR_PREFIX = "factor."
"""The prefix of columns that hold the level of a factor: `factor.<name>`."""

UNSEEN = "unseen_pct"
"""The column of integrated losses: by how much a round that was not seen may be larger, in %; null if they are
sampled.
"""

LIKE, APART, APART_TRIALS = "like_arms", "apart", "apart_trials"
"""Columns of integrated losses, for arms with nearly the same programs. LIKE is the same text for all of these; "" for
other arms. APART is the difference of the logarithms of their means if all patterns that no round drew parted
them. APART_TRIALS is the number of trials in the round that such patterns were not met in (`analysis.integrated`).
"""

LOSES_AT_RANDOM = "loses_at_random"
"""The column of whether a path loses packets at random, apart from its queues; only if the path of any trial does."""

RANDOM_LOSSES = "random_losses"
"""The column of packets of a load that such a path lost at random; null if a link's log is missing, and on other paths.

It comes with LOSES_AT_RANDOM.
"""

_RANDOM_STAGES = {*DROPPING_AT_RANDOM, CORRUPTING_AT_RANDOM}

_DTYPES: Mapping[str, str] = {
    "study": "str",
    "cell": "str",  # the cell's id; its levels are in the columns of the factors
    "arm": "str",
    "round": "int64",  # from 0
    "seed": "int64",
    "trial_id": "str",
    "attempt": "int64",  # from 1; earlier ones were rejected by a validity guard
    "metric": "str",
    "value": "float64",  # null unless the outcome is ok and the timeline held what the metric needs
    "unit": "str",
    "outcome": "str",
    "reason": "str",  # why there is no value
}


def samples_table(study: Study, measured: Iterable[MeasuredAttempt]) -> pd.DataFrame:
    """Return every attempt of every trial, one row for each of the study's metrics, in the order of `measured`.

    Values are null unless the attempt went well; a value that is missing or not finite all the same gets a reason. The
    columns are _DTYPES, one for each factor, and LOSES_AT_RANDOM with RANDOM_LOSSES if the path of any trial loses
    packets at random. Each setting that rounds draw has one, too, a number in the unit that its name ends with.
    """
    metrics = [find_metric(name) for name in study.metrics]
    drawn = columns(study.around)
    rows, is_lossy = [], False
    for attempt in measured:
        numbers: dict[str, float | None] = {
            column: drawn_number(attempt.trial, setting) for setting, column in drawn.items()
        }
        at_random = loses_at_random(attempt.trial)
        is_lossy |= at_random
        numbers[RANDOM_LOSSES] = attempt.random_losses if at_random else None
        rows += [{**_row(study, attempt, metric), LOSES_AT_RANDOM: at_random, **numbers} for metric in metrics]
    texts = [FACTOR_PREFIX + factor.name for factor in study.factors]
    losses = {LOSES_AT_RANDOM: "bool", RANDOM_LOSSES: "float64"} if is_lossy else {}
    kinds = {**_DTYPES, **dict.fromkeys(texts, "str"), **losses, **dict.fromkeys(drawn.values(), "float64")}
    return pd.DataFrame(rows, columns=list(kinds)).astype(kinds)


def loses_at_random(trial: Trial) -> bool:
    """Return whether the path of a trial loses packets at random, apart from its queues."""
    return any(stage.kind in _RANDOM_STAGES for link in trial.links.values() for stage in (*link.up, *link.down))


def _row(study: Study, attempt: MeasuredAttempt, metric: Metric) -> dict[str, object]:
    trial, run = attempt.trial, attempt.run
    value, reason = _value(run, metric, attempt.values)
    return {
        "study": study.id,
        "cell": trial.cell_id,
        "arm": trial.arm,
        "round": trial.round,
        "seed": trial.seed,
        "trial_id": trial.id,
        "attempt": run.attempt,
        "metric": metric.name,
        "value": value,
        "unit": metric.unit,
        "outcome": run.outcome.value,
        "reason": reason,
        **{FACTOR_PREFIX + factor.name: trial.cell.get(factor.name) for factor in study.factors},
    }


def _value(run: Run, metric: Metric, values: Mapping[str, float | None]) -> tuple[float | None, str | None]:
    if run.outcome is not Outcome.OK:
        return None, run.reason
    value = values.get(metric.name)
    if value is None:
        return None, f"not measured: no usable {', '.join(map(str, metric.needs))} in the timeline"
    if not math.isfinite(value):
        return None, f"not measured: {metric.name} is {value}"
    return value, run.reason
