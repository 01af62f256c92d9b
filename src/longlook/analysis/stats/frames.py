"""Estimates as tables (`estimates.parquet`, `dependences.parquet`) and back."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, replace
from typing import Any, TypeVar

import pandas as pd

from longlook.analysis.samples import FACTOR_PREFIX
from longlook.core import Dependence, Effect, Ends, Estimate, Shape, Verdict

T = TypeVar("T", Effect, Ends)

_COUNTS = tuple(item.name for item in fields(Estimate) if item.name.startswith("n_"))
_TEXTS = ("contrast", "metric", "unit", "cell", "baseline", "contender", "verdict", "reason", "outcomes")
_BESIDE = ("cell", "dependences", "difference")  # the first and last have columns of their own, the second a table
_NAMES = ["cell" if item.name == "cell_id" else item.name for item in fields(Estimate) if item.name not in _BESIDE]
_DIFFERENCE = {f"difference_{item.name}": "str" if item.name == "unit" else "float64" for item in fields(Effect)}
_ENDS = {f"difference_{item.name}": "str" if item.name == "unit" else "float64" for item in fields(Ends)}
_OWNER = ("contrast", "metric", "cell")
_DEPENDENCE: Mapping[str, str] = {
    **dict.fromkeys(_OWNER, "str"),
    **{item.name: "float64" for item in fields(Dependence) if item.name != "difference"},
    **_ENDS,
    "setting": "str",
    "shape": "str",
    "n": "int64",
    "is_cliff": "bool",
}


def estimates_table(estimates: Sequence[Estimate]) -> pd.DataFrame:
    """Return one row per estimate: its fields, the cell's id as `cell`, `outcomes` as JSON, and `factor.<name>`
    and `difference_<name>` columns. `dependences_table` has the settings that it depends on.
    """
    factors = list(dict.fromkeys(FACTOR_PREFIX + name for item in estimates for name in item.cell))
    kinds = {name: "str" if name in _TEXTS else "int64" if name in _COUNTS else "float64" for name in _NAMES}
    kinds |= {**_DIFFERENCE, **dict.fromkeys(factors, "str")}
    return pd.DataFrame([_row(item) for item in estimates], columns=list(kinds)).astype(kinds)


def dependences_table(estimates: Sequence[Estimate]) -> pd.DataFrame:
    """Return one row per estimate and setting that its rounds drew: contrast, metric and cell, then its fields."""
    rows = [
        {"contrast": item.contrast, "metric": item.metric, "cell": item.cell_id, **asdict(found)}
        | columns_of(found.difference, Ends)
        for item in estimates
        for found in item.dependences
    ]
    return pd.DataFrame(rows, columns=list(_DEPENDENCE)).astype(dict(_DEPENDENCE))


def columns_of(difference: Effect | Ends | None, kind: type[Effect | Ends]) -> dict[str, Any]:
    """Return a difference as columns `difference_<name>`, which are empty without one."""
    return {f"difference_{item.name}": getattr(difference, item.name, None) for item in fields(kind)}


def _difference(row: Mapping[Any, Any], kind: type[T]) -> T | None:
    """Return the difference of a row; None without one, as in a table of an older Longlook."""
    names = {name: f"difference_{name}" for name in (item.name for item in fields(kind))}
    if pd.isna(row.get("difference_unit")):
        return None
    values: dict[str, Any] = {name: None if pd.isna(row[column]) else row[column] for name, column in names.items()}
    return kind(**values)


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
        item.name: None if pd.isna(row[item.name]) else row[item.name]
        for item in fields(Dependence)
        if item.name != "difference"
    }
    return Dependence(**{**values, "shape": Shape(row["shape"]), "difference": _difference(row, Ends)})


def _row(item: Estimate) -> dict[str, Any]:
    row = {name: getattr(item, "cell_id" if name == "cell" else name) for name in _NAMES}
    row |= {"verdict": item.verdict.value, "outcomes": json.dumps(dict(item.outcomes), sort_keys=True)}
    row |= columns_of(item.difference, Effect)
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
    values["difference"] = _difference(row, Effect)
    return Estimate(**values)
