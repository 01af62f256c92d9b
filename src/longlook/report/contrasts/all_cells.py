"""The section of all cells: the effect and interval of every cell of every contrast, as charts and as a table."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import pandas as pd

from longlook.analysis import columns_of, dependences_table, heterogeneity_table, spread_table
from longlook.core import ArmLevel, Effect, Estimate
from longlook.report import text
from longlook.report.charts.theme import page_specification
from longlook.report.content import ReportContent
from longlook.report.contrasts.overview import interval_chart
from longlook.report.contrasts.section import ContrastSection
from longlook.report.layout import ordered
from longlook.report.section import Section

CHART_PX = 520


@dataclass(frozen=True)
class AllCellsSection(Section):
    """Every estimate of the run; `contrasts` are the contrasts that have estimates."""

    template: ClassVar[str] = "contrasts/all_cells.html.j2"

    content: ReportContent
    contrasts: Sequence[ContrastSection]

    @property
    def _in_pages(self) -> bool:
        """Whether there are too many cells for one chart and one table: their pages and the CSV have them."""
        return any(each.pages for each in self.contrasts)

    def context(self) -> Mapping[str, Any]:
        """Return the contrasts with a chart, and the table of estimates as text; no rows if pages have the cells."""
        header, *rows = text.plain_rows(self.content.study, [] if self._in_pages else self.content.estimates)
        return {
            "section": self,
            "named": len(self.content.study.contrasts) > 1,
            "in_pages": self._in_pages,
            "header": header,
            "rows": rows,
        }

    def data(self) -> Mapping[str, Any]:
        """Return the chart of intervals of each contrast, by the contrast's anchor."""
        if self._in_pages:
            return {}
        return {
            "specs": {
                each.anchor: page_specification(
                    interval_chart(self.content, each.contrast, title=None, width="container")
                )
                for each in self.contrasts
            }
        }

    def figures(self) -> Mapping[str, Any]:
        """Return the chart of intervals of each contrast."""
        if self._in_pages:
            return {}
        return {
            f"intervals-{each.file_name}": interval_chart(
                self.content, each.contrast, title=each.heading, width=CHART_PX
            )
            for each in self.contrasts
        }

    def tables(self) -> Mapping[str, pd.DataFrame]:
        """Return `estimates` and `samples`, in full precision, and any `dependences` on drawn settings, `levels` of
        single arms, `wins` and `tails`.
        """
        content = self.content
        estimates = [_estimate(content, item) for item in ordered(content.study, content.estimates)]
        tables = {"estimates": pd.DataFrame(estimates), "samples": content.samples}
        if any(item.dependences for item in content.estimates):
            tables["dependences"] = dependences_table(content.estimates)
        if content.wins:
            tables |= {"wins": spread_table(content.wins), "tails": spread_table(content.tails)}
        if content.heterogeneity:
            tables["heterogeneity"] = heterogeneity_table(content.heterogeneity)
        if content.levels:
            tables["levels"] = pd.DataFrame([_level(content, item) for item in content.levels])
        return tables


def make_all_cells(content: ReportContent, contrasts: Sequence[ContrastSection]) -> list[AllCellsSection]:
    """Return the section; nothing of a scenario, which compares nothing."""
    estimated = [each for each in contrasts if content.estimates_of(each.contrast)]
    return [AllCellsSection("all", "All cells", content, estimated)] if contrasts else []


def _estimate(content: ReportContent, item: Estimate) -> dict[str, Any]:
    beside = ("cell", "outcomes", "dependences", "difference")
    row = {key: value for key, value in asdict(item).items() if key not in beside}
    row |= columns_of(item.difference, Effect)
    factors = {f"factor.{factor.name}": item.cell.get(factor.name) for factor in content.study.factors}
    return {**factors, **row, "verdict": str(item.verdict)}


def _level(content: ReportContent, item: ArmLevel) -> dict[str, Any]:
    row = {key: value for key, value in asdict(item).items() if key != "cell"}
    factors = {f"factor.{factor.name}": item.cell.get(factor.name) for factor in content.study.factors}
    release = content.releases.get(item.arm)
    return {"released": release.released if release else None, **factors, **row}
