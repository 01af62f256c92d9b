"""The atlas's page: figures as published beside ours, links that lead somewhere, and few bytes."""

import re
from dataclasses import replace

import pytest

from longlook.core.model import Claim, ExpectedLevel, Study
from longlook.core.results import Agreement
from longlook.engines.fake import FakeEngine
from longlook.explain.answer import Answer, Status
from longlook.instruments.atlas.claims.survey import Ours, SurveyedClaim
from longlook.instruments.atlas.content import Atlas, summary_rows
from longlook.instruments.atlas.maps import Map, maps_of, without_run
from longlook.instruments.atlas.page import level_bars, summary_markdown
from longlook.instruments.atlas.papers import OWN, PAPERS, checks_laboratory, paper_of, papers_of, reading_order
from longlook.instruments.atlas.run import AtlasFolder, Built
from longlook.instruments.atlas.runs import AtlasOptions
from longlook.pipeline.answers import write_answers
from longlook.study.files import find_study
from tests.data.atlas import made_up_run
from tests.data.report import small_study
from tests.unit.report.test_report import References

RUN = ("kakhki2017-fig8c", "kakhki2017-fig10", "kakhki2017-tab4")
MOST_BYTES_A_STUDY = 5_000_000 / 30
EXPLAINED = "why it is so"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """An atlas with runs of a study of many contrasts, of one whose contrasts are rows, and of one of levels."""
    out = tmp_path_factory.mktemp("atlas")
    for name in RUN:
        made_up_run(out / "runs" / name, find_study(name))
    explain = out / "runs" / RUN[1] / "explain"
    cell = {"rate": "100Mbit", "size": "10MB"}
    answer = Answer(
        study=RUN[1], cell=cell, cell_id="100Mbit_10MB", contrast="threshold 3 vs tcp", metric="page_load_time",
        status=Status.NO_GAP, reason=EXPLAINED, command="",
    )  # fmt: skip
    write_answers(explain, answer)
    (explain / "index.html").write_text("<title>explained</title>")
    return AtlasFolder(AtlasOptions(out, FakeEngine)).build()


def article(built: Built, name: str) -> str:
    page = built.page.read_text()
    start = page.index(f'<article class="study entry" id="{name}"')
    return page[start : page.index("</article>", start)]


def figures(built: Built, name: str) -> list[Map]:
    (item,) = [each for each in built.atlas.studies if each.id == name]
    return maps_of(item, without_run(item), {})


def test_the_page_loads_nothing_and_its_links_lead_somewhere(built: Built) -> None:
    page = built.page.read_text()
    references = References()
    references.feed(page)
    assert references.loaded == [] and "@import" not in page
    files = {link.split("#")[0] for link in references.links if not link.startswith("#")}
    assert {f"runs/{name}/report/index.html" for name in RUN} <= files
    assert all((built.page.parent / file).is_file() for file in files)
    anchors = set(re.findall(r'\bid="([^"]+)"', page))
    assert {link[1:] for link in references.links if link.startswith("#")} <= anchors


def test_every_study_and_every_claim_is_there(built: Built) -> None:
    page = built.page.read_text()
    assert len(built.atlas.claims) == len(built.atlas.survey.claims) > 400
    assert page.count('<article class="study entry"') == len(built.atlas.studies)
    assert page.count("<tr data-result=") == len(built.atlas.claims)


def test_a_published_figure_stands_there_without_a_run_too(built: Built) -> None:
    (first, *_) = figures(built, "kakhki2017-fig6a")
    assert first.heading == "QUIC against TCP: page load time" and first.ours is None
    assert (first.frame.rows, len(first.frame.columns)) == (("10Mbit", "50Mbit", "100Mbit"), 7)
    assert first.published is not None and first.published["10Mbit", "5KB"].text == "+45"
    text = article(built, "kakhki2017-fig6a")
    assert "<figcaption>Published" in text and "<figcaption>Today" not in text
    assert "longlook run kakhki2017-fig6a" in text


def test_contrasts_of_one_row_stand_in_one_figure(built: Built) -> None:
    first, *rest = figures(built, "kakhki2017-fig10")
    assert first.heading == "Against TCP: page load time (10MB)" and rest == []
    assert first.frame.rows[0] == "QUIC, threshold 3" and len(first.frame.rows) == 6
    assert first.published is not None and first.published["QUIC, threshold 30", "50Mbit"].text == "n.s."
    text = article(built, "kakhki2017-fig10")
    assert text.count("<figcaption>Published") == 1 and text.count("<figcaption>Today") == 2


def test_a_cell_leads_to_the_report_and_to_its_explanation(built: Built) -> None:
    text = article(built, "kakhki2017-fig10")
    cell, row = re.findall(r"<td[^>]*>(?:(?!</td>).)*>why</a></td>", text)
    assert "see the cell" in row
    assert 'href="runs/kakhki2017-fig10/report/index.html#c1-3"' in cell
    assert 'href="runs/kakhki2017-fig10/explain/index.html#a1"' in cell
    assert EXPLAINED.capitalize() in text


def test_the_run_is_named_by_its_command_and_digest(built: Built) -> None:
    text = article(built, "kakhki2017-tab4")
    assert "longlook run kakhki2017-tab4" in text and "5b" * 8 in text
    table = summary_markdown(summary_rows(built.atlas))
    row = next(line for line in table.splitlines() if "kakhki2017-tab4" in line)
    results = f"{'5b' * 8}, of an earlier version of the study"  # made-up runs draw nothing
    assert row.split(" | ")[-3:] == ["2026-11-21", results, "longlook run kakhki2017-tab4 |"]
    assert not re.search(r"\| corbel2019-emulation ", table)  # no claims, not run


def test_thirty_studies_fit_into_five_megabytes(built: Built) -> None:
    """The study with most contrasts, each a heatmap of 21 cells, and one of many rows, stay below a thirtieth."""
    for name in RUN:
        assert len(article(built, name).encode()) < MOST_BYTES_A_STUDY, name
    rest = built.page.stat().st_size - sum(len(article(built, name).encode()) for name in RUN)
    assert rest < 12_000 * len(built.atlas.studies)  # the claims of every study, run or not


def test_levels_are_drawn_beside_what_was_published() -> None:
    claim = Claim("c", "paper", "", {}, None, True, expected=ExpectedLevel("quic", "share_of_used", 62.6, at_least=55))
    ours = Ours("level", 80.0, 78.0, 83.0, "%", 30)
    item = SurveyedClaim("s", "QUIC has much.", "62.6", claim, ours, Agreement.WITHIN_BOUNDS, "", None)
    other = replace(item, claim=replace(claim, id="<d>"), ours=None, result=Agreement.NOT_RUN)
    bars = level_bars([item, other])
    assert bars["c"].count("<circle") == 1 and "#4d7a1f" in bars["c"] and "<path" in bars["c"]
    assert "<circle" not in bars["<d>"]
    x = float(re.search(r'<circle cx="([\d.]+)"', bars["c"])[1])  # type: ignore[index]
    published = float(re.search(r'<path d="M([\d.]+)', bars["c"])[1])  # type: ignore[index]
    assert published < x < 180
    effect = replace(item, claim=replace(claim, expected=None, effect_pct=5.0, contrast="quic vs tcp"))
    assert level_bars([effect]) == {}


def named(name: str, source: str = "a source") -> Study:
    return small_study(id=name, source=source)


def test_studies_belong_to_papers() -> None:
    assert paper_of(named("kakhki2017-fig6a")).title == "Taking a Long Look at QUIC"
    assert paper_of(named("demo")).key == paper_of(named("rtt-estimates")).key == OWN
    assert paper_of(named("smith2030-fig1", "Smith, 2030")).title == "Smith, 2030"
    keys = [paper.key for paper in papers_of([named("demo"), named("smith2030-a"), named("yu2021-b")])]
    assert keys == ["yu2021", "smith2030", OWN]
    assert len({paper.key for paper in PAPERS}) == len(PAPERS)
    ids = ["kakhki2017-fig10", "kakhki2017-fig6b", "kakhki2017-fig6a"]
    assert sorted(ids, key=reading_order) == ids[::-1]
    assert checks_laboratory("none: a check") and not checks_laboratory("a paper")


def test_an_atlas_counts_its_claims(built: Built) -> None:
    atlas: Atlas = built.atlas
    assert sum(len(paper.claims) for paper in atlas.papers) == len(atlas.claims)
    assert {paper.paper.key for paper in atlas.papers} <= {paper.key for paper in PAPERS}
