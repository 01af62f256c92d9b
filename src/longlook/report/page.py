"""Writes the report of a run: the page with its sections in reading order, and files of every figure and table."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from markupsafe import Markup

from longlook.report import wording
from longlook.report.causes.section import make_why
from longlook.report.charts.export import export_figure
from longlook.report.content import ReportContent
from longlook.report.contrasts.all_cells import make_all_cells
from longlook.report.contrasts.blocks import FOLDER, Block, in_blocks
from longlook.report.contrasts.published import make_published
from longlook.report.contrasts.section import ContrastSection, make_contrasts
from longlook.report.contrasts.together import TogetherSection, make_together
from longlook.report.cpu import make_cpu
from longlook.report.csv_tables import write_csv
from longlook.report.dots import make_dots
from longlook.report.expected import make_expected
from longlook.report.expected.text import expectations_counted
from longlook.report.flows.medians import make_matrix
from longlook.report.flows.section import make_flow_section
from longlook.report.flows.shares import make_shares
from longlook.report.hypotheses import make_hypotheses
from longlook.report.links import make_links
from longlook.report.losses import make_losses
from longlook.report.population import make_population
from longlook.report.provenance.manifest import ManifestSection
from longlook.report.provenance.method import MethodSection
from longlook.report.provenance.repeats import make_repeats
from longlook.report.provenance.traces import make_traces
from longlook.report.provenance.validity import make_validity
from longlook.report.section import Section
from longlook.report.strata import make_strata
from longlook.report.templates import asset, embedded_json, template, vega
from longlook.report.trend import make_trends


@dataclass(frozen=True)
class DownloadSection(Section):
    """The files of the other sections, as paths relative to the page."""

    template: ClassVar[str] = "provenance/downloads.html.j2"

    files: Sequence[Path]

    def context(self) -> Mapping[str, Any]:
        """Return the figures and the tables, each sorted by name."""
        return {
            "section": self,
            "figures": [path for path in self.files if path.parent.name == "figures"],
            "tables": sorted(path for path in self.files if path.parent.name == "tables"),
        }


def write_report(report_dir: Path, content: ReportContent) -> Path:
    """Write `index.html`, `figures/` and `tables/` below `report_dir`, and `cells/` if there are many cells, replacing
    what was there; return the page.
    """
    report_dir.mkdir(parents=True, exist_ok=True)
    figures, tables = report_dir / "figures", report_dir / "tables"
    for folder in (figures, tables, report_dir / FOLDER):
        shutil.rmtree(folder, ignore_errors=True)
    tables.mkdir()
    files: list[Path] = []
    parts, blocks = sections(content)
    for section in (*parts, *(block.section for block in blocks)):
        for name, chart in section.figures().items():
            files += export_figure(figures, name, chart)
        for name, table in section.tables().items():
            path = tables / f"{name}.csv"
            write_csv(table, path)
            files.append(path)
    downloads = DownloadSection("downloads", "Downloads", [path.relative_to(report_dir) for path in files])
    index = report_dir / "index.html"
    index.write_text(render(content, [*parts, downloads]), encoding="utf-8")
    for block in blocks:
        (report_dir / block.file).parent.mkdir(exist_ok=True)
        (report_dir / block.file).write_text(render(content, [block.section], "../index.html"), encoding="utf-8")
    return index


def sections(content: ReportContent) -> tuple[list[Section], list[Block]]:
    """Return the parts of the page in reading order, and the pages of cells, if the page itself does not have them.

    A part that has nothing to show is not among them.
    """
    flows = make_flow_section(content)
    matrix = make_matrix(content, flows.anchors)
    contrasts, blocks = in_blocks(make_contrasts(content, flows.anchors))
    parts: list[Section] = [
        *make_hypotheses(content),
        *make_expected(content),
        *make_trends(content),
        *([matrix] if matrix else []),
        *make_dots(content),
        *make_population(content),
        *make_shares(content),
        *make_together(content, contrasts),
        *contrasts,
        *make_strata(content),
        *make_why(content.answers),
        *([flows] if flows.cells else []),
        *make_links(content),
        *make_losses(content),
        *make_cpu(content),
        *make_published(content, contrasts),
        *make_all_cells(content, contrasts),
        MethodSection("method", "Method", content.study),
        make_validity(content),
        *make_traces(content),
        *make_repeats(content),
        ManifestSection("manifest", "Manifest", content),
    ]
    return parts, blocks


def _expected(content: ReportContent) -> list[str]:
    """Return how many of the study's expectations hold, in a sentence; nothing if it has none."""
    return [f"{expectations_counted(content.study, content.expectations)}."] if content.expectations else []


def render(content: ReportContent, parts: Sequence[Section], back: str = "") -> str:
    """Return the page as one HTML text that loads nothing and links only to the files of its run.

    A page of cells leads `back` to the first page, which has the answer and the tallies.
    """
    contrasts = [part for part in parts if isinstance(part, ContrastSection)]
    together = {each.anchor for part in parts if isinstance(part, TogetherSection) for each in part.contrasts}
    apart = [each for each in contrasts if not each.contrast.family and each.anchor not in together]
    data = {part.anchor: part.data() for part in parts}
    return template("page.html.j2").render(
        study=content.study,
        answer=[] if back else [*filter(None, [content.part]), *_expected(content), *wording.answer(content)],
        tallies=[] if back else [each for each in apart if any(each.counts.values())],
        back=back,
        named=len(contrasts) > 1,
        parts=[(part, Markup(template(part.template).render(part.context()))) for part in parts],  # noqa: S704 ours
        css=asset("assets/report.css"),
        js=asset("assets/report.js"),
        vega=vega(),
        data=embedded_json({anchor: found for anchor, found in data.items() if found}),
    )
