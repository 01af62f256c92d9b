"""Studies with the least of everything go through all stages, and through whatever reads a run afterwards."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from markupsafe import escape

from longlook.core import registry
from longlook.core.errors import InputError
from longlook.core.model import Outcome
from longlook.core.problems import Problems
from longlook.core.run_folder import RunFolder
from longlook.engines.fake import FakeEngine
from longlook.explain.rounds import Wanted
from longlook.instruments.atlas.claims.entries import make_entry
from longlook.instruments.atlas.claims.entry import entry_of, entry_text
from longlook.instruments.compare.gate import judge_gate
from longlook.pipeline.analyse import analyse_run
from longlook.pipeline.options import Observer, RunOptions
from longlook.pipeline.run import run_study
from longlook.study.catalogue import installed
from longlook.study.files import parse_study
from longlook.study.plan import make_plan
from longlook.terminal.console import output_console
from longlook.terminal.printer import JsonLinesPrinter, MarkdownPrinter, PeoplePrinter
from longlook.terminal.run_display import RunDisplay
from tests.support.made_up_stack import add_stack
from tests.support.odd_studies import STACK, VERSIONS, OddStudy, odd_studies

ARMS = {arm: {"label": arm, "protocol": "h3"} for arm in ("a", "b")}
LEAST: dict[str, Any] = {
    "schema": 1,
    "title": "least",
    "question": "?",
    "rounds": 1,
    "around": "none",
    "retries_when_invalid": 0,
    "metrics": ["page_load_time"],
    "defaults": {"server": STACK, "client": STACK, "connection": "cold"},
    "arms": ARMS,
    "workload": {"kind": "page", "objects": 1, "object": "5KB"},
    "network": {"rtt": "36ms"},
    "factors": [{"name": "network", "levels": [{"label": "1", "network.rate": "10Mbit"}]}],
    "contrasts": [{"name": "x", "baseline": "a", "contender": "b", "metric": "page_load_time"}],
}
OF_A_POPULATION = LEAST | {
    "figure": {"columns": "network", "rows": [], "kind": "population"},
    "population": {"factor": "network", "shares": {"1": "100%"}, "source": "nowhere"},
}
ALL_FAIL = dict.fromkeys(ARMS, Outcome.FAILED)


@pytest.fixture(scope="module")
def made_up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        add_stack(tmp_path_factory.mktemp("plugins"), patch, STACK, VERSIONS)
        yield
    registry.forget()


@pytest.mark.timeout(900)  # a machine that is busy for minutes proves nothing
@example(OddStudy(LEAST, {}, ()))
@example(OddStudy(LEAST, ALL_FAIL, (0,)))
@example(OddStudy(OF_A_POPULATION, {}, ()))
@example(OddStudy(OF_A_POPULATION, ALL_FAIL, (0,)))
@given(odd_studies())
@settings(
    max_examples=8,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
)
def test_a_study_with_little_of_everything_has_a_report_and_an_answer(made_up: None, odd: OddStudy) -> None:
    study = parse_study("odd", dict(odd.document), Problems("odd"), installed())
    with TemporaryDirectory() as folder:
        engine = FakeEngine(outcomes=odd.outcomes_of(make_plan(study, odd.only)))
        options = RunOptions(engine, use_cache=False, only=odd.only)
        result = run_study(study, Path(folder) / "run", options, Observer())
        assert sum(result.outcomes.values()) == len(engine.ran)
        assert len(result.claims) == len(study.claims)
        assert str(escape(study.title)) in result.report.read_text()
        for printer in (PeoplePrinter(output_console()), JsonLinesPrinter(), MarkdownPrinter(output_console())):
            RunDisplay(printer).conclude(result)
        judge_gate(result.estimates, 5.0, study.analysis)
        entry = make_entry(result.path, [])
        assert [item.result for item in entry_of(entry_text(entry)).claim_results()] == [
            item.result for item in result.claims
        ]
        _look_inside(RunFolder.open(result.path))


def _look_inside(folder: RunFolder) -> None:
    try:
        analyse_run(folder, Observer(), Wanted(("all",)))
    except InputError as error:
        assert "no trial of cell" in error.message  # there is nothing inside trials that all went wrong
