"""The heatmaps of a run that goes on, by the report's own code, from the trials that have ended."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from longlook.core import Contrast, Study
from longlook.pipeline import SoFar
from longlook.report import (
    CLIFF,
    Grid,
    ReportContent,
    Square,
    contrast_heading,
    effect_labels,
    gradient,
    make_grid,
    measured_squares,
    metric_facts,
    template,
)


@dataclass(frozen=True)
class LiveMap:
    """The heatmap of a contrast as the report's template takes it; `details` of cells are the report's alone."""

    heading: str
    grid: Grid
    squares: Mapping[tuple[str, str], Square]
    baseline: str
    contender: str
    effect_labels: tuple[str, ...]
    details: Mapping[tuple[str, str], object]


def live_maps(study: Study, found: SoFar) -> list[LiveMap]:
    """Return a heatmap for each contrast. A cell without all of its rounds says so in place of its verdict."""
    content = ReportContent(study, found.samples, found.estimates, [], {}, metric_facts(study))
    keys = [tuple(cell.get(factor.name, "") for factor in study.factors) for cell in found.cells]
    return [_map(content, contrast, keys, found.rounds) for contrast in study.contrasts]


def _map(
    content: ReportContent, contrast: Contrast, keys: Sequence[tuple[str, ...]], rounds: Mapping[str, int]
) -> LiveMap:
    grid = make_grid(content, contrast, keys)
    squares = measured_squares(content, grid)
    wanted = content.study.rounds
    for place in grid.in_order():
        done = rounds.get(place.cell_id or "", 0)
        if place.key in keys and done < wanted:
            square = squares[place.row, place.column]
            note = f"{done} rounds, at most {wanted}" if content.study.stopping else f"{done} of {wanted} rounds"
            tip = (*square.tip, f"{note} so far")
            squares[place.row, place.column] = replace(square, mark="", note=note, tip=tip)
    return LiveMap(
        heading=contrast_heading(content, contrast),
        grid=grid,
        squares=squares,
        baseline=content.short_label(contrast.baseline),
        contender=content.short_label(contrast.contender),
        effect_labels=effect_labels(content.estimates_of(contrast), content),
        details={},
    )


def maps_html(maps: Sequence[LiveMap]) -> str:
    """Return the sections of the heatmaps."""
    return template("instruments/runs/maps.html.j2").render(maps=maps, gradient=gradient(), cliff_mark=CLIFF)
