"""Several runs beside everything published: what is covered, what it says, and what the page and its JSON hold."""

import html
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from longlook.core.errors import InputError
from longlook.core.model import Claim, ClaimKind, ExpectedLevel, Verdict
from longlook.core.results import Agreement
from longlook.core.run_folder import write_json
from longlook.instruments.atlas.claims.counts import result_counts
from longlook.instruments.atlas.claims.entries import EntryFolder, make_entry
from longlook.instruments.atlas.claims.run import make_survey, survey_runs
from longlook.instruments.atlas.claims.survey import Survey, survey_data
from longlook.instruments.atlas.show import claims_table, summary_table
from longlook.report import wording
from longlook.report.content import metric_facts
from longlook.report.wording import statement
from longlook.study.files import find_study
from tests.data.claims import paper_run, write_run
from tests.data.report import paper_content
from tests.unit.instruments.atlas.claims.test_dispute import EXAMPLE
from tests.unit.report.test_report import References

NBSP = "\u00a0"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("runs")
    return {
        "sizes": paper_run(root / "sizes", "kakhki2017-fig6a"),
        "counts": paper_run(root / "counts", "kakhki2017-fig6b", ["rate=50Mbit"], report=False),
    }


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("page") / "claims"


@pytest.fixture(scope="module")
def survey(runs: dict[str, Path], out: Path) -> Survey:
    made, page = survey_runs(list(runs.values()), out)
    assert page == out / "index.html"
    return made


def test_every_claim_of_every_installed_study_is_there(survey: Survey) -> None:
    assert [item.study.id for item in survey.covered] == ["kakhki2017-fig6a", "kakhki2017-fig6b"]
    assert {item.study.id for item in survey.not_run} >= {"demo", "kakhki2017-fig8a", "kakhki2017-fig3"}
    sizes, counts = survey.covered
    assert len(sizes.claims) == 21 and result_counts(sizes.claims)[Agreement.NOT_RUN] == 0
    assert result_counts(counts.claims)[Agreement.NOT_RUN] == 12  # two rates that were not run
    (open_study,) = [item for item in survey.not_run if item.study.id == "kakhki2017-fig8a"]
    assert {item.result for item in open_study.claims} == {Agreement.NOT_RUN}
    assert all(item.reason == "not run: longlook run kakhki2017-fig8a" for item in open_study.claims)


def test_a_claim_says_who_against_whom_and_leads_to_its_cell(survey: Survey, out: Path) -> None:
    claim = next(item for item in survey.covered[0].claims if item.claim.cell == {"rate": "50Mbit", "size": "1MB"})
    assert claim.statement == (f"QUIC is better than TCP in page load time by 38{NBSP}% (rate 50Mbit, size 1MB).")
    assert claim.published == f"+38{NBSP}%"
    assert claim.ours is not None and claim.ours.kind == "effect" and claim.ours.n == 10
    assert claim.link is not None
    page, anchor = claim.link.split("#")
    report = (out / page).read_text()
    article = report[report.index(f'id="{anchor}"') :][:600]
    assert "50Mbit" in article and "1MB" in article


def test_without_a_report_there_is_no_link(survey: Survey, out: Path) -> None:
    assert survey.covered[1].run is not None and survey.covered[1].run.report is None
    assert all(item.link is None for item in survey.covered[1].claims)
    page = (out / "index.html").read_text()
    assert "its report is absent" in page and "no report" in page


def test_the_page_loads_nothing_and_its_links_lead_somewhere(survey: Survey, out: Path) -> None:
    references = References()
    references.feed((out / "index.html").read_text())
    assert references.loaded == []
    files = [link.split("#")[0] for link in references.links if not link.startswith("#")]
    assert len(files) > 20
    assert all((out / file).is_file() for file in files)


def test_the_json_says_the_same(survey: Survey, out: Path) -> None:
    data = json.loads((out / "claims.json").read_text())
    assert data == survey_data(survey)
    assert data["schema_version"] == 4
    assert sum(data["summary"]["total"].values()) == len(data["claims"]) == len(survey.claims)
    stated = data["summary"]["statements"]
    assert set(stated) == set(ClaimKind)
    names = {item.claim.statement for item in survey.claims}
    assert sum(sum(counts.values()) for counts in stated.values()) == len(names) < len(survey.claims)
    same = [claim for claim in data["claims"] if claim["result"] == "same size"]
    assert same and all(claim["factor"] >= 1 for claim in same)
    assert data["not_run"]["kakhki2017-fig8a"] == "longlook run kakhki2017-fig8a"
    assert {claim["welch"]["verdict"] for claim in data["claims"] if claim["welch"]} >= {"better"}
    sizes = next(item for item in data["disputes"] if item["id"] == "file-size")
    assert {"flips", "undecidable", "settled"} <= set(sizes)
    rtt = next(item for item in data["disputes"] if item["id"] == "base-rtt")
    assert rtt["conclusion"]["kind"] == "undecidable" and rtt["undecidable"]["needs"]
    levels = sizes["evidence"][0]["levels"]
    assert levels[0]["level"] == "5KB" and set(levels[0]["positions"]) == {"shrinks", "grows"}


def test_disputes_are_judged_by_the_runs_there_are(survey: Survey, out: Path) -> None:
    disputes = {item.dispute.id: item for item in survey.disputes}
    # The measurements are made up after the paper, in which the gain shrinks with size where the link is slow.
    slow = disputes["file-size"].evidence[0]
    assert slow.conclusion.positions == ("shrinks",)
    counts = disputes["many-small-objects"]
    assert counts.evidence[1].conclusion.positions == ("TCP is faster",)
    few = next(item for item in counts.evidence if item.evidence.control and item.evidence.cell == {"rate": "50Mbit"})
    assert few.conclusion.text == "control, decides nothing: as all positions predict"
    assert counts.evidence[0].points[0].missing == "this cell was not run"
    assert counts.commands[0] == "longlook run kakhki2017-fig6b"
    assert disputes["loss"].conclusion.text.startswith("open")
    assert disputes["loss"].commands[:2] == ("longlook run kakhki2017-fig8a", "longlook run kakhki2017-fig8d")
    figures = {path.name for path in (out / "figures").iterdir()}
    assert {f"dispute-file-size.{ending}" for ending in ("svg", "png", "pdf")} <= figures
    assert not any(name.startswith("dispute-loss") for name in figures)


def test_levels_of_one_arm_are_evidence_too(
    runs: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = EXAMPLE.replace("{ at_least = 0 }", "{ at_most = 0.5 }").replace("tolerance = 3", "tolerance = 0.01")
    folder = tmp_path / "disputes"
    folder.mkdir()
    (folder / "level.toml").write_text(
        text.replace('contrast = "quic vs tcp"', 'arm = "quic"\nmetric = "time_to_first_byte"')
    )
    (folder / "effect.toml").write_text(
        EXAMPLE.replace('factor = "size"', 'factor = "size"\nmetric = "handshake_time"')
    )
    monkeypatch.setenv("LONGLOOK_PLUGINS", str(tmp_path))
    disputes = {item.dispute.id: item for item in make_survey([runs["sizes"]], tmp_path / "out").disputes}
    (level,) = disputes["level"].evidence
    assert level.points[0].value == pytest.approx(0.036, rel=0.05)
    assert level.conclusion.positions == ("positive",)
    (effect,) = disputes["effect"].evidence
    assert effect.points[0].value == pytest.approx(50)


def test_an_entry_of_an_atlas_says_what_its_run_says(runs: dict[str, Path], survey: Survey, tmp_path: Path) -> None:
    names = [item.study.id for item in survey.covered]
    folder = EntryFolder(tmp_path / "entries", names)
    for run in runs.values():
        folder.keep(make_entry(run, [item.dispute for item in survey.disputes]))
    files = [folder.file(name) for name in names]
    found, page = survey_runs(files, tmp_path / "out")
    unlinked = [replace(claim, link=None) for claim in survey.claims]
    assert found.claims == unlinked and found.disputes == survey.disputes
    assert any(item.evidence and item.evidence[0].points[0].value is not None for item in found.disputes)
    assert "its report is not at hand" in page.read_text()


def test_of_two_runs_of_a_study_the_newer_counts(tmp_path: Path) -> None:
    content = paper_content("kakhki2017-fig6a", ["rate=50Mbit"])
    newer = {**content.manifest, "finished_unix_s": 1795245961}
    old = write_run(tmp_path / "old", content, ["rate=50Mbit"], report=False)
    new = write_run(tmp_path / "new", replace(content, manifest=newer), ["rate=50Mbit"], report=False)
    for order in ([old, new], [new, old]):
        survey = make_survey(order, tmp_path / "out")
        (study,) = survey.covered
        assert study.run is not None and study.run.path == str(new)
        assert {run.path: run.replaced_by for run in survey.runs} == {str(old): str(new), str(new): None}
    assert len(make_survey([old, old], tmp_path / "out").runs) == 1


def test_a_run_that_departs_from_its_study_says_so(tmp_path: Path) -> None:
    content = paper_content("kakhki2017-fig6a", ["rate=50Mbit"])
    changes = {"network.rtt": "112ms", "arms.quic.connection": "cold", "analysis.alpha": "0.05"}
    known = replace(find_study("kakhki2017-fig6a", changes=changes), claims=content.study.claims[:-1])
    run = write_run(
        tmp_path / "far", replace(content, study=known, claims=content.claims[:-1]), ["rate=50Mbit"], report=False
    )
    survey, page = survey_runs([run], tmp_path / "out")
    (study,) = survey.covered
    assert study.run is not None
    assert study.run.changes == (
        "network.rtt = 112ms instead of 36ms",
        "arms.quic.connection = cold instead of 0rtt",
        "analysis.alpha = 0.05 instead of 0.01",)  # fmt: skip
    assert "network.rtt = 112ms instead of 36ms" in page.read_text()
    assert study.claims[-1].result is Agreement.NOT_RUN
    assert study.claims[-1].reason == (
        "not part of the run: its study did not have this claim yet, or --only left its contrast out"
    )


def test_the_summary_on_a_terminal(survey: Survey) -> None:
    console = Console(width=140, record=True, file=None, force_terminal=False)
    with console.capture() as captured:
        console.print(summary_table(survey))
    text = captured.get()
    assert re.search(r"kakhki2017-fig6a .* 21 ", text)
    assert re.search(rf"total .* {len(survey.claims)} ", text)


def test_the_papers_own_test_stands_beside_each_effect(survey: Survey, out: Path) -> None:
    (study,) = [item for item in survey.covered if item.study.id == "kakhki2017-fig6a"]
    tested = [item for item in study.claims if item.ours is not None and item.ours.kind == "effect"]
    assert tested and all(item.welch is not None for item in tested)
    shown = wording.welch(tested[0].welch)
    assert re.fullmatch("(better|worse|no difference), p\u00a0[<=]\u00a0[0-9.]+", shown)
    assert html.escape(shown) in (out / "index.html").read_text(encoding="utf-8")
    console = Console(width=200, record=True, file=None, force_terminal=False)
    with console.capture() as captured:
        console.print(claims_table(survey))
    assert "Welch's test" in captured.get()


@pytest.mark.parametrize(
    ("broken", "messages"),
    [
        (lambda run: (run / "claims.json").unlink(), ["has not been analysed", "longlook report"]),
        (lambda run: (run / "estimates.parquet").write_text("no"), ["estimates.parquet", "longlook report"]),
        (lambda run: (run / "samples.parquet").write_text("no"), ["samples.parquet", "longlook report"]),
        (lambda run: write_json(run / "manifest.json", {"schema_version": 9}), ["schema version 9"]),
        (lambda run: (run / "manifest.json").unlink(), ["is not a run folder"]),
    ],
)
def test_run_folders_that_cannot_be_read(tmp_path: Path, broken: object, messages: list[str]) -> None:
    run = paper_run(tmp_path / "run", "kakhki2017-fig6a", ["rate=50Mbit"], report=False)
    assert callable(broken)
    broken(run)
    with pytest.raises(InputError) as caught:
        make_survey([run], tmp_path / "out")
    reported = f"{caught.value.message} {caught.value.hint}"
    assert all(message in reported for message in messages), reported


def test_a_run_folder_is_not_written_over(runs: dict[str, Path]) -> None:
    before = (runs["sizes"] / "claims.json").read_text()
    for out in (runs["sizes"], runs["sizes"] / "report"):
        with pytest.raises(InputError, match="is a run folder, or in one"):
            survey_runs([runs["counts"]], out)
    assert (runs["sizes"] / "claims.json").read_text() == before


def test_statements() -> None:
    study = find_study("kakhki2017-fig6a")
    facts = metric_facts(study)
    cell = {"rate": "10Mbit"}
    claim = Claim("c", "paper", "quic vs tcp", cell, 38.0, significant=True, clipped_at_pct=99.0)
    level = replace(claim, contrast="", effect_pct=None)
    reported = {
        statement(item, study, facts).replace(NBSP, " ")
        for item in (
            claim,
            replace(claim, effect_pct=-99.0),
            replace(claim, effect_pct=None, significant=False),
            replace(claim, effect_pct=None, direction=Verdict.WORSE, cell={}),
            replace(claim, effect_pct=None),
            replace(level, expected=ExpectedLevel("quic", "page_load_time", 1.2, at_least=1)),
            replace(level, expected=ExpectedLevel("quic", "page_load_time", at_least=1, at_most=2)),
            replace(level, expected=ExpectedLevel("quic", "page_load_time", 1.2, at_least=1), origin="read as"),
            replace(claim, origin="derived"),
        )
    }
    assert reported == {
        "QUIC is better than TCP in page load time by 38 % (rate 10Mbit).",
        "QUIC is better than TCP in page load time by 38 % (derived) (rate 10Mbit).",
        "QUIC: page load time is 1.20 s (read as) (rate 10Mbit).",
        "QUIC is worse than TCP in page load time by 99 % or more (rate 10Mbit).",
        "QUIC and TCP do not differ significantly in page load time (rate 10Mbit).",
        "QUIC is worse than TCP in page load time.",
        "QUIC and TCP differ in page load time, the source does not say which way (rate 10Mbit).",
        "QUIC: page load time is 1.20 s (rate 10Mbit).",
        "QUIC: page load time is at least 1.00 s and at most 2.00 s (rate 10Mbit).",
    }
