"""The place of each cell: rows and columns of a heatmap in the order of the study's factors and levels."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import pandas as pd

from longlook.core import Contrast, Estimate, Factor, Study
from longlook.report.content import ReportContent, printable

CellKey = tuple[str, ...]
"""Level labels in the order of the study's factors."""

SEPARATOR = " · "

MOST_MAPPED = 1000
"""The squares up to which a heatmap has tips, and a figure of its own."""


@dataclass(frozen=True)
class Place:
    """A square of the heatmap. `state` is `estimated`, `no estimate` (it ran), `excluded` (by design) or `not run`."""

    key: CellKey
    cell: Mapping[str, str]
    cell_id: str | None
    row: str
    column: str
    state: str
    estimate: Estimate | None


@dataclass(frozen=True)
class Grid:
    """The squares of one contrast, row by row. `omitted` counts cells of rows and columns in which nothing ran."""

    column_title: str
    row_title: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    places: Mapping[tuple[str, str], Place]
    omitted: int

    @property
    def is_large(self) -> bool:
        """Whether it has too many squares for tips, and for a figure of its own."""
        return len(self.rows) * len(self.columns) > MOST_MAPPED

    def in_order(self) -> list[Place]:
        """Return every square in reading order."""
        return [self.places[row, column] for row in self.rows for column in self.columns]

    def anchored(self, prefix: str) -> list[tuple[str, Place]]:
        """Return every square that was measured, in reading order, with the anchor of its details on the page."""
        numbered = enumerate(self.in_order(), start=1)
        return [(f"{prefix}-{number}", place) for number, place in numbered if place.cell_id is not None]


def key_of(study: Study, cell: Mapping[str, str]) -> CellKey:
    """Return a cell's levels in the order of the study's factors; a factor it does not name counts as empty."""
    return tuple(cell.get(factor.name, "") for factor in study.factors)


def ordered(study: Study, estimates: Iterable[Estimate]) -> list[Estimate]:
    """Return estimates by contrast, then metric, then cell, all in the order of the study."""
    contrasts = {contrast.name: index for index, contrast in enumerate(study.contrasts)}
    metrics = {name: index for index, name in enumerate(study.metrics)}
    levels = [{level.label: index for index, level in enumerate(factor.levels)} for factor in study.factors]

    def rank(item: Estimate) -> tuple[int, int, tuple[int, ...]]:
        key = key_of(study, item.cell)
        place = tuple(order.get(label, len(order)) for order, label in zip(levels, key, strict=True))
        return contrasts.get(item.contrast, len(contrasts)), metrics.get(item.metric, len(metrics)), place

    return sorted(estimates, key=rank)


def make_grid(content: ReportContent, contrast: Contrast | None, also: Collection[CellKey] = ()) -> Grid:
    """Return the heatmap of a contrast, of a scenario without estimates. Factors that the study's figure does not place
    become further row factors.

    Rows and columns in which nothing ran are left out, except for the cells in `also`.
    """
    study = content.study
    column_factors, row_factors = _axes(study)
    estimates = {key_of(study, item.cell): item for item in (content.estimates_of(contrast) if contrast else ())}
    sampled = sampled_cells(content)
    squares: dict[tuple[str, str], Place] = {}
    for combination in product(*(factor.levels for factor in study.factors)):
        cell = {factor.name: level.label for factor, level in zip(study.factors, combination, strict=True)}
        key = key_of(study, cell)
        row, column = _label(row_factors, cell), _label(column_factors, cell)
        estimate = estimates.get(key)
        cell_id = estimate.cell_id if estimate else sampled.get(key)
        state = _state(study, cell, estimate, cell_id)
        squares[row, column] = Place(key, cell, cell_id, row, column, state, estimate)
    ran = {
        position
        for position, place in squares.items()
        if place.state in ("estimated", "no estimate") or place.key in also
    }
    keep = ran or set(squares)
    rows = tuple(label for label in _labels(row_factors) if any(row == label for row, _ in keep))
    columns = tuple(label for label in _labels(column_factors) if any(column == label for _, column in keep))
    return Grid(
        column_title=SEPARATOR.join(factor.name for factor in column_factors),
        row_title=SEPARATOR.join(factor.name for factor in row_factors),
        columns=columns,
        rows=rows,
        places=squares,
        omitted=sum(
            place.state == "not run" and (row not in rows or column not in columns)
            for (row, column), place in squares.items()
        ),
    )


def sampled_cells(content: ReportContent) -> dict[CellKey, str]:
    """Return the cells that have at least one sample, with their identifier."""
    factors = [factor.name for factor in content.study.factors]
    columns = [f"factor.{name}" for name in factors]
    if content.samples.empty or any(column not in content.samples for column in columns):
        return {}
    distinct: pd.DataFrame = content.samples[["cell", *columns]].drop_duplicates()
    return {tuple(str(label) for label in row[1:]): str(row[0]) for row in distinct.itertuples(index=False, name=None)}


def cell_label(cell: Mapping[str, str]) -> str:
    """Return the levels of a cell as text: `10Mbit · 5KB`."""
    return SEPARATOR.join(cell.values()) or "all"


def abbreviated(labels: Sequence[str], part_characters: int) -> dict[str, str]:
    """Return labels that fit beside a figure, unique: parts with more characters lose their middle."""
    short: dict[str, str] = {}
    for label in labels:
        text = SEPARATOR.join(_without_middle(printable(part), part_characters) for part in label.split(SEPARATOR))
        again = sum(other == text or other.startswith(f"{text} (") for other in short.values())
        short[label] = f"{text} ({again + 1})" if again else text
    return short


def _without_middle(text: str, characters: int) -> str:
    if len(text) <= characters:
        return text
    head = characters * 2 // 3
    return f"{text[:head].rstrip()}…{text[len(text) - (characters - head - 1) :].lstrip()}"


def _axes(study: Study) -> tuple[list[Factor], list[Factor]]:
    by_name = {factor.name: factor for factor in study.factors}
    columns = [by_name[study.figure.columns]] if study.figure.columns in by_name else []
    rows = [by_name[name] for name in study.figure.rows if name in by_name]
    unplaced = [factor for factor in study.factors if factor not in columns and factor not in rows]
    return columns, rows + unplaced


def _labels(factors: list[Factor]) -> list[str]:
    return [
        SEPARATOR.join(level.label for level in levels) or "all"
        for levels in product(*(factor.levels for factor in factors))
    ]


def _label(factors: list[Factor], cell: Mapping[str, str]) -> str:
    return SEPARATOR.join(cell[factor.name] for factor in factors) or "all"


def _state(study: Study, cell: Mapping[str, str], estimate: Estimate | None, cell_id: str | None) -> str:
    if estimate is not None:
        return "estimated"
    if cell_id is not None:
        return "no estimate"
    excluded = any(all(cell.get(name) in labels for name, labels in rule.items()) for rule in study.exclude if rule)
    return "excluded" if excluded else "not run"
