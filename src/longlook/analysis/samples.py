"""Samples: one row per attempt and metric, failed attempts included (`samples.parquet`)."""

import math
from collections.abc import Iterable, Mapping

import pandas as pd

from longlook.core import Metric, Outcome, Run, Study, Trial, find_metric
from longlook.study import columns, drawn_number

FACTOR_PREFIX = "factor."
"""The prefix of columns that hold the level of a factor: `factor.<name>`."""

UNSEEN = "unseen_pct"
"""The column of integrated losses: by how much a round that was not seen may be larger, in %; null if they are
sampled.
"""

RANDOM_LOSSES = "random_losses"
"""The column of packets that the link lost at random in an attempt; null if its path loses none."""

_COUNTED_LOSSES = ("loss", "gilbert_elliott", "burst_loss")
_RANDOM_LOSSES = {*_COUNTED_LOSSES, "corrupt"}
"""Kinds of stages. A corrupted packet is lost to its receiver, but the link has no counter of such packets."""

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


def samples_table(study: Study, entries: Iterable[tuple[Trial, Run, Mapping[str, float | None]]]) -> pd.DataFrame:
    """Return every attempt of every trial, one row for each of the study's metrics, in the order of `entries`.

    `entries` are (trial, run of one attempt, values by metric). Values are null unless the attempt went well; a value
    that is missing or not finite all the same gets a reason. The columns are _DTYPES, one for each factor, and
    RANDOM_LOSSES if the path of any trial loses packets at random. Each setting that rounds draw has one, too, a number
    in the unit that its name ends with.
    """
    metrics = [find_metric(name) for name in study.metrics]
    drawn = columns(study.around)
    rows, is_lossy = [], False
    for trial, run, values in entries:
        numbers = {column: drawn_number(trial, setting) for setting, column in drawn.items()}
        if loses_at_random(trial):
            numbers[RANDOM_LOSSES], is_lossy = random_losses(run), True
        rows += [{**_row(study, trial, run, metric, values), **numbers} for metric in metrics]
    factors = [FACTOR_PREFIX + factor.name for factor in study.factors]
    numeric = [*([RANDOM_LOSSES] if is_lossy else []), *drawn.values()]
    table = pd.DataFrame(rows, columns=[*_DTYPES, *factors, *numeric])
    return table.astype({**_DTYPES, **dict.fromkeys(factors, "str"), **dict.fromkeys(numeric, "float64")})


def loses_at_random(trial: Trial) -> bool:
    """Return whether the path of a trial loses packets at random, apart from its queues."""
    return any(stage.kind in _RANDOM_LOSSES for link in trial.links.values() for stage in (*link.up, *link.down))


def random_losses(run: Run) -> float | None:
    """Return how many packets the link lost at random in both directions; None if it left no counters.

    Packets that a queue dropped, or a rule of the path, are none of them.
    """
    if not run.link:
        return None
    names = [f"dropped_{kind}" for kind in _COUNTED_LOSSES]
    return float(sum(counters.get(name, 0) for counters in run.link.values() for name in names))


def _row(study: Study, trial: Trial, run: Run, metric: Metric, values: Mapping[str, float | None]) -> dict[str, object]:
    value, reason = _value(run, metric, values)
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
