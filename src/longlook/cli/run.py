"""`longlook run` and `longlook report`: arguments to calls; no logic of their own."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from longlook.core.errors import InputError, InterruptedByUserError, LonglookError, MachineError
from longlook.core.model import Study
from longlook.terminal.options import AsJson, EngineOptions, StudyChanges, expand_options, new_folder


@dataclass(frozen=True)
class _Extent:
    """How much is run."""

    verify: Annotated[
        int, typer.Option(min=0, metavar="N", help="Then run every trial N times more and compare every byte.")
    ] = 0
    many: Annotated[
        bool, typer.Option("--many", help="Take a plan of more than 100 000 trials, without a question.")
    ] = False


@expand_options
def run(
    study: Annotated[str, typer.Argument(help="A study's name, or the path of a study file.")],
    engine: EngineOptions,
    changes: StudyChanges,
    extent: _Extent,
    out: Annotated[Path | None, typer.Option(help="The run folder; default runs/STUDY-TIME.")] = None,
    resume: Annotated[Path | None, typer.Option(help="Continue this run folder.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would run, and run nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run a study and write its report."""
    from longlook.core.run_folder import RunFolder
    from longlook.engines.choice import make_engine
    from longlook.network import trace_store
    from longlook.pipeline.options import RunOptions
    from longlook.provision.recorded import store as recorded
    from longlook.study.plan import MOST_TRIALS_ASKED_FOR
    from longlook.terminal.printer import document_printer, lines_printer

    if out is not None and resume is not None:
        raise InputError("--out and --resume exclude each other", "--resume names the folder to continue")
    begun = None
    if resume is not None:
        folder = RunFolder.open(resume)
        trace_store.adopt(folder.traces)
        recorded.adopt(folder.path)
        begun = folder.study
    chosen = changes.find(study, engine.engine, begun)
    path = resume or out or new_folder(chosen.id)
    options = RunOptions(
        make_engine(engine.engine),
        jobs=engine.jobs_at_once,
        use_cache=not engine.no_cache,
        only=changes.levels,
        resume=resume is not None,
        verify=extent.verify,
        most_trials=MOST_TRIALS_ASKED_FOR
        if extent.many or resume is not None
        else _most_trials(chosen, engine, changes),
        command=("longlook", *sys.argv[1:]),
    )
    if dry_run:
        from longlook.cli.show.study import preview_shown
        from longlook.pipeline.preview import preview

        document_printer(as_json=as_json).show(preview_shown(preview(chosen, path, options)))
        return
    # Here, so that a mistake in the study is reported before the libraries of the report are loaded.
    from longlook.pipeline.run import run_study
    from longlook.terminal.run_display import RunDisplay, fail_where_altered, fail_without_trials

    display = RunDisplay(lines_printer(as_json=as_json))
    try:
        with display:
            result = run_study(chosen, path, options, display.observer())
    except KeyboardInterrupt as error:
        raise InterruptedByUserError("stopped", _how_to_go_on(path)) from error
    except MachineError as error:
        raise MachineError(error.message, "; then ".join(filter(None, [error.hint, _how_to_go_on(path)]))) from error
    display.conclude(result)
    if extent.verify and result.verification is not None and (diverged := result.verification.diverged):
        raise LonglookError(
            f"{len(diverged)} of {len(result.verification.trials)} trials did not repeat exactly",
            "longlook diff-runs, as above, shows the first difference between each and its repeat",
        )
    fail_where_altered(result)
    fail_without_trials(result)


def report(
    run_folder: Annotated[Path, typer.Argument(metavar="RUN")],
    markdown: Annotated[bool, typer.Option(help="Print the verdicts and claims as Markdown tables.")] = False,
    inside: Annotated[
        list[str] | None, typer.Option(metavar="CELL", help="Also draw what happened inside this cell, or all.")
    ] = None,
    round_number: Annotated[
        int | None,
        typer.Option("--round", min=1, help="The round that --inside draws; default: the one with the median effect."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write a run's report again from its raw artefacts."""
    from longlook.core.run_folder import RunFolder
    from longlook.explain.rounds import wanted
    from longlook.pipeline.analyse import analyse
    from longlook.terminal.console import console
    from longlook.terminal.printer import MarkdownPrinter, lines_printer
    from longlook.terminal.run_display import RunDisplay, fail_where_altered

    as_markdown = markdown and not as_json
    display = RunDisplay(MarkdownPrinter(console()) if as_markdown else lines_printer(as_json=as_json))
    with display, RunFolder.open(run_folder) as folder:
        result = analyse(folder, display.observer(), wanted(inside or (), round_number))
    display.conclude(result)
    fail_where_altered(result)


def _most_trials(study: Study, engine: EngineOptions, changes: StudyChanges) -> int:
    """Return how many trials a plan may have; where it has more than usual, a person at the terminal is asked."""
    from longlook.cli.show.study import duration
    from longlook.study.plan import MOST_TRIALS, MOST_TRIALS_ASKED_FOR, chosen_cells, count_trials

    count = count_trials(study, len(chosen_cells(study, changes.levels)))
    if not MOST_TRIALS < count <= MOST_TRIALS_ASKED_FOR or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return MOST_TRIALS
    jobs = engine.jobs_at_once
    question = f"{count} trials: at one second each and {jobs} at once about {duration(count / jobs)}. Go on?"
    return MOST_TRIALS_ASKED_FOR if typer.confirm(question, err=True) else MOST_TRIALS


def _how_to_go_on(path: Path) -> str | None:
    if not (path / "manifest.json").exists():
        return None
    return f"finished trials are kept: repeat the command with --resume {path} instead of --out"
