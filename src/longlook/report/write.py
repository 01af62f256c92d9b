"""Writes the report of a run: the page, and every figure and table of it as a file in the same folder."""

import shutil
from pathlib import Path

import pandas as pd

from longlook.core import csv_cell
from longlook.report.charts.export import export_figure
from longlook.report.content import ReportContent
from longlook.report.page import render, sections
from longlook.report.provenance.downloads import DownloadSection


def write_report(report_dir: Path, content: ReportContent) -> Path:
    """Write `index.html`, `figures/` and `tables/` below `report_dir`, replacing what was there; return the page."""
    report_dir.mkdir(parents=True, exist_ok=True)
    figures, tables = report_dir / "figures", report_dir / "tables"
    shutil.rmtree(figures, ignore_errors=True)
    shutil.rmtree(tables, ignore_errors=True)
    tables.mkdir()
    files: list[Path] = []
    parts = sections(content)
    for section in parts:
        for name, chart in section.figures().items():
            files += export_figure(figures, name, chart)
        for name, table in section.tables().items():
            path = tables / f"{name}.csv"
            _safe(table).to_csv(path, index=False, lineterminator="\n")
            files.append(path)
    downloads = DownloadSection("downloads", "Downloads", [path.relative_to(report_dir) for path in files])
    index = report_dir / "index.html"
    index.write_text(render(content, [*parts, downloads]), encoding="utf-8")
    return index


def _safe(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose texts no spreadsheet takes for formulas; numbers stay numbers."""
    shown = table.rename(columns=lambda name: csv_cell(str(name)))
    for name in shown:
        if not pd.api.types.is_numeric_dtype(shown[name]):
            shown[name] = shown[name].map(_safe_value)
    return shown


def _safe_value(value: object) -> object:
    return csv_cell(value) if isinstance(value, str) else value
