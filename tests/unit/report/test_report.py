"""The report without a browser: what is written, that it refers to nothing outside, and that it is reproducible."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest
from rich.console import Console

from longlook.core.model import Arm, Contrast, Factor, Figure, Level
from longlook.report import text, wording
from longlook.report.content import ReportContent
from longlook.report.layout import make_grid
from longlook.report.write import write_report
from longlook.terminal.run_display import verdict_table
from tests.data.report import paper_content, small_content, small_study

TEN = [0.5, 0.51, 0.49, 0.5, 0.52, 0.48, 0.5, 0.51, 0.49, 0.5]
FASTER = [value * 0.8 for value in TEN]


@pytest.fixture(scope="module")
def paper() -> ReportContent:
    return paper_content()


@pytest.fixture(scope="module")
def report_dir(tmp_path_factory: pytest.TempPathFactory, paper: ReportContent) -> Path:
    return write_report(tmp_path_factory.mktemp("run") / "report", paper).parent


class References(HTMLParser):
    """Everything that a page asks for by itself or links to."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("src", "srcset", "data", "poster") or (tag == "link" and name == "href"):
                self.loaded.append(value or "")
            elif name == "href":
                self.links.append(value or "")


def test_the_page_loads_nothing_and_links_only_to_what_is_there(report_dir: Path) -> None:
    page = (report_dir / "index.html").read_text()
    references = References()
    references.feed(page)
    assert references.loaded == []
    assert "@import" not in page
    assert not re.search(r"url\(\s*['\"]?(https?:)?//", page)
    files = [link for link in references.links if not link.startswith("#")]
    assert files
    for link in files:
        assert (report_dir / link).is_file(), link
    anchors = set(re.findall(r'\bid="([^"]+)"', page))
    assert {link[1:] for link in references.links if link.startswith("#")} <= anchors


def test_the_same_content_gives_the_same_bytes(tmp_path: Path, paper: ReportContent, report_dir: Path) -> None:
    again = write_report(tmp_path / "again", paper_content()).parent
    files = sorted(path.relative_to(report_dir) for path in report_dir.rglob("*") if path.is_file())
    assert files == sorted(path.relative_to(again) for path in again.rglob("*") if path.is_file())
    assert [path for path in files if (report_dir / path).read_bytes() != (again / path).read_bytes()] == []


def test_every_figure_and_table_is_written(report_dir: Path) -> None:
    names = {"heatmap", "intervals", "samples", "published", "claims"}
    assert {path.name for path in (report_dir / "figures").iterdir()} == {
        f"{name}-quic-vs-tcp.{ending}" for name in names for ending in ("svg", "png", "pdf")
    }
    assert (report_dir / "figures" / "heatmap-quic-vs-tcp.png").read_bytes().startswith(b"\x89PNG")
    assert (report_dir / "figures" / "heatmap-quic-vs-tcp.pdf").read_bytes().startswith(b"%PDF")
    assert {path.name for path in (report_dir / "tables").iterdir()} == {
        "estimates.csv", "samples.csv", "outcomes.csv", "claims.csv",
    }  # fmt: skip
    assert (report_dir / "index.html").stat().st_size < 6_000_000


def test_tables_hold_the_estimates_in_full(report_dir: Path, paper: ReportContent) -> None:
    table = pd.read_csv(report_dir / "tables" / "estimates.csv")
    assert len(table) == len(paper.estimates) == 21
    assert table["effect_pct"].tolist() == pytest.approx([item.effect_pct for item in paper.estimates], nan_ok=True)
    assert list(table.columns[:2]) == ["factor.rate", "factor.size"]


def test_the_exported_heatmap_says_what_the_cells_say(report_dir: Path, paper: ReportContent) -> None:
    svg = (report_dir / "figures" / "heatmap-quic-vs-tcp.svg").read_text()
    for estimate in paper.estimates:
        assert f"{wording.SYMBOLS[estimate.verdict]} {wording.effect(estimate.effect_pct)}" in svg


def test_an_earlier_report_is_replaced(tmp_path: Path) -> None:
    content = small_content({("10Mbit",): {"tcp": TEN, "quic": FASTER}})
    stale = tmp_path / "report" / "figures" / "stale.svg"
    stale.parent.mkdir(parents=True)
    stale.write_text("")
    write_report(tmp_path / "report", content)
    assert not stale.exists()


def test_labels_cannot_break_out_of_the_page(tmp_path: Path) -> None:
    hostile = "</script><img src=x onerror=alert(1)>&\"'\u2028"
    study = small_study(
        title=hostile,
        question=hostile,
        notes=hostile,
        arms=(Arm("tcp", hostile, {}), Arm("quic", hostile + "2", {})),
        factors=(Factor("rate", (Level(hostile, {}), Level("x", {}))),),
        contrasts=(Contrast(hostile, "tcp", "quic", "page_load_time"),),
    )
    content = small_content({(hostile,): {"tcp": TEN, "quic": [*FASTER[:9], None]}}, study)
    index = write_report(tmp_path / "report", replace(content, manifest={"command": hostile, "host": {"cpu": hostile}}))
    references = References()
    references.feed(index.read_text())
    assert references.loaded == []
    assert index.read_text().count("</script") == 3


DEGENERATE = {
    "nothing was run": {},
    "one sample of each arm": {("10Mbit",): {"tcp": [0.5], "quic": [0.4]}},
    "one arm only": {("10Mbit",): {"tcp": TEN, "quic": []}},
    "everything failed": {("10Mbit",): {"tcp": [None] * 10, "quic": [None] * 10}},
    "no variance": {("10Mbit",): {"tcp": [0.5] * 10, "quic": [0.5] * 10}},
    "zero": {("10Mbit",): {"tcp": [0.0] * 10, "quic": [0.0] * 10}},
    "far beyond the scale": {("10Mbit",): {"tcp": TEN, "quic": [value * 24 for value in TEN]}},
}


@pytest.mark.parametrize("values", DEGENERATE.values(), ids=DEGENERATE.keys())
def test_degenerate_runs_have_a_report(tmp_path: Path, values: dict[tuple[str, ...], dict[str, list[float]]]) -> None:
    content = small_content(values)
    page = write_report(tmp_path / "report", content).read_text()
    assert "NaN" not in page[: page.index("longlook-data")]
    assert "nan" not in re.findall(r">\s*(nan|None|inf)\s*<", page)
    console = Console(width=200, record=True, file=None)
    with console.capture():
        console.print(verdict_table(content.study, content.estimates))
    assert text.markdown_table(content.study, content.estimates).startswith("| rate |")


def test_effects_beyond_the_scale_are_written_in_full(tmp_path: Path) -> None:
    content = small_content({("10Mbit",): {"tcp": TEN, "quic": [value * 24 for value in TEN]}})
    assert "−2,300\u00a0%" in write_report(tmp_path / "report", content).read_text()


def test_studies_without_factors_have_one_cell(tmp_path: Path) -> None:
    study = small_study(factors=(), figure=Figure("", ()))
    content = small_content({(): {"tcp": TEN, "quic": FASTER}}, study)
    grid = make_grid(content, study.contrasts[0])
    assert (grid.rows, grid.columns) == (("all",), ("all",))
    assert "in the one cell" in write_report(tmp_path / "report", content).read_text()


def test_claims_about_cells_that_only_left_out_have_no_figure(tmp_path: Path, paper: ReportContent) -> None:
    elsewhere = [
        replace(item, claim=replace(item.claim, cell={"rate": "1Gbit", "size": "1GB"})) for item in paper.claims
    ]
    written = write_report(tmp_path / "report", replace(paper, claims=elsewhere)).parent
    names = {path.name.partition("-")[0] for path in (written / "figures").iterdir()}
    assert names == {"heatmap", "intervals", "samples"}
