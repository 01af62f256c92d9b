"""The page: sections put together from squares, details and charts, and rendered by the templates in assets/."""

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from longlook.core.model import ClaimResult, Contrast, Study, Verdict
from longlook.report import costs, facts, repeats, text, wording
from longlook.report.charts import colours
from longlook.report.charts.export import javascript
from longlook.report.charts.theme import page_specification
from longlook.report.content import ReportContent
from longlook.report.contrasts.cell_charts import cell_charts
from longlook.report.contrasts.cells import CellDetail, CellDetails
from longlook.report.contrasts.heatmap import EFFECT_LABELS, heatmap, scale_legend
from longlook.report.contrasts.overview import claims_chart, interval_chart
from longlook.report.contrasts.samples import sample_chart
from longlook.report.contrasts.squares import Square, claims_of, measured_squares, published_squares
from longlook.report.flows.medians import MatrixSection
from longlook.report.flows.section import FlowSection
from longlook.report.flows.shares import ABOUT, Share
from longlook.report.layout import Grid, cell_label, make_grid
from longlook.report.templates import asset, template
from longlook.report.trend import Trend


@dataclass(frozen=True)
class ContrastSection:
    """One contrast of the page with its heatmaps, details, chart specifications and figures to export."""

    anchor: str
    name: str
    family: str
    title: str
    baseline: str
    contender: str
    baseline_in_full: str
    contender_in_full: str
    metric: str
    direction: str
    grid: Grid
    squares: Mapping[tuple[str, str], Square]
    published: Mapping[tuple[str, str], Square] | None
    details: Mapping[tuple[str, str], CellDetail]
    arms: Sequence[str]
    claims: Sequence[ClaimResult]
    counts: Mapping[str, int]
    charts: Mapping[str, Any]
    specs: Mapping[str, Any]
    figures: Mapping[str, Any]


def contrast_anchors(study: Study) -> dict[str, str]:
    """Contrast → the anchor of its section; those of its cells begin with it."""
    return {contrast.name: f"c{number}" for number, contrast in enumerate(study.contrasts, start=1)}


@dataclass(frozen=True)
class CompetingFlows:
    """What the page says beside contrasts of arms and flows that compete; empty where there is nothing."""

    shares: Sequence[Share]
    matrix: MatrixSection | None
    flows: FlowSection


def make_section(content: ReportContent, contrast: Contrast, anchor: str, file_name: str) -> ContrastSection:
    """Everything of one contrast."""
    grid = make_grid(content, contrast)
    squares = measured_squares(content, grid)
    here = {place.key for place in grid.in_order()}  # --only may have left out the cells that claims are about
    claims = {key: item for key, item in claims_of(content, contrast).items() if key in here}
    baseline, contender = content.short_label(contrast.baseline), content.short_label(contrast.contender)
    metric = content.facts(contrast.metric)
    title = f"{contender} against {baseline}: {wording.inner(metric.label)}"
    legend = scale_legend(f"▼ blue: {baseline} better · ▲ red: {contender} better", EFFECT_LABELS)
    about = f"Effect on {wording.inner(metric.label)}; below it the interval. White: ≈ equivalent, ? inconclusive."
    figures = {
        f"heatmap-{file_name}": heatmap(grid, squares, title, [about], legend),
    }
    specs = {}
    if content.estimates_of(contrast):
        figures[f"intervals-{file_name}"] = interval_chart(content, contrast, title=title, width=520)
        figures[f"samples-{file_name}"] = sample_chart(content, contrast, grid, title)
        specs["intervals"] = interval_chart(content, contrast, title=None, width="container")
    published = published_squares(content, contrast, grid) if claims else None
    if published is not None:
        source = next(iter(claims.values())).claim.source
        figures[f"published-{file_name}"] = heatmap(
            grid,
            published,
            f"Published: {title}",
            [f"Source: {source}. Below each value: what our run says of it."],
            legend,
        )
        results = list(claims.values())
        figures[f"claims-{file_name}"] = claims_chart(
            results, title=f"Published and ours: {title}", width=420, height=420
        )
        specs["claims"] = claims_chart(results, title=None, width="container", height=400)
    details = CellDetails(content, contrast, claims).all(grid, anchor)
    counts = Counter(str(item.verdict) for item in content.estimates_of(contrast))
    return ContrastSection(
        anchor=anchor,
        name=contrast.name,
        family=contrast.family,
        title=title,
        baseline=baseline,
        contender=contender,
        baseline_in_full=content.arm_label(contrast.baseline),
        contender_in_full=content.arm_label(contrast.contender),
        metric=metric.label,
        direction=wording.direction(metric.better),
        grid=grid,
        squares=squares,
        published=published,
        details={(detail.place.row, detail.place.column): detail for detail in details},
        arms=content.arms_beside(contrast),
        claims=[claims[place.key] for place in grid.in_order() if place.key in claims],
        counts={str(verdict): counts[str(verdict)] for verdict in Verdict},
        charts=cell_charts(content, contrast),
        specs={name: page_specification(chart) for name, chart in specs.items()},
        figures=figures,
    )


def render(
    content: ReportContent,
    trends: Sequence[Trend],
    competition: CompetingFlows,
    sections: Sequence[ContrastSection],
    downloads: Mapping[str, Sequence[Path]],
) -> str:
    """The page as one HTML text that refers to nothing outside itself but the files beside it."""
    data = {
        section.anchor: {
            "charts": section.charts,
            "specs": section.specs,
            "cells": {detail.anchor: detail.data for detail in section.details.values()},
        }
        for section in sections
    } | {f"trend{number}": {"charts": {}, "specs": trend.specs, "cells": {}} for number, trend in enumerate(trends)}
    data["shares"] = {
        "charts": {},
        "specs": {k: v for each in competition.shares for k, v in each.specs.items()},
        "cells": {},
    }
    data[competition.flows.anchor] = {
        "charts": competition.flows.charts,
        "specs": {},
        "cells": {cell.anchor: {} for cell in competition.flows.cells},
    }
    estimates_header, *estimates_rows = text.plain_rows(content.study, content.estimates)
    return template("report.html.j2").render(
        content=content,
        study=content.study,
        answer=wording.answer(content),
        trends=trends,
        shares=competition.shares,
        about_shares=" ".join(ABOUT),
        matrix=competition.matrix,
        flows=competition.flows,
        sections=sections,
        claims_summary=Counter(item.result for item in content.claims),
        unplaced_claims=_unplaced(content, sections),
        estimates_header=estimates_header,
        estimates_rows=estimates_rows,
        method=facts.method(content.study),
        validity=facts.validity(content),
        costs=costs.cost_rows(content, content.costs),
        unrecorded=costs.unrecorded_rows(content, content.not_recorded),
        repeats=repeats.plain_rows(content.study, content.verification) if content.verification else [],
        manifest=facts.manifest_facts(content.manifest),
        command=str(content.manifest.get("command") or f"longlook run {content.study.id}"),
        programs=facts.programs(content.manifest),
        downloads=downloads,
        gradient=_gradient(),
        wording=wording,
        colours=colours,
        cell_label=cell_label,
        css=asset("report.css"),
        js=asset("report.js"),
        vega=Markup(javascript().replace("</script", "<\\/script")),  # noqa: S704 the bundled libraries
        data=Markup(embedded_json(data)),  # noqa: S704 escaped by embedded_json
    )


def embedded_json(data: Any) -> str:
    """JSON that may stand inside a script element: no `<`, and null for what JSON cannot say."""
    text_of = json.dumps(_finite(data), separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return text_of.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _gradient() -> str:
    worse = [colours.effect_colour(value) for value in (-100, -67, -34, -0.001)]
    better = [colours.effect_colour(value) for value in (0, 34, 67, 100)]
    stops = [
        f"{colour} {share}%" for colour, share in zip(worse + better, (0, 17, 33, 49, 51, 67, 83, 100), strict=True)
    ]
    return f"linear-gradient(to right, {', '.join(stops)})"


def _unplaced(content: ReportContent, sections: Sequence[ContrastSection]) -> list[ClaimResult]:
    placed = {item.claim.id for section in sections for item in section.claims}
    return [item for item in content.claims if item.claim.id not in placed]
