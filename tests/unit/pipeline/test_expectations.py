"""Expectations through a whole run, with made-up results: judged, kept, sealed, shown and judged again."""

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from longlook.core import Expectation, LonglookError, Outcome, RunFolder, Study
from longlook.engines.fake import FakeEngine
from longlook.pipeline.analyse import Result, analyse_run
from longlook.pipeline.options import Observer, RunOptions
from longlook.pipeline.run import run_study
from longlook.report.expected.junit import expectations_junit
from longlook.report.expected.text import expectation_lines, expectations_counted, expectations_markdown
from longlook.study.catalogue import installed
from longlook.study.expectations import parse
from longlook.study.files import find_study
from longlook.study.plan import make_plan
from longlook.terminal.run_display import fail_where_unexpected

TINY = str(Path(__file__).parents[2] / "data" / "tiny.toml")
SCENARIO = """
schema = 1
title = "t"
question = "q"
metrics = ["page_load_time"]
defaults = { protocol = "h3", connection = "cold", client = "quic-go", server = "quic-go" }
workload = { kind = "page", objects = 1, object = "100KB" }
network = { rate = "50Mbit", rtt = "36ms", queue = "1bdp" }
[arms.sender]
[expect]
page_load_time = ["< 900s", "< 1ns"]
"""


@pytest.fixture(scope="module")
def study() -> Study:
    return find_study(TINY, rounds=2)


def expecting(study: Study, *texts: str, arm: str = "") -> Study:
    found = tuple(parse("page_load_time", text, installed(), arm=arm) for text in texts)
    return replace(study, expectations=(*study.expectations, *found))


def run(study: Study, path: Path, engine: FakeEngine | None = None, *, resume: bool = False) -> Result:
    return run_study(study, path, RunOptions(engine or FakeEngine(), resume=resume), Observer())


def test_every_trial_is_judged_and_the_file_is_sealed(study: Study, tmp_path: Path) -> None:
    wanted = expecting(expecting(study, "< 100s", "< 1ns"), "> 1ns", arm="quic")
    result = run(wanted, tmp_path / "run")
    trials = len(make_plan(study).trials)
    texts = [each.expectation.text for each in result.expectations]
    assert texts == ["< 100s"] * trials + ["< 1ns"] * trials + ["> 1ns"] * (trials // 2)
    assert [each.holds for each in result.expectations] == [True] * trials + [False] * trials + [True] * (trials // 2)
    assert {each.arm for each in result.expectations if each.expectation.arm} == {"quic"}
    written = json.loads((tmp_path / "run" / "expectations.json").read_text())
    assert len(written) == len(result.expectations)
    folder = RunFolder(tmp_path / "run")
    assert folder.broken("expectations.json") is None
    (tmp_path / "run" / "expectations.json").write_text("[]")
    assert folder.broken("expectations.json") is not None
    page = (tmp_path / "run" / "report" / "index.html").read_text()
    assert "2 of 3 expectations hold in all of their 8 trials." in page and "does not hold" in page
    with pytest.raises(LonglookError, match=r"2 of 3 expectations hold .*: 8 of 20 judgements failed"):
        fail_where_unexpected(result)


def test_a_trial_that_failed_fulfils_nothing_and_says_why(study: Study, tmp_path: Path) -> None:
    bad = make_plan(study).trials[0].id
    result = run(expecting(study, "< 900s"), tmp_path / "run", FakeEngine(outcomes={bad: Outcome.FAILED}))
    failed = [each for each in result.expectations if not each.holds]
    assert [each.trial_id for each in failed] == [bad]
    assert failed[0].reason.startswith("the trial is failed: ") and failed[0].seen is None


def test_a_study_without_expectations_has_no_file_and_no_line(study: Study, tmp_path: Path) -> None:
    result = run(study, tmp_path / "run")
    assert result.expectations == []
    assert not (tmp_path / "run" / "expectations.json").exists()
    assert "Expectation" not in (tmp_path / "run" / "report" / "index.html").read_text()
    fail_where_unexpected(result)


def test_a_run_that_is_continued_is_judged_by_what_its_file_says_now(study: Study, tmp_path: Path) -> None:
    run(expecting(study, "< 1ns"), tmp_path / "run")
    result = run(expecting(study, "< 900s"), tmp_path / "run", resume=True)
    assert all(each.holds for each in result.expectations)
    with RunFolder.open(tmp_path / "run") as folder:
        again = analyse_run(folder, Observer())
    assert again.expectations == result.expectations


def test_a_scenario_has_a_report_without_a_comparison(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(SCENARIO)
    result = run(find_study(str(file)), tmp_path / "run")
    assert result.estimates == []
    page = (tmp_path / "run" / "report" / "index.html").read_text()
    assert "1 of 2 expectations holds" not in page and "1 of 2 expectations hold in the trial." in page
    assert "Better and worse" not in page and "All cells" not in page
    told = list(expectation_lines(result.study, result.expectations))
    assert [holds for holds, _ in told] == [True, False]
    assert told[0][1].startswith("passed mine::page_load_time: < 900s – saw ")
    assert told[1][1].startswith("FAILED mine::page_load_time: expected < 1ns, saw ")
    assert told[1][1].endswith(f"(trial {result.expectations[0].trial_id})")
    suite = ElementTree.fromstring(expectations_junit(result.study, result.expectations))[0]
    assert (suite.get("name"), suite.get("tests"), suite.get("failures"), suite.get("errors")) == (
        "mine",
        "2",
        "1",
        "0",
    )
    assert [[each.tag for each in case] for case in suite] == [["system-out"], ["failure"]]
    assert "| FAILED | page_load_time | &lt; 1ns |" in expectations_markdown(result.study, result.expectations)


def test_an_expectation_about_no_trial_that_ran_is_named(study: Study, tmp_path: Path) -> None:
    wanted = expecting(study, "< 900s")
    other: Expectation = replace(wanted.expectations[0], levels={"size": "1MB"})
    result = run(replace(wanted, expectations=(*wanted.expectations, other)), tmp_path / "run")
    counted = expectations_counted(result.study, result.expectations)
    assert counted == "1 of 1 expectation holds in all of their 8 trials; 1 is about no trial that ran"
