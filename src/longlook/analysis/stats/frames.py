"""Estimates as a table (`estimates.parquet`) and back."""

import json
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import pandas as pd

from longlook.analysis.samples import FACTOR_PREFIX
from longlook.core.model import Estimate, Verdict

_COUNTS = tuple(item.name for item in fields(Estimate) if item.name.startswith("n_"))
_TEXTS = ("contrast", "metric", "unit", "cell", "baseline", "contender", "verdict", "reason", "outcomes")
_NAMES = ["cell" if item.name == "cell_id" else item.name for item in fields(Estimate) if item.name != "cell"]


def estimates_table(estimates: Sequence[Estimate]) -> pd.DataFrame:
    """Return one row per estimate: its fields, the cell's id as `cell`, `outcomes` as JSON, and `factor.<name>`
    columns.
    """
    factors = list(dict.fromkeys(FACTOR_PREFIX + name for item in estimates for name in item.cell))
    table = pd.DataFrame([_row(item) for item in estimates], columns=[*_NAMES, *factors])
    kinds = {name: "str" if name in _TEXTS else "int64" if name in _COUNTS else "float64" for name in _NAMES}
    return table.astype({**kinds, **dict.fromkeys(factors, "str")})


def estimates_from_table(table: pd.DataFrame) -> list[Estimate]:
    """Return the estimates that `estimates_table` wrote."""
    return [_estimate({str(key): value for key, value in row.items()}) for row in table.to_dict("records")]


def _row(item: Estimate) -> dict[str, Any]:
    row = {name: getattr(item, "cell_id" if name == "cell" else name) for name in _NAMES}
    row |= {"verdict": item.verdict.value, "outcomes": json.dumps(dict(item.outcomes), sort_keys=True)}
    return row | {FACTOR_PREFIX + name: level for name, level in item.cell.items()}


def _estimate(row: dict[str, Any]) -> Estimate:
    # A table of an older Longlook lacks the columns that have a default.
    values: dict[str, Any] = {name: None if pd.isna(row[name]) else row[name] for name in _NAMES if name in row}
    values["cell_id"] = values["cell"]
    values["cell"] = {
        name.removeprefix(FACTOR_PREFIX): level
        for name, level in row.items()
        if name.startswith(FACTOR_PREFIX) and not pd.isna(level)
    }
    values |= {"verdict": Verdict(values["verdict"]), "outcomes": json.loads(values["outcomes"])}
    return Estimate(**values)
