"""Every arm against every level of a factor as a matrix of medians, coloured by how far from fair they are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from longlook.core import MATRIX, ArmLevel
from longlook.report import wording
from longlook.report.charts import colours
from longlook.report.charts.colours import gradient
from longlook.report.content import ReportContent
from longlook.report.contrasts.heatmap import heatmap, scale_legend
from longlook.report.contrasts.squares import STATE_NOTES, Square
from longlook.report.flows.shares import LIMITS, Fairness, levels_of
from longlook.report.layout import Grid, Place, make_grid
from longlook.report.section import Section, slug

_ENDS = ("blue: less than fair", "red: more than fair")
_PLAIN_STOPS = ("#ffffff", "#8fb5ad")
"""The colours of the least and the greatest value if there is no fair value."""
_RAMP = "The darker, the greater."


@dataclass(frozen=True)
class Lead:
    """The place on the page to which a square of a matrix leads."""

    anchor: str

    @property
    def address(self) -> str:
        """Return its address on the page."""
        return f"#{self.anchor}"


@dataclass(frozen=True)
class Medians:
    """One matrix: the levels of the figure's other factors in `title`, its squares for the page and for export."""

    name: str
    title: str
    grid: Grid  # whose rows are arms
    squares: Mapping[tuple[str, str], Square]
    details: Mapping[tuple[str, str], Lead]
    figure: Any


@dataclass(frozen=True)
class MatrixSection(Section):
    """All matrices of the study's figure, on one metric, whose label is `label`."""

    template: ClassVar[str] = "flows/medians.html.j2"

    label: str
    about: str
    fair: bool  # whether colours are about what is fair
    matrices: Sequence[Medians]

    def context(self) -> Mapping[str, Any]:
        """Return the section, and the gradient of its legend."""
        return {"section": self, "gradient": gradient()}

    def figures(self) -> Mapping[str, Any]:
        """Return each matrix."""
        taken: set[str] = set()
        return {f"matrix-{slug(each.name, taken)}": each.figure for each in self.matrices}


def make_matrix(content: ReportContent, rates: Mapping[str, str]) -> MatrixSection | None:
    """Return the matrices, or None if the study's figure is none.

    `rates` are the anchors of the cells' rates over time, by cell; squares lead there.
    """
    study = content.study
    if study.figure.kind != MATRIX:
        return None
    metric = study.figure_metric
    facts = content.facts(metric)
    levels = levels_of(content, metric)
    known = [item.median for item in levels.values() if item.median is not None]
    span = (min(known), max(known)) if known else (0.0, 1.0)
    cells = make_grid(content, study.first_contrast)
    fairness = Fairness(content)
    fair = any(fairness.of(metric, item.cell_id, item.arm) is not None for item in levels.values())
    meaning = "White: fair, or fair lies in the interval. Red: more than fair, blue: less." if fair else _RAMP
    about = ("Median over rounds; below it its interval, and n, the number of rounds.", meaning)
    matrices = []
    for row in cells.rows:
        squares: dict[tuple[str, str], Square] = {}
        leads: dict[tuple[str, str], Lead] = {}
        for arm in study.arms:
            for column in cells.columns:
                place = cells.places[row, column]
                level = levels.get((place.cell_id or "", arm.name))
                key = (content.short_label(arm.name), column)
                wanted = fairness.of(metric, place.cell_id or "", arm.name)
                squares[key] = _square(content, key, place, level, wanted, span)
                if level is not None and (lead := rates.get(place.cell_id or "")):
                    leads[key] = Lead(lead)
        grid = Grid(
            column_title=cells.column_title,
            row_title="arm",
            columns=cells.columns,
            rows=tuple(content.short_label(arm.name) for arm in study.arms),
            places={},
            omitted=0,
        )
        title = "" if row == "all" else row
        heading = f"{facts.label}{f': {title}' if title else ''}"
        legend = scale_legend(" · ".join(_ENDS), ("nothing", "fair", "all")) if fair else None
        figure = heatmap(grid, squares, heading, about, legend)
        matrices.append(Medians(f"{metric} {title}".strip(), title, grid, squares, leads, figure))
    return MatrixSection("matrix", "Matrix", facts.label, " ".join(about), fair, matrices)


def departure_pct(value: float, fair: float, limit: float | None) -> float:
    """Return the distance of a share from fair: −100 is nothing, 0 fair, 100 the limit, or twice fair without one."""
    if value <= fair:
        return 100 * (value / fair - 1) if fair else 0.0
    room = fair if limit is None else limit - fair
    return min(100.0, 100 * (value - fair) / room) if room > 0 else 0.0


def _square(
    content: ReportContent,
    key: tuple[str, str],
    place: Place,
    level: ArmLevel | None,
    fair: float | None,
    span: tuple[float, float],
) -> Square:
    cell = f"{key[0]} · {key[1]}"
    if level is None or level.median is None:
        ran = place.cell_id is not None
        state, note = ("no estimate", "no value") if ran else (place.state, STATE_NOTES[place.state])
        return Square(*key, state, "", colours.NO_DATA, colours.INK_SOFT, "", "", note, (cell, note))
    fill = _fill(level, fair, span)
    interval = wording.level_bounds(level)
    tip = [
        cell,
        f"median {wording.level(level)}",
        f"{wording.percent(content.study.analysis.confidence)} interval {wording.level_interval(level)}",
        f"{level.n} {'round' if level.n == 1 else 'rounds'}",
    ]
    if fair is not None:
        tip.append(f"fair would be {wording.quantity(fair, level.unit)}")
    rounds = f"n{wording.NBSP}{level.n}"  # where room is short, a line breaks before n alone
    note = f"{interval} · {rounds}" if interval else rounds
    ink = colours.text_colour(fill)
    return Square(*key, "estimated", "", fill, ink, wording.level(level), "", note, tuple(tip))


def _fill(level: ArmLevel, fair: float | None, span: tuple[float, float]) -> str:
    median = level.median or 0.0
    if fair is None:
        share = (median - span[0]) / (span[1] - span[0]) if span[1] > span[0] else 0.0
        return colours.mix(*_PLAIN_STOPS, share)
    departure = departure_pct(median, fair, LIMITS.get(level.metric))
    within = level.low is not None and level.high is not None and level.low <= fair <= level.high
    return colours.NOT_SIGNIFICANT if within or abs(departure) < 0.5 else colours.effect_colour(departure)
