"""Which losses make the effect of each cell: the parts of its strata, and what the loss of each single packet costs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import pandas as pd

from longlook.analysis import LossEffects
from longlook.core import Contrast
from longlook.report.chart_section import CellPanel, ChartSection, panels_figure
from longlook.report.content import ReportContent
from longlook.report.layout import SEPARATOR, Place, cell_label, make_grid
from longlook.report.strata.chart import DIRECTIONS, costs_panels
from longlook.report.strata.words import StratumRow, failures, found, note, stratum_rows

_ABOUT = ("Cost of the loss of one packet and no other: the value minus that without loss, at the cell’s point.",
          "Each point is a trial. Packets are numbered by direction, in order of arrival at the link.",
          "The axis is linear close to 0, and logarithmic beyond.")  # fmt: skip


@dataclass(frozen=True)
class ContrastParts:
    """The strata of one contrast in a cell; `heading` is empty if the study has one contrast alone."""

    heading: str
    sentence: str
    arms: tuple[str, str]  # short labels: baseline, contender
    rows: Sequence[StratumRow]


@dataclass(frozen=True)
class CellLosses:
    """The losses of a cell in one metric: a chart for each direction, and the strata of each contrast."""

    label: str
    panels: Sequence[CellPanel]
    parts: Sequence[ContrastParts]
    failures: Sequence[str]
    note: str  # what was left out; may be empty


@dataclass(frozen=True)
class StrataSection(ChartSection):
    """All cells whose losses are integrated."""

    template: ClassVar[str] = "strata/section.html.j2"

    about: str
    cells: Sequence[CellLosses]
    effects: LossEffects

    def tables(self) -> Mapping[str, pd.DataFrame]:
        """Return the strata of each contrast, the packets of each contrast, and every trial with a single loss."""
        return {
            "loss-strata": self.effects.strata,
            "loss-packets": self.effects.packets,
            "single-losses": self.effects.singles,
        }


def make_strata(content: ReportContent) -> list[StrataSection]:
    """Return the section if the losses of a cell are integrated, else nothing."""
    effects = content.losses
    if effects is None or effects.singles.empty:
        return []
    cells = list(_cells(content, effects))
    panels = [panel for cell in cells for panel in cell.panels]
    specs = {panel.name: panel.spec for panel in panels}
    charts = {"single-losses": panels_figure(panels, "What a single loss costs", _ABOUT, columns=len(DIRECTIONS))}
    return [StrataSection("strata", "Losses", specs, charts, " ".join(_ABOUT), cells, effects)]


def _cells(content: ReportContent, effects: LossEffects) -> list[CellLosses]:
    metrics = list(dict.fromkeys(contrast.metric for contrast in content.study.contrasts))
    found: list[CellLosses] = []
    for place in make_grid(content, content.study.first_contrast).in_order():
        own = effects.singles[effects.singles["cell_id"] == place.cell_id]
        for metric in metrics:
            singles = own[own["metric"] == metric]
            if not singles.empty:
                found.append(_cell(content, effects, place, singles, len(found), named=len(metrics) > 1))
    return found


def _cell(
    content: ReportContent, effects: LossEffects, place: Place, singles: pd.DataFrame, number: int, *, named: bool
) -> CellLosses:
    metric = str(singles["metric"].iloc[0])
    label = cell_label(place.cell) + (f"{SEPARATOR}{content.facts(metric).label}" if named else "")
    panels = costs_panels(content, place, singles, label, f"costs{number}")
    contrasts = [contrast for contrast in content.study.contrasts if contrast.metric == metric]
    parts = [each for contrast in contrasts for each in _parts(content, effects, place, contrast)]
    strata = effects.strata[effects.strata["cell_id"] == place.cell_id]
    about = note(strata[strata["metric"] == metric])
    return CellLosses(label, panels, parts, failures(content, effects.failures, str(place.cell_id)), about)


def _parts(content: ReportContent, effects: LossEffects, place: Place, contrast: Contrast) -> list[ContrastParts]:
    strata, packets = (
        table[(table["cell_id"] == place.cell_id) & (table["contrast"] == contrast.name)]
        for table in (effects.strata, effects.packets)
    )
    estimate = next((each for each in content.estimates_of(contrast) if each.cell_id == place.cell_id), None)
    if strata.empty or estimate is None:
        return []
    arms = content.short_label(contrast.baseline), content.short_label(contrast.contender)
    heading = contrast.name if len(content.study.contrasts) > 1 else ""
    return [ContrastParts(heading, found(strata, packets, estimate, arms), arms, stratum_rows(strata, estimate))]
