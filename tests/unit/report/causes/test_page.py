"""The page of explanations without a browser: what it holds, that it loads nothing, and that it is reproducible."""

import json
import re
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from longlook.explain.answer import Answer
from longlook.explain.attribution import Share
from longlook.report.causes.charts import ShareRow, share_chart, waterfall_figure
from longlook.report.causes.page import write_explanation
from longlook.report.charts.export import to_svg
from longlook.report.write import write_report
from tests.data import answers
from tests.data.answers import answer, explained, judged
from tests.data.report import small_content
from tests.unit.report.test_report import References

HOSTILE = "</script><script>alert('x')</script>\"|{{ 7 * 7 }} \u2028"


def text_of(page: str) -> str:
    """The text of a page as a reader has it."""
    body = re.sub(r"<(script|style).*?</\1>", "", page, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", body)).split())


def data_of(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="longlook-data">(.*?)</script>', page, flags=re.DOTALL)
    assert found
    parsed: dict[str, Any] = json.loads(found[1])
    return parsed


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_explanation(tmp_path_factory.mktemp("run") / "explain", answers.ALL).parent


@pytest.fixture(scope="module")
def page(folder: Path) -> str:
    return (folder / "index.html").read_text(encoding="utf-8")


def test_the_page_loads_nothing_and_links_to_the_report(page: str) -> None:
    references = References()
    references.feed(page)
    assert references.loaded == []
    anchors = set(re.findall(r'\bid="([^"]+)"', page))
    assert {link[1:] for link in references.links if link.startswith("#")} <= anchors
    assert {link for link in references.links if not link.startswith("#")} == {"../report/index.html"}


def test_the_same_answers_give_the_same_bytes(tmp_path: Path, folder: Path) -> None:
    again = write_explanation(tmp_path / "explain", answers.ALL).parent
    files = sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    assert files == sorted(path.relative_to(again) for path in again.rglob("*") if path.is_file())
    assert [path for path in files if (folder / path).read_bytes() != (again / path).read_bytes()] == []


def test_every_outcome_is_stated(page: str) -> None:
    text = text_of(page)
    for part in (
        "Nothing to explain: equivalent",
        "No verdict says that an arm lost, so nothing is explained: inconclusive",
        "No round went well on both arms: 10 of 10 rounds failed",
        "No cause is suspected: no detector saw a cause.",
        "No counterfactual trial ran.",
    ):
        assert part in text


def test_a_finding_has_its_verdict_evidence_changes_and_source(page: str) -> None:
    text = text_of(page).replace("\u00a0", " ")
    for part in (
        "Larger cut at a loss ✓ confirmed 71 % (67 to 75 %) of the gap",
        "Server of QUIC (quic-go 0.65.0, Cubic); seen in 10 of 10 rounds; it could cost 1.19 s of the load at most.",
        "63.0 ms: the window falls from 86 to 43 KB",
        "0.7 of the window left server_knobs.window_after_loss = 0.7 cure mechanism QUIC (quic-go 0.65.0, Cubic) "
        "71 % (67 to 75 %) 0.0003 10 confirmed",
        "an initial window of 10 packets server_knobs.x = 1 transplant mechanism TCP (Linux, Cubic) 19 % (15 to 23 %)",
        "Capped congestion window ✗ refuted Suspected: its congestion window stops",
        "Timer too long – untestable Suspected:",
        "Not tested: server quiche@0.28.0 has no knob initial_rtt",
        "Source: Kakhki et al., IMC 2017, 4.1; RFC 6928.",
        "The gap follows the dose.",
        "all together 91 % (86 to 96 %) not explained 9.0 % (4.0 to 14 %)",
        "protocol: differs between the arms",
        "longlook explain runs/small 10Mbit_1",
    ):
        assert part in text, part


def test_failing_trials_have_what_they_share_beside_good_ones(page: str) -> None:
    text = text_of(page).replace("\u00a0", " ")
    for part in (
        "Failing trials QUIC (quic-go 0.65.0, Cubic) failed in 10 of 10 trials.",
        "With traces, 3 of 3 trials failed again.",
        "A 0rtt connection was asked for, and it was resumed (3 of 3).",
        "In all of them: early data was sent (in the other arm, in 0 of 3 good trials).",
        "They show signs of early data refused (3).",
        "early data was sent 3 0",
        "handshake 40.1 ms 20.0 ms",
    ):
        assert part in text, part


def test_findings_stand_in_the_order_of_the_answer(page: str) -> None:
    titles = re.findall(r"<h4>(.*?)</h4>", page)
    assert titles[:4] == [item.title for item in answer().findings]


def test_every_class_of_time_has_a_row_and_the_loads_stand_below(page: str) -> None:
    text = text_of(page).replace("\u00a0", " ")
    assert "congestion window 403 ms 1.31 s +908 ms" in text
    assert "unexplained 0 3.50 ms +3.50 ms" in text
    assert "load 1.38 s 2.56 s +1.18 s" in text


def test_each_answer_draws_what_it_has(page: str) -> None:
    drawn = {name: set(found["specs"]) for name, found in data_of(page).items()}
    assert drawn["a1"] == {"ledger", "waterfall", "shares0", "shares1", "shares2", "dose1", "singles"}
    assert drawn["a2"] == drawn["a3"] == drawn["a4"] == set()
    assert drawn["a5"] == {"ledger", "waterfall"}
    wanted = set(re.findall(r'data-section="(a\d+)" data-overview="(\w+)"', page))
    assert wanted == {(name, chart) for name, charts in drawn.items() for chart in charts}


def test_the_waterfall_of_each_ledger_is_a_figure(folder: Path, tmp_path: Path) -> None:
    names = {path.name for path in (folder / "figures").iterdir()}
    cells = ("10mbit-1", "50mbit-unexplained", "not-searched", "searched", "throughput")
    assert names == {f"waterfall-{cell}.{ending}" for cell in cells for ending in ("svg", "png", "pdf")}
    fewer = write_explanation(tmp_path, [answer()]).parent / "figures"
    write_explanation(tmp_path, [replace(answer(), cell_id="other")])
    assert {path.stem for path in fewer.iterdir()} == {"waterfall-other"}


def test_the_waterfall_says_every_step_and_both_loads() -> None:
    svg = to_svg(waterfall_figure(answer(), "Why", ["about"])).replace("\u00a0", " ")
    for part in ("+908 ms", "+212 ms", "−20.2 ms", "4 other classes", "1.38 s", "2.56 s", "congestion window"):
        assert part in svg, part


def test_shares_beyond_all_bounds_stay_in_the_chart() -> None:
    rows = [ShareRow("wild", Share(4000.0, -9e9, 9e9)), ShareRow("unbounded", Share(108.0, None, None))]
    spec = share_chart(rows, 300).to_dict()
    assert spec["layer"][2]["encoding"]["x"]["scale"]["domain"] == [-150, 250]
    assert "unbounded" in to_svg(share_chart(rows, 300))


def hostile() -> Answer:
    """Text that would be markup, script or a template wherever a label, a cause or a command is shown."""
    made = judged(HOSTILE, settings={HOSTILE: HOSTILE})
    item = explained(
        title=HOSTILE, sentence=HOSTILE, source=HOSTILE, evidence=(HOSTILE,), cures=(made,), untestable=(HOSTILE,)
    )
    return answer(
        loser_label=f"one {HOSTILE}",
        winner_label=f"two {HOSTILE}",
        cell={HOSTILE: HOSTILE},
        command=HOSTILE,
        checked=(HOSTILE,),
        left_out=(HOSTILE,),
        findings=(item,),
    )


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    page = write_explanation(tmp_path, [hostile()]).read_text(encoding="utf-8")
    assert "<script>alert" not in page
    assert "49" not in re.findall(r"<h4>(.*?)</h4>", page)[0]
    assert "</script><script>alert('x')" in text_of(page)
    assert data_of(page)["a1"]["specs"]


def test_no_answers_are_an_outcome_too(tmp_path: Path) -> None:
    page = write_explanation(tmp_path, []).read_text(encoding="utf-8")
    assert "there is nothing to explain" in text_of(page)


def test_a_report_says_why_and_links_to_the_proof(tmp_path: Path) -> None:
    content = small_content({("10Mbit",): {"tcp": [0.5] * 3, "quic": [0.4] * 3}})
    explained_run = replace(content, answers=(answer(), hostile()))
    page = write_report(tmp_path / "report", explained_run).read_text(encoding="utf-8")
    assert 'href="../explain/index.html#a1"' in page
    assert 'href="#why"' in page
    assert "it keeps only 0.50 of its window at a loss" in text_of(page).lower()
    assert "<script>alert" not in page
    assert 'id="why"' not in write_report(tmp_path / "report", content).read_text(encoding="utf-8")


def test_what_was_searched_has_a_part_of_its_own(page: str) -> None:
    text = text_of(page).replace("\u00a0", " ")
    assert text.count("Searched beyond what traces show") == 2
    assert "2 settings varied in 20 combinations, each in 3 rounds (114 trials)" in text
    assert "max_window 10000 packets of the server both arms +69 %" in text
    assert "round 1: 2 packets of 59 that are lost, forgiven, close 82 % of its gap" in text
    assert "seen by screening, 3 of 10 rounds" in text
    assert "Settings were not screened: a screening of 16 settings takes 114 trials" in text
