"""Reports of many cells: the first page stays small, and every cell has its place on a page of its own."""

import json
import re
from pathlib import Path

import pytest

from longlook.core.model import Factor, Figure, Level
from longlook.report import layout, write_report
from longlook.report.content import ReportContent
from longlook.report.contrasts import blocks
from tests.data.report import small_content, small_study

RATES = [f"{10 + step}Mbit" for step in range(6)]
SIZES = [f"{1 + step}KB" for step in range(5)]
TEN = [0.5, 0.51, 0.49, 0.5, 0.52, 0.48, 0.5, 0.51, 0.49, 0.5]
CELL = re.compile(r'<article class="cell" id="([^"]+)"')
LINK = re.compile(r'<td class="square[^>]*>\s*<a href="([^"]*)#([^"]+)"')


def grid_content() -> ReportContent:
    study = small_study(
        factors=tuple(
            Factor(name, tuple(Level(label, {}) for label in labels))
            for name, labels in (("rate", RATES), ("size", SIZES))
        ),
        figure=Figure(columns="size", rows=("rate",)),
    )
    cells = {(rate, size): {"tcp": TEN, "quic": [value * 0.8 for value in TEN]} for rate in RATES for size in SIZES}
    return small_content(cells, study)


@pytest.fixture
def report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(blocks, "MOST_CELLS", 20)
    monkeypatch.setattr(blocks, "BLOCK_CELLS", 8)
    return write_report(tmp_path / "report", grid_content()).parent


def test_every_square_of_the_first_page_leads_to_its_cell_on_another(report: Path) -> None:
    first = (report / "index.html").read_text()
    assert not CELL.findall(first)
    links = LINK.findall(first)
    assert len(links) == len(set(links)) == len(RATES) * len(SIZES)
    for page, anchor in links:
        assert anchor in CELL.findall((report / page).read_text()), (page, anchor)


def test_a_page_of_cells_has_its_own_rows_of_the_map_and_draws_every_cell(report: Path) -> None:
    pages = sorted((report / "cells").iterdir())
    found = []
    for page in pages:
        text = page.read_text()
        own = CELL.findall(text)
        assert 0 < len(own) <= 8
        assert [anchor for file, anchor in LINK.findall(text) if not file] == own
        assert 'href="../index.html"' in text
        data = json.loads(re.search(r'id="longlook-data">(.*?)</script>', text, re.DOTALL)[1])
        assert set(data["c1"]["cells"]) == set(own)
        found += own
    assert len(found) == len(set(found)) == len(RATES) * len(SIZES)


def test_a_small_report_has_all_on_its_first_page(report: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "MOST_CELLS", 30)
    content = small_content({("10Mbit",): {"tcp": TEN, "quic": TEN}}, small_study())
    again = write_report(report, content)
    assert CELL.findall(again.read_text())
    assert not (report / "cells").exists()


def test_a_large_map_has_no_tips_and_no_figure_of_its_own(report: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def drawn() -> set[str]:
        return {path.stem for path in (report / "figures").glob("heatmap-*.svg")}

    assert "heatmap-quic-vs-tcp" in drawn()
    monkeypatch.setattr(layout, "MOST_MAPPED", 29)
    write_report(report, grid_content())
    assert "heatmap-quic-vs-tcp" not in drawn()
    assert "heatmap-quic-vs-tcp-1" in drawn()
    assert 'class="tip"' not in (report / "index.html").read_text()
    assert 'class="tip"' in (report / "cells/c1-1.html").read_text()
