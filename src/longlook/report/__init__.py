"""A run's report: one HTML page that opens from disk, and every figure and table of it as files.

Nothing is computed here: the report draws samples, estimates, claims and manifest as the stages before left them, and
the same inputs give the same bytes.
"""

import shutil
from pathlib import Path

from longlook.report.charts.export import export_figure
from longlook.report.content import MetricFacts, ReportContent
from longlook.report.facts import slug
from longlook.report.flows.medians import make_matrix
from longlook.report.flows.section import make_flow_section
from longlook.report.flows.shares import make_shares, metrics_by_arm
from longlook.report.page import CompetingFlows, contrast_anchors, make_section, render
from longlook.report.tables import write_tables
from longlook.report.trend import make_trends

__all__ = ["MetricFacts", "ReportContent", "metrics_by_arm", "write_report"]


def write_report(report_dir: Path, content: ReportContent) -> Path:
    """Write `index.html`, `figures/` and `tables/` below `report_dir`, replacing what was there; returns the page."""
    taken: set[str] = set()
    anchors = contrast_anchors(content.study)
    sections = [
        make_section(content, contrast, anchors[contrast.name], slug(contrast.name, taken))
        for contrast in content.study.contrasts
    ]
    trends, shares = make_trends(content), make_shares(content)
    flows = make_flow_section(content, taken)
    matrix = make_matrix(content, flows.by_cell)
    matrices = matrix.matrices if matrix else ()
    report_dir.mkdir(parents=True, exist_ok=True)
    for folder in ("figures", "tables"):
        shutil.rmtree(report_dir / folder, ignore_errors=True)
    figures = [
        path.relative_to(report_dir)
        for name, chart in [
            *((f"trend-{slug(trend.metric, taken)}", trend.figure) for trend in trends),
            *((f"shares-{slug(share.metric, taken)}", share.figure) for share in shares),
            *((f"matrix-{slug(each.name, taken)}", each.figure) for each in matrices),
            *flows.figures.items(),
            *(figure for section in sections for figure in section.figures.items()),
        ]
        for path in export_figure(report_dir / "figures", name, chart)
    ]
    tables = [path.relative_to(report_dir) for path in write_tables(report_dir / "tables", content)]
    index = report_dir / "index.html"
    competition = CompetingFlows(shares, matrix, flows)
    page = render(content, trends, competition, sections, {"figures": figures, "tables": tables})
    index.write_text(page, encoding="utf-8")
    return index
