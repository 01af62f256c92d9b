"""Contrasts over the same few cells, drawn as one heatmap: a row for each contrast, a column for each cell."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from longlook.report import wording
from longlook.report.charts.colours import gradient
from longlook.report.content import ReportContent
from longlook.report.contrasts.cells import CellDetail
from longlook.report.contrasts.heatmap import heatmap, scale_legend
from longlook.report.contrasts.section import ContrastSection
from longlook.report.contrasts.squares import Square
from longlook.report.layout import SEPARATOR, Grid, Place, cell_label
from longlook.report.section import Section, slug

FEWEST_CONTRASTS = 3
MOST_CELLS = 8
"""More columns do not fit beside each other, and their contrasts are heatmaps worth a section each."""


@dataclass(frozen=True)
class TogetherSection(Section):
    """Several contrasts on one metric; `squares` and `details` are from the contrasts' own sections.

    `baseline` and `contender` are the labels of the arms that all of them share, or just these words.
    """

    template: ClassVar[str] = "contrasts/together.html.j2"

    heading: str
    file_name: str
    baseline: str
    contender: str
    contrasts: Sequence[ContrastSection]
    grid: Grid
    squares: Mapping[tuple[str, str], Square]
    details: Mapping[tuple[str, str], CellDetail]

    @property
    def cliffs(self) -> int:
        """The number of squares that stand on a cliff."""
        return sum(bool(square.cliff) for square in self.squares.values())

    @property
    def effect_labels(self) -> tuple[str, ...]:
        """The labels of the palette, which all contrasts on one metric share."""
        return self.contrasts[0].effect_labels

    def context(self) -> Mapping[str, Any]:
        """Return the section with what the legend shows."""
        return {"section": self, "gradient": gradient(), "cliff_mark": wording.CLIFF, "cliffs": self.cliffs}

    def figures(self) -> Mapping[str, Any]:
        """Return the heatmap."""
        legend = scale_legend(f"▼ blue: {self.baseline} better · ▲ red: {self.contender} better", self.effect_labels)
        notes = ["Below each effect its interval.", "White: ≈ equivalent, ? inconclusive."]
        return {f"heatmap-{self.file_name}": heatmap(self.grid, self.squares, self.heading, notes, legend)}


def make_together(content: ReportContent, contrasts: Sequence[ContrastSection]) -> list[TogetherSection]:
    """Return a section for each metric that three or more contrasts compare in at most eight cells.

    Contrasts of a family are left out: its matrix has them all.
    """
    groups: dict[str, list[ContrastSection]] = {}
    for each in contrasts:
        if not each.contrast.family:
            groups.setdefault(each.contrast.metric, []).append(each)
    small = [group for group in groups.values() if _is_small(group)]
    taken: set[str] = set()
    return [_make(content, group, number, taken) for number, group in enumerate(small, start=1)]


def _is_small(group: Sequence[ContrastSection]) -> bool:
    cells = len(group[0].details)
    return len(group) >= FEWEST_CONTRASTS and 1 <= cells <= MOST_CELLS


def _make(content: ReportContent, group: Sequence[ContrastSection], number: int, taken: set[str]) -> TogetherSection:
    metric = content.facts(group[0].contrast.metric).label
    rows = _row_labels(group)
    measured = [detail.place for detail in group[0].details.values()]
    columns = {place.key: cell_label(place.cell) for place in measured}
    places: dict[tuple[str, str], Place] = {}
    squares: dict[tuple[str, str], Square] = {}
    details: dict[tuple[str, str], CellDetail] = {}
    for row, section in zip(rows, group, strict=True):
        for at, place in section.grid.places.items():
            if place.key not in columns:
                continue
            here = (row, columns[place.key])
            places[here] = replace(place, row=row, column=here[1])
            squares[here] = replace(section.squares[at], row=row, column=here[1])
            if at in section.details:
                details[here] = section.details[at]
    factors = SEPARATOR.join(factor.name for factor in content.study.factors)
    return TogetherSection(
        anchor=f"together{number}",
        title="Together",
        heading=f"All contrasts: {wording.inner(metric)}",
        file_name=f"together-{slug(metric, taken)}",
        baseline=_shared([section.baseline for section in group], "baseline"),
        contender=_shared([section.contender for section in group], "contender"),
        contrasts=group,
        grid=Grid(factors, "contrast", tuple(columns.values()), tuple(rows), places, 0),
        squares=squares,
        details=details,
    )


def _row_labels(group: Sequence[ContrastSection]) -> list[str]:
    """Return the contenders if the baseline is the same, else both arms; the contrast's name if two are alike."""
    one_baseline = len({section.contrast.baseline for section in group}) == 1
    labels = [
        section.contender if one_baseline else f"{section.contender} against {section.baseline}" for section in group
    ]
    return [
        label if labels.count(label) == 1 else section.contrast.name
        for label, section in zip(labels, group, strict=True)
    ]


def _shared(labels: Sequence[str], otherwise: str) -> str:
    return labels[0] if len(set(labels)) == 1 else otherwise
