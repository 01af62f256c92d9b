"""The section of published values: the claims of the study beside what this run found."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pandas as pd

from longlook.analysis import welch_verdict
from longlook.core import Agreement, ClaimResult
from longlook.report import wording
from longlook.report.charts.theme import page_specification
from longlook.report.content import ReportContent
from longlook.report.contrasts.heatmap import heatmap, scale_legend
from longlook.report.contrasts.overview import claims_chart, is_drawn
from longlook.report.contrasts.section import ContrastSection
from longlook.report.contrasts.squares import PublishedValue, Square, published_squares, published_value
from longlook.report.layout import Grid, cell_label
from longlook.report.section import Section

CHART_PX = 420


@dataclass(frozen=True)
class PublishedRow:
    """A claim as a row of the table."""

    cell: str
    ours: str
    interval: str
    welch: str
    value: PublishedValue


@dataclass(frozen=True)
class PublishedMap:
    """The published values of one contrast, beside which the contrast's own squares stand."""

    contrast: ContrastSection
    squares: Mapping[tuple[str, str], Square]
    rows: Sequence[PublishedRow]

    @property
    def grid(self) -> Grid:
        """The places of the squares: the contrast's grid."""
        return self.contrast.grid

    @property
    def details(self) -> Mapping[tuple[str, str], Any]:
        """Published squares lead to no details."""
        return {}

    @property
    def is_drawn(self) -> bool:
        """Whether any claim has numbers to draw: others state a direction alone."""
        return any(is_drawn(claim) for claim in self.contrast.claims)

    @property
    def source(self) -> str:
        """The source of the first claim."""
        return self.contrast.claims[0].claim.source


@dataclass(frozen=True)
class PublishedSection(Section):
    """All claims of the study: those about cells of a contrast as heatmaps, every other one as a row of a table."""

    template: ClassVar[str] = "contrasts/published.html.j2"

    content: ReportContent
    maps: Sequence[PublishedMap]

    def context(self) -> Mapping[str, Any]:
        """Return how many claims have which result, and the claims about single arms and other cells."""
        counts = Counter(item.result for item in self.content.claims)
        placed = {item.claim.id for each in self.maps for item in each.contrast.claims}
        return {
            "section": self,
            "named": len(self.content.study.contrasts) > 1,
            "counts": [(wording.RESULT_SYMBOLS[name], counts[name], name) for name in Agreement if counts[name]],
            "others": [_row(item) for item in self.content.claims if item.claim.id not in placed],
        }

    def data(self) -> Mapping[str, Any]:
        """Return a chart of published against measured effects for each contrast, by the contrast's anchor."""
        return {
            "specs": {
                each.contrast.anchor: page_specification(
                    claims_chart(each.contrast.claims, title=None, width="container", height=400)
                )
                for each in self.maps
                if each.is_drawn
            }
        }

    def figures(self) -> Mapping[str, Any]:
        """Return the heatmap of published values, and published against measured effects, of each contrast."""
        found = {}
        for each in self.maps:
            own = each.contrast
            legend = scale_legend(f"▼ blue: {own.baseline} better · ▲ red: {own.contender} better", own.effect_labels)
            about = f"Source: {each.source}. Below each value: the result of our run."
            found[f"published-{own.file_name}"] = heatmap(
                own.grid, each.squares, f"Published: {own.heading}", [about], legend
            )
            if each.is_drawn:
                found[f"claims-{own.file_name}"] = claims_chart(
                    own.claims, title=f"Published and ours: {own.heading}", width=CHART_PX, height=CHART_PX
                )
        return found

    def tables(self) -> Mapping[str, pd.DataFrame]:
        """Return `claims`: a row for each claim with its published and measured values, in full precision."""
        return {"claims": pd.DataFrame([_table_row(self.content, item) for item in self.content.claims])}


def make_published(content: ReportContent, contrasts: Sequence[ContrastSection]) -> list[PublishedSection]:
    """Return the section, or nothing if the study has no claims."""
    if not content.claims:
        return []
    maps = [
        PublishedMap(each, published_squares(content, each.contrast, each.grid), [_row(item) for item in each.claims])
        for each in contrasts
        if each.claims
    ]
    return [PublishedSection("published", "Published values", content, maps)]


def _row(item: ClaimResult) -> PublishedRow:
    estimate = item.estimate
    return PublishedRow(
        cell=cell_label(item.claim.cell),
        ours=wording.effect_of(estimate) if estimate else wording.level(item.level),
        interval=wording.interval_of(estimate) if estimate else wording.level_interval(item.level),
        welch=wording.welch(welch_verdict(item)),
        value=published_value(item),
    )


def _table_row(content: ReportContent, item: ClaimResult) -> dict[str, Any]:
    claim, estimate, welch = item.claim, item.estimate, welch_verdict(item)
    return {
        "claim": claim.id,
        "source": claim.source,
        "origin": claim.origin,
        "contrast": claim.contrast,
        "arm": claim.expected.arm if claim.expected else None,
        "metric": claim.expected.metric if claim.expected else None,
        "published_level": claim.expected.published if claim.expected else None,
        "level": item.level.median if item.level else None,
        "level_low": item.level.low if item.level else None,
        "level_high": item.level.high if item.level else None,
        **{f"factor.{factor.name}": claim.cell.get(factor.name) for factor in content.study.factors},
        "published_pct": claim.effect_pct,
        "published_significant": claim.significant,
        "published_clipped_at_pct": claim.clipped_at_pct,
        "effect_pct": estimate.effect_pct if estimate else None,
        "ci_low_pct": estimate.ci_low_pct if estimate else None,
        "ci_high_pct": estimate.ci_high_pct if estimate else None,
        "verdict": str(estimate.verdict) if estimate else None,
        "welch_verdict": welch.verdict if welch else None,
        "p_welch": welch.p if welch else None,
        "result": item.result,
        "factor": item.factor,
        "reason": item.reason,
    }
