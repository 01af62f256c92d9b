"""The factors of a study as columns: the level as it is written, and its number with the unit in the column's name."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from longlook.api.columns import RESERVED, metric_column
from longlook.core import Factor, Scalar, Study, find_metric, units
from longlook.study import cell_id, cells_of, labels_of

PREFIX = "factor."
"""The prefix of columns of levels in the files of a run; here only factors have it whose name another column has."""

UNITS = "units"
"""The key of `DataFrame.attrs` with the unit of numeric columns by name."""

_KINDS: Sequence[tuple[str, str, Callable[[object], float]]] = (
    ("bps", "bit/s", lambda value: float(units.parse_rate(value))),
    ("s", "s", lambda value: units.parse_time(value) / 1e9),
    ("bytes", "B", lambda value: float(units.parse_size(value))),
    ("pct", "%", lambda value: float(units.parse_share(value) * 100)),
)
"""The ending of a column, its unit, and how a level's value becomes a number of it."""


@dataclass(frozen=True)
class FactorColumn:
    """The column of a factor: its name, the factor, and the labels of its levels in the order of the study."""

    name: str
    factor: str
    labels: tuple[str, ...]

    def of(self, labels: Iterable[object]) -> "pd.Series[Any]":
        """Return levels as ordered categories, so that 10Mbit sorts before 100Mbit."""
        return pd.Series(pd.Categorical(list(labels), categories=list(self.labels), ordered=True))


@dataclass(frozen=True)
class NumberColumn:
    """The numbers of a factor's levels, by label: `name` ends with the unit; `unit` is "" of plain numbers."""

    name: str
    factor: str
    unit: str
    numbers: Mapping[str, float]


def factor_columns(study: Study) -> list[FactorColumn]:
    """Return the column of each factor: it has the factor's name, or `factor.NAME` if another column has that."""
    taken = _taken(study)
    return [
        FactorColumn(
            f"{PREFIX}{factor.name}" if factor.name in taken else factor.name,
            factor.name,
            tuple(level.label for level in factor.levels),
        )
        for factor in study.factors
    ]


def number_columns(study: Study) -> list[NumberColumn]:
    """Return the numeric columns of the factors whose levels set a number: rates, times, sizes, shares, plain numbers.

    A factor has one for each setting that all of its levels set to such a number. With one setting the column is
    called FACTOR_UNIT, such as `rate_bps`; with several FACTOR_SETTING_UNIT. Levels such as `1bdp` or `off` are no
    numbers, and a factor with one of these has no such column.
    """
    names = {*_taken(study), *(factor.name for factor in study.factors)}
    found: list[NumberColumn] = []
    for factor in study.factors:
        own = {key: made for key in _common_keys(factor) if (made := _numbers(factor, key)) is not None}
        for key, (ending, unit, numbers) in own.items():
            about = "" if len(own) == 1 else f"_{key.rpartition('.')[2]}"
            name = f"{factor.name}{about}_{ending}"
            name = f"{PREFIX}{name}" if name in names else name
            names.add(name)
            found.append(NumberColumn(name, factor.name, unit, numbers))
    return found


def _taken(study: Study) -> set[str]:
    """Return the names that any table may have for other columns than factors."""
    return {*RESERVED} | {metric_column(name, find_metric(name).unit) for name in study.metrics}


def _common_keys(factor: Factor) -> list[str]:
    first, *others = factor.levels
    return [key for key in first.sets if all(key in level.sets for level in others)]


def _numbers(factor: Factor, key: str) -> tuple[str, str, dict[str, float]] | None:
    values = {level.label: level.sets[key] for level in factor.levels}
    if all(_is_number(value) for value in values.values()):
        return "number", "", {label: float(value) for label, value in values.items()}
    for ending, unit, parse in _KINDS:
        try:
            return ending, unit, {label: parse(value) for label, value in values.items()}
        except units.UnitError:
            continue
    return None


def _is_number(value: Scalar) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def with_levels(table: pd.DataFrame, study: Study, labels: Mapping[str, Sequence[object]], at: int) -> pd.DataFrame:
    """Return a table with the columns of all factors inserted at a position: the levels, then their numbers.

    `labels` are the labels of each row by factor; a label that the study does not have becomes a missing value. The
    table's `attrs` get the units of the numbers, by column.
    """
    for column in factor_columns(study):
        table.insert(at, column.name, column.of(labels[column.factor]))
        at += 1
    for number in number_columns(study):
        numbers = [number.numbers.get(str(label), np.nan) for label in labels[number.factor]]
        table.insert(at, number.name, np.array(numbers, np.float64))
        table.attrs[UNITS] = {**table.attrs.get(UNITS, {}), number.name: number.unit}
        at += 1
    return table


def cells_table(study: Study, trials: Mapping[str, int]) -> pd.DataFrame:
    """Return the cells of a study that `trials` has, with their numbers of trials, in the order of the study."""
    cells = [(cell_id(labels), labels) for labels in map(labels_of, cells_of(study))]
    chosen = [(name, labels) for name, labels in cells if name in trials]
    table = pd.DataFrame({"cell": pd.Series([name for name, _ in chosen], dtype="str")})
    table["trials"] = np.array([trials[name] for name, _ in chosen], np.int64)
    labels = {factor.name: [own[factor.name] for _, own in chosen] for factor in study.factors}
    return with_levels(table, study, labels, 1)
