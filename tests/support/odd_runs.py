"""Everything that reads a run after its engine, asked once of a run of an odd study."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from markupsafe import escape

from longlook.cli.show.trace import hars_shown
from longlook.core.errors import InputError, LonglookError
from longlook.core.model import Outcome, Study
from longlook.core.run_folder import RunFolder
from longlook.engines.fake import FakeEngine
from longlook.explain.rounds import Wanted
from longlook.instruments.atlas import run as atlas
from longlook.instruments.atlas.claims import run as claims
from longlook.instruments.atlas.claims.entries import make_entry, read_found
from longlook.instruments.atlas.claims.entry import entry_of, entry_text
from longlook.instruments.atlas.claims.page import write_claims_page
from longlook.instruments.atlas.runs import AtlasOptions, adopt
from longlook.instruments.compare.gate import judge_gate
from longlook.pipeline.analyse import Result, analyse_run
from longlook.pipeline.explain import ExplainRequest, explain_run
from longlook.pipeline.hars import export_hars
from longlook.pipeline.options import Observer, RunOptions
from longlook.pipeline.run import run_study
from longlook.terminal.console import output_console
from longlook.terminal.printer import JsonLinesPrinter, MarkdownPrinter, PeoplePrinter
from longlook.terminal.run_display import RunDisplay
from longlook.timeline.export import convert

FORMATS = ("qlog", "pcapng", "har", "play", "parquet", "csv")


def run_and_read(study: Study, only: tuple[str, ...], engine: FakeEngine, folder: Path) -> Result:
    """Run a study whole, and read the run in every way in which a command reads one; return what the run gave."""
    options = RunOptions(engine, use_cache=False, only=only)
    result = run_study(study, folder / "run", options, Observer())
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
    _look_inside(RunFolder.open(result.path), folder, any_good=result.outcomes[Outcome.OK] > 0)
    _survey(study, result, folder)
    _explain(result, options)
    return result


def _look_inside(run: RunFolder, folder: Path, *, any_good: bool) -> None:
    with _refusal("no trial of cell"), pytest.MonkeyPatch.context() as patch:
        # There is nothing inside trials that all went wrong. The report is written already, without links to pages.
        patch.setattr("longlook.pipeline.analyse.write_report", lambda place, _content: place / "index.html")
        analyse_run(run, Observer(), Wanted(("all",)))
    with _refusal("has a page load"):
        PeoplePrinter(output_console()).show(hars_shown(export_hars(run, folder / "hars"), folder / "hars"))
    finished = [trial for trial in run.plan.trials if run.result(trial.id) is not None]
    for name in FORMATS if any_good else ():
        trial = next(each for each in finished if run.result(each.id).outcome is Outcome.OK)
        with _refusal(""):
            convert(run.trials / trial.id, name, folder / f"converted.{name}")


@contextlib.contextmanager
def _refusal(says: str) -> Iterator[None]:
    """Let a command refuse with one sentence and a hint, which says this."""
    try:
        yield
    except InputError as error:
        assert says in error.message
        assert "\n" not in error.message
        assert error.hint


def _survey(study: Study, result: Result, folder: Path) -> None:
    """Make the claims page of the run, and an atlas that has adopted it."""
    installed = {study.id: study}
    out = folder / "claims"
    out.mkdir()
    found = claims.survey([read_found(result.path, [])], installed, [], out)
    page = write_claims_page(found, out).read_text()
    assert study.id in page
    for item in found.studies:
        assert len(item.claims) == len(study.claims)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(atlas, "list_studies", lambda: [study])
        patch.setattr(atlas, "list_disputes", lambda _installed: [])
        adopt(result.path, folder / "atlas", installed)
        options = AtlasOptions(folder / "atlas", FakeEngine, (study.id,))
        built = atlas.AtlasFolder(options).build()
    assert str(escape(study.title)) in built.page.read_text()


def _explain(result: Result, options: RunOptions) -> None:
    try:
        explain_run(RunFolder.open(result.path), ExplainRequest(budget=2), options, Observer())
    except LonglookError as error:
        assert error.message
        assert error.hint
