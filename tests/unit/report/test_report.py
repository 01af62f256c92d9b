"""The report without a browser: what is written, that it refers to nothing outside, and that it is reproducible."""

import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.console import Console

from longlook.cli.show.tables import verdict_table
from longlook.core.model import Arm, Claim, Contrast, Factor, Figure, Level, Verdict
from longlook.report import ReportContent, text, wording, write_report
from longlook.report.charts import colours
from longlook.report.contrasts.samples import sample_chart
from longlook.report.contrasts.section import make_contrasts
from longlook.report.layout import abbreviated, make_grid
from longlook.report.provenance.validity import make_validity
from longlook.report.templates import embedded_json
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


def test_samples_stay_in_their_panels_where_cells_are_missing() -> None:
    levels = tuple(Level(label, {}) for label in ("5KB", "1MB"))
    study = small_study(
        factors=(Factor("rate", (Level("10Mbit", {}), Level("50Mbit", {}))), Factor("size", levels)),
        figure=Figure("size", ("rate",)),
    )
    content = small_content(
        {
            ("10Mbit", "1MB"): {"tcp": [1.0] * 10, "quic": [2.0] * 10},
            ("50Mbit", "5KB"): {"tcp": [None] * 10, "quic": [3.0] * 10},
        },
        study,
    )
    chart = sample_chart(content, study.contrasts[0], make_grid(content, study.contrasts[0]), "title").to_dict()
    panels = [
        [
            chart["datasets"][panel["data"]["name"]] if "name" in panel["data"] else panel["data"]["values"]
            for panel in line["hconcat"]
        ]
        for line in chart["vconcat"]
    ]
    assert [[{row.get("value") for row in panel} for panel in line] for line in panels] == [
        [{None}, {1.0, 2.0}],
        [{3.0}, {None}],
    ]


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


def test_embedded_json_cannot_end_its_element_nor_hold_nan() -> None:
    assert embedded_json({"a": "</script><!--&", "b": [math.nan, math.inf, 1.5]}) == (
        '{"a":"\\u003c/script\\u003e\\u003c!--\\u0026","b":[null,null,1.5]}'
    )


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


def test_medians_are_shown_of_every_arm_also_of_one_that_no_contrast_names() -> None:
    study = small_study(arms=(Arm("tcp", "TCP", {}), Arm("quic", "QUIC", {}), Arm("bbr", "BBR", {}), Arm("x", "X", {})))
    content = small_content({("10Mbit",): {"tcp": TEN, "quic": FASTER, "bbr": [0.7, 0.9, None]}}, study)
    (section,) = make_contrasts(content, {})
    (detail,) = section.details.values()
    assert detail.arms == ("TCP", "QUIC", "BBR", "X")
    assert [(median.replace("\u00a0", " "), n) for median, n in detail.medians] == [
        ("500 ms", "10"), ("400 ms", "10"), ("800 ms", "2"), ("–", ""),
    ]  # fmt: skip


def test_a_round_counts_in_a_median_with_its_last_attempt_as_in_the_estimate(paper: ReportContent) -> None:
    (section,) = make_contrasts(paper, {})
    unit = paper.facts("page_load_time").unit
    details = {detail.place.cell_id: detail for detail in section.details.values()}
    assert paper.samples["attempt"].max() == 2
    for estimate in paper.estimates_of(section.contrast):
        assert details[estimate.cell_id].medians == (
            (wording.quantity(estimate.baseline_median, unit), str(estimate.n_baseline)),
            (wording.quantity(estimate.contender_median, unit), str(estimate.n_contender)),
        )


def test_the_grid_tells_excluded_from_not_run_and_leaves_empty_rows_out() -> None:
    study = small_study(
        factors=(
            Factor("client", (Level("browser", {}), Level("plain", {}))),
            Factor("rate", (Level("10Mbit", {}), Level("50Mbit", {}))),
            Factor("size", (Level("1MB", {}), Level("10MB", {}), Level("1GB", {}))),
        ),
        exclude=({"client": ("browser",), "size": ("10MB", "1GB")},),
        figure=Figure("size", ("client", "rate")),
    )
    both = {"tcp": TEN, "quic": FASTER}
    content = small_content({("browser", "10Mbit", "1MB"): both, ("plain", "10Mbit", "10MB"): both}, study)
    grid = make_grid(content, study.contrasts[0])
    assert grid.rows == ("browser · 10Mbit", "plain · 10Mbit")
    assert grid.columns == ("1MB", "10MB")
    assert [place.state for place in grid.in_order()] == ["estimated", "excluded", "not run", "estimated"]
    assert grid.omitted == 5  # the excluded ones are not missed


def test_factors_that_the_figure_forgets_become_rows() -> None:
    study = small_study(
        factors=(Factor("rate", (Level("10Mbit", {}),)), Factor("loss", (Level("0%", {}), Level("1%", {})))),
    )
    both = {"tcp": TEN, "quic": FASTER}
    content = small_content({("10Mbit", "0%"): both, ("10Mbit", "1%"): both}, study)
    assert make_grid(content, study.contrasts[0]).rows == ("0%", "1%")


def test_answer_counts_verdicts_and_claims(paper: ReportContent) -> None:
    both = small_content(
        {("10Mbit",): {"tcp": TEN, "quic": FASTER}, ("50Mbit",): {"tcp": TEN, "quic": TEN}},
        claims=[Claim("a", "source", "quic vs tcp", {"rate": "10Mbit"}, 20.0, True)],
    )
    assert [sentence.replace("\u00a0", " ") for sentence in wording.answer(both)] == [
        "On page load time, QUIC is better than TCP in 1 of 2 cells (by 20 %) and equivalent to TCP in 1 of 2 cells.",
        "The one published direction is reproduced.",
    ]
    assert wording.answer(paper)[-1].startswith("Of 21 published directions, ")


def test_validity_counts_every_attempt(paper: ReportContent) -> None:
    facts = make_validity(paper)
    assert facts.trials == 420
    assert facts.attempts == sum(facts.counts.values()) == facts.trials + facts.retried
    assert facts.counts["invalid"] == facts.retried > 0
    assert ("timed_out", "the client was not done after 60 s", facts.counts["timed_out"]) in facts.reasons


def test_plain_rows_name_contrasts_only_where_there_are_several() -> None:
    content = small_content({("10Mbit",): {"tcp": TEN, "quic": FASTER}})
    header, row = text.plain_rows(content.study, content.estimates)
    assert header[:3] == ("rate", "TCP median", "QUIC median")
    assert row[:4] == ("10Mbit", "500\u00a0ms", "400\u00a0ms", "+20\u00a0%")
    assert row[-1] == "▲ better"
    several = small_study(
        contrasts=(
            Contrast("one", "tcp", "quic", "page_load_time"),
            Contrast("other", "quic", "tcp", "page_load_time"),
        )
    )
    content = small_content({("10Mbit",): {"tcp": TEN, "quic": FASTER}}, several)
    header, *rows = text.plain_rows(content.study, content.estimates)
    assert header[:3] == ("contrast", "metric", "rate")
    assert [row[0] for row in rows] == ["one", "other"]
    assert [row[-1] for row in rows] == ["▲ better", "▼ worse"]


def test_markdown_escapes_what_would_break_the_table() -> None:
    study = small_study(factors=(Factor("rate", (Level("a|b<c>", {}),)),))
    content = small_content({("a|b<c>",): {"tcp": TEN, "quic": FASTER}}, study)
    line = text.markdown_table(content.study, content.estimates).splitlines()[2]
    assert line.startswith("| a\\|b&lt;c> |")


def test_claims_about_cells_that_only_left_out_have_no_figure(tmp_path: Path, paper: ReportContent) -> None:
    elsewhere = [
        replace(item, claim=replace(item.claim, cell={"rate": "1Gbit", "size": "1GB"})) for item in paper.claims
    ]
    written = write_report(tmp_path / "report", replace(paper, claims=elsewhere)).parent
    names = {path.name.partition("-")[0] for path in (written / "figures").iterdir()}
    assert names == {"heatmap", "intervals", "samples"}


def test_claims_in_markdown(paper: ReportContent) -> None:
    lines = text.claims_markdown(paper.claims).splitlines()
    assert len(lines) == 2 + len(paper.claims)
    assert lines[2].startswith("| 10Mbit · 5KB | +45\u00a0% | ")


@pytest.mark.parametrize(
    ("claim", "shown"),
    [
        (Claim("", "", "", {}, 45.0, True), "+45 %"),
        (Claim("", "", "", {}, -99.0, True, 2.0, 99.0), "≤ −99 %"),
        (Claim("", "", "", {}, None, False), "n.s."),
        (Claim("", "", "", {}, None, True), "significant"),
        (Claim("", "", "", {}, 1.0, False), "+1.0 % n.s."),
    ],
)
def test_published_values_are_written_as_their_source_meant_them(claim: Claim, shown: str) -> None:
    assert wording.published(claim).replace("\u00a0", " ") == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(45.2, "+45 %"), (2.34, "+2.3 %"), (-0.04, "0 %"), (9.96, "+10 %"), (-2300.0, "−2,300 %"), (-math.inf, "−∞ %")],
)
def test_effects_in_words(value: float, shown: str) -> None:
    assert wording.effect(value).replace("\u00a0", " ") == shown


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (0.4567, "s", "457 ms"),
        (12.34, "s", "12.3 s"),
        (0.0, "s", "0.00 s"),
        (0.00042, "s", "420 µs"),
        (9.612e6, "bit/s", "9.61 Mbit/s"),
        (1234567.0, "", "1,234,567"),
        (math.nan, "s", "–"),
    ],
)
def test_quantities_in_words(value: float, unit: str, shown: str) -> None:
    assert wording.quantity(value, unit).replace("\u00a0", " ") == shown


@given(st.floats(min_value=-1e6, max_value=1e6), st.sampled_from([Verdict.BETTER, Verdict.WORSE]))
@example(68.0, Verdict.BETTER)
def test_numbers_are_legible_on_every_colour(effect_pct: float, verdict: Verdict) -> None:
    background = colours.cell_colour(effect_pct, verdict)
    assert colours.contrast_ratio(background, colours.text_colour(background)) >= 4.5


@given(st.floats(min_value=0.01, max_value=100), st.floats(min_value=0.01, max_value=100))
def test_larger_effects_are_darker(one: float, other: float) -> None:
    smaller, larger = sorted((one, other))
    for sign in (1, -1):
        lighter, darker = colours.effect_colour(sign * smaller), colours.effect_colour(sign * larger)
        assert colours.contrast_ratio(lighter, "#ffffff") <= colours.contrast_ratio(darker, "#ffffff") + 1e-9


@given(st.lists(st.text(min_size=1, max_size=60), unique=True, max_size=12))
def test_abbreviated_labels_stay_apart(labels: list[str]) -> None:
    short = abbreviated(labels, 10)
    assert len(set(short.values())) == len(labels)
