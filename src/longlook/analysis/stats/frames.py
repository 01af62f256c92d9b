"""Estimates as tables (`estimates.parquet`, `dependences.parquet`) and back."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, replace
from typing import Any

import pandas as pd

from longlook.analysis.samples import FACTOR_PREFIX
from longlook.core import Dependence, Estimate, Shape, Verdict

_COUNTS = tuple(item.name for item in fields(Estimate) if item.name.startswith("n_"))
_TEXTS = ("contrast", "metric", "unit", "cell", "baseline", "contender", "verdict", "reason", "outcomes")
_BESIDE = ("cell", "dependences")  # the first has columns of its own, the second a table
_NAMES = ["cell" if item.name == "cell_id" else item.name for item in fields(Estimate) if item.name not in _BESIDE]
_OWNER = ("contrast", "metric", "cell")
_DEPENDENCE: Mapping[str, str] = {
    **dict.fromkeys(_OWNER, "str"),
    **{item.name: "float64" for item in fields(Dependence)},
    "setting": "str",
    "shape": "str",
    "n": "int64",
    "is_cliff": "bool",
}


def estimates_table(estimates: Sequence[Estimate]) -> pd.DataFrame:
    """Return one row per estimate: its fields, the cell's id as `cell`, `outcomes` as JSON, and `factor.<name>`
    columns. `dependences_table` has the settings that it depends on.
    """
    factors = list(dict.fromkeys(FACTOR_PREFIX + name for item in estimates for name in item.cell))
    table = pd.DataFrame([_row(item) for item in estimates], columns=[*_NAMES, *factors])
    kinds = {name: "str" if name in _TEXTS else "int64" if name in _COUNTS else "float64" for name in _NAMES}
    return table.astype({**kinds, **dict.fromkeys(factors, "str")})


def dependences_table(estimates: Sequence[Estimate]) -> pd.DataFrame:
    """Return one row per estimate and setting that its rounds drew: contrast, metric and cell, then its fields."""
    rows = [
        {"contrast": item.contrast, "metric": item.metric, "cell": item.cell_id, **asdict(found)}
        for item in estimates
        for found in item.dependences
    ]
    return pd.DataFrame(rows, columns=list(_DEPENDENCE)).astype(dict(_DEPENDENCE))


def estimates_from_table(table: pd.DataFrame, dependences: pd.DataFrame | None = None) -> list[Estimate]:
    """Return the estimates that `estimates_table` and `dependences_table` wrote; without the latter none depends on
    anything.
    """
    found: dict[tuple[str, ...], list[Dependence]] = {}
    for row in [] if dependences is None else dependences.to_dict("records"):
        found.setdefault(tuple(str(row[name]) for name in _OWNER), []).append(_dependence(row))
    estimates = [_estimate({str(key): value for key, value in row.items()}) for row in table.to_dict("records")]
    return [
        replace(item, dependences=tuple(found.get((item.contrast, item.metric, item.cell_id), ())))
        for item in estimates
    ]


def _dependence(row: Mapping[Any, Any]) -> Dependence:
    values: dict[str, Any] = {
        item.name: None if pd.isna(row[item.name]) else row[item.name] for item in fields(Dependence)
    }
    return Dependence(**{**values, "shape": Shape(row["shape"])})


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
