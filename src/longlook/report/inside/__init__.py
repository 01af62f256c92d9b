"""Pages about the inside of cells, beside the report: `inside/CELL.html` and the same as SVG, PNG and PDF.

`write_inside` writes the page of an `InsideContent`; the pipeline collects it for `longlook report --inside`.
"""

from pathlib import Path

from longlook.report.charts.export import export_figure
from longlook.report.inside.content import DrawnMachine, InsideContent
from longlook.report.inside.figure import inside_figure
from longlook.report.inside.page import chosen_round, full_label, render_inside

FOLDER = "inside"

__all__ = ["FOLDER", "DrawnMachine", "InsideContent", "inside_page", "inside_pages", "write_inside"]


def inside_page(report_dir: Path, cell_id: str) -> Path:
    """Return the path of a cell's page, whether it exists or not."""
    return report_dir / FOLDER / f"{cell_id}.html"


def inside_pages(report_dir: Path) -> frozenset[str]:
    """Return the ids of the cells that have a page."""
    return frozenset(page.stem for page in (report_dir / FOLDER).glob("*.html"))


def write_inside(report_dir: Path, inside: InsideContent) -> Path:
    """Write a cell's page and its figure, replacing what was there; return the page."""
    page = inside_page(report_dir, inside.cell_id)
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(render_inside(inside), encoding="utf-8")
    export_figure(page.parent, inside.cell_id, inside_figure(inside, full_label(inside.cell), chosen_round(inside)))
    return page
