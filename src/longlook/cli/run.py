"""`longlook run` and `longlook report`: arguments to calls; no logic of their own."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longlook.core import InputError, UnitError, files, parse_duration
from longlook.terminal import (
    AsJson,
    EngineOptions,
    StudyChanges,
    check_file,
    completion,
    duration,
    expand_options,
    new_folder,
    quoted,
)

if TYPE_CHECKING:
    from longlook.core import RunFolder, Study
    from longlook.pipeline import Result, RunOptions
    from longlook.report import PublicationRequest
    from longlook.study import Shard
    from longlook.terminal import Printer


@dataclass(frozen=True)
class RunSize:
    """The number of trials that may run, and of their repeats."""

    verify: Annotated[
        int, typer.Option(min=0, metavar="N", help="Then run every trial N times more and compare every byte.")
    ] = 0
    many: Annotated[
        bool, typer.Option("--many", help="Take a plan of more than 100 000 trials, without a question.")
    ] = False
    shard: Annotated[
        str | None,
        typer.Option(metavar="3/8", help="Run this part of the study's cells; longlook merge joins all parts."),
    ] = None

    budget: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Real time for trials, such as 10min: whole rounds, then the report."),
    ] = None

    @property
    def budget_s(self) -> float | None:
        """The budget in s, None without one; InputError if it is no length of time."""
        if self.budget is None:
            return None
        try:
            seconds = parse_duration(self.budget)
        except UnitError as error:
            raise InputError(f"--budget {self.budget}: {error}", "write for example --budget 10min") from error
        if not seconds:
            raise InputError(f"--budget {self.budget}: no time at all", "write for example --budget 10min")
        return float(seconds)

    def which_shard(self, begun: "RunFolder | None") -> "Shard | None":
        """Return the shard that is asked for, or that a run which is continued has; None for all of the study.

        InputError if both are given and differ.
        """
        from longlook.pipeline import read_note
        from longlook.study import parse_shard

        asked = None if self.shard is None else parse_shard(self.shard)
        if begun is None:
            return asked
        note = read_note(begun.manifest)
        found = None if note is None else note.shard
        if asked is not None and asked != found:
            has = "the whole study" if found is None else f"shard {found}"
            raise InputError(f"--shard {asked}: {begun.path} has {has}", "leave --shard out: --resume knows it")
        return found

    def most_trials(self, study: "Study", engine: EngineOptions, levels: Sequence[str]) -> int:
        """Return how many trials a plan may have; if it has more than usual, a person at the terminal is asked."""
        from longlook.study import MOST_TRIALS, MOST_TRIALS_ASKED_FOR, chosen_cells, count_trials

        if self.many:
            return MOST_TRIALS_ASKED_FOR
        count = count_trials(study, len(chosen_cells(study, levels)))
        if not MOST_TRIALS < count <= MOST_TRIALS_ASKED_FOR or not (sys.stdin.isatty() and sys.stdout.isatty()):
            return MOST_TRIALS
        jobs = engine.jobs_at_once
        question = f"{count} trials: at one second each and {jobs} at once about {duration(count / jobs)}. Go on?"
        return MOST_TRIALS_ASKED_FOR if typer.confirm(question, err=True) else MOST_TRIALS


@dataclass(frozen=True)
class RunFolderOptions:
    """The folder of a run: a new one, or one that is continued."""

    out: Annotated[Path | None, typer.Option(help="The run folder; default runs/STUDY-TIME.")] = None
    resume: Annotated[Path | None, typer.Option(help="Continue this run folder.")] = None

    def begun(self) -> "RunFolder | None":
        """Return the run folder that is continued, None if none is; InputError if both options are given."""
        if self.out is not None and self.resume is not None:
            raise InputError("--out and --resume exclude each other", "--resume names the folder to continue")
        if self.resume is None:
            return None
        from longlook.pipeline import open_adopted

        return open_adopted(self.resume)


@dataclass(frozen=True)
class RunManner:
    """A run here, a run that is left to itself, or the preview of a run."""

    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would run, and run nothing.")] = False
    detach: Annotated[
        bool, typer.Option("--detach", help="Go on without this terminal; longlook watch RUN shows it.")
    ] = False

    notify: Annotated[
        str | None, typer.Option(metavar="desktop|URL", help="Say there when it has ended; a URL gets a small JSON.")
    ] = None

    def __post_init__(self) -> None:
        if self.notify is not None:
            from longlook.instruments.runs import check_target

            check_target(self.notify)
        if self.detach and self.dry_run:
            raise InputError("--detach and --dry-run exclude each other", "leave one of them out")


@dataclass(frozen=True)
class RunRequest:
    """A study as the options changed it, its run folder and the options of its run."""

    study: "Study"
    folder: Path
    options: "RunOptions"

    @classmethod
    def from_options(
        cls, study: str, engine: EngineOptions, changes: StudyChanges, size: RunSize, place: RunFolderOptions
    ) -> "RunRequest":
        """Return the request; InputError if the study or an option cannot be."""
        begun = place.begun()
        resumed = begun is not None
        levels = changes.levels
        if (again := _run_named(study)) is not None:
            from longlook.pipeline import cells_of_run

            chosen, levels = changes.find_in(again), levels or cells_of_run(again, of_all_shards=resumed)
        else:
            chosen = changes.find(study, engine.engine, None if begun is None else begun.study)
        options = replace(
            engine.run_options(),
            only=levels,
            resume=resumed,
            verify=size.verify,
            shard=size.which_shard(begun),
            budget_s=size.budget_s,
            most_trials=replace(size, many=size.many or resumed).most_trials(chosen, engine, levels),
        )
        return cls(chosen, place.resume or place.out or new_folder(chosen.id), options)

    def how_to_go_on(self) -> str | None:
        """Return the hint for a run that was stopped, None if there is nothing to continue."""
        if not (self.folder / "manifest.json").exists():
            return None
        return f"finished trials are kept: repeat the command with --resume {quoted(self.folder)} instead of --out"


def _run_named(study: str) -> "RunFolder | None":
    """Return the run folder in the place of a study; None, with nothing heavy loaded, if it can be none."""
    if not study.endswith(".json") and not files.is_regular(Path(study) / "manifest.json"):
        return None
    from longlook.pipeline import run_named

    return run_named(study)


@expand_options
def run(
    study: Annotated[
        str,
        typer.Argument(
            help="A study's name, the path of a study file, or a run folder to run again.",
            autocompletion=completion.studies,
        ),
    ],
    engine: EngineOptions,
    changes: StudyChanges,
    size: RunSize,
    place: RunFolderOptions,
    manner: RunManner,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the study's expectations as JUnit XML.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run a study and write its report."""
    from longlook.terminal import FilePrinter, Printers, document_printer, lines_printer

    check_file("--junit", junit)
    request = RunRequest.from_options(study, engine, changes, size, place)
    if manner.dry_run:
        from longlook.cli.show.study import preview_shown
        from longlook.pipeline import preview_study

        seen = preview_study(request.study, request.folder, request.options)
        document_printer(as_json=as_json).show(preview_shown(seen))
        return
    if junit is not None and not request.study.expectations:
        raise InputError(f"--junit {junit}: study {request.study.id} expects nothing", "add a table [expect]")
    if manner.detach and left_alone(request, lines_printer(as_json=as_json)):
        return
    written = [] if junit is None else [FilePrinter(junit, "junit")]
    from longlook.instruments.runs import noticed

    with noticed(manner.notify, request.folder):
        result = run_and_show(request, Printers([lines_printer(as_json=as_json), *written]))
    from longlook.terminal import run_display

    if size.verify:
        run_display.fail_where_diverged(result)
    run_display.fail_where_altered(result)
    run_display.fail_without_trials(result)
    run_display.fail_where_unexpected(result)


def left_alone(request: RunRequest, printer: "Printer") -> bool:
    """Let the run go on in a process of its own and say how to follow it; False in that process."""
    from longlook.instruments.runs import detach

    left = detach(request.folder)
    if left is None:
        return False
    run = request.folder
    text = f"{run} goes on by itself (process {left.pid}); its output is in {left.log}"
    text += f"\n  longlook watch {quoted(run)}\n  longlook stop {quoted(run)}"
    printer.report(text, event="detached", run=str(run), log=str(left.log), pid=left.pid)
    return True


def run_and_show(request: RunRequest, printer: "Printer") -> "Result":
    """Run a study, with its progress shown, and print its verdicts."""
    # Here, so that a mistake in the study is reported before the libraries of the report are loaded.
    from longlook.pipeline import run_study
    from longlook.terminal import RunDisplay, run_display

    display = RunDisplay(printer)
    with run_display.going_on(request.how_to_go_on), display:
        result = run_study(request.study, request.folder, request.options, display.observer())
    display.conclude(result)
    return result


@dataclass(frozen=True)
class PublicationOptions:
    """How figures of a publication look; without any of these none are written."""

    style: Annotated[
        str | None,
        typer.Option(
            metavar="print|slides", help="Also write RUN/publish: figures to include, tables in LaTeX, references."
        ),
    ] = None
    figure_width: Annotated[
        str | None, typer.Option(metavar="WIDTH", help="The width of such figures: 3.33in, 85mm; default by style.")
    ] = None
    font: Annotated[str | None, typer.Option(help="The family of their letters, which this machine must have.")] = None
    font_size: Annotated[
        float | None, typer.Option(min=4, max=72, help="The size of their labels in pt; default by style.")
    ] = None
    title: Annotated[
        bool | None, typer.Option("--title/--no-title", help="Whether titles stand in them; default by style.")
    ] = None
    figure: Annotated[
        list[str] | None,
        typer.Option(metavar="bars|box|cdf|lines", help="Also draw the values themselves; repeat for more."),
    ] = None
    metric: Annotated[str | None, typer.Option(help="The metric of --figure; default: the study's figure has it.")] = (
        None
    )

    def request(self) -> "PublicationRequest | None":
        """Return what these options ask for; None if none of them is given."""
        from longlook.report import publication_request

        return publication_request(
            self.style,
            self.figure_width,
            self.font,
            self.font_size,
            self.figure or (),
            self.metric,
            title=self.title,
        )


@expand_options
def report(
    run_folder: Annotated[Path, typer.Argument(metavar="RUN")],
    look: PublicationOptions,
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
    """Write a run's report again from its raw artefacts; with a style also what a paper or slides need."""
    from longlook.core import RunFolder
    from longlook.explain import wanted
    from longlook.instruments.bundle import about_of
    from longlook.pipeline import analyse_run
    from longlook.terminal import RunDisplay, fail_where_altered, fail_where_unexpected, lines_printer

    publication = look.request()
    if (about := about_of(run_folder)) is not None and not about.artefacts:
        raise InputError(
            f"{run_folder} is of a bundle without raw files, so that nothing can be analysed again",
            f"its page is {run_folder}/report/index.html; longlook bundle --artefacts makes one with raw files",
        )
    display = RunDisplay(lines_printer(as_json=as_json, as_markdown=markdown))
    with display, RunFolder.open(run_folder) as folder:
        result = analyse_run(folder, display.observer(), wanted(inside or (), round_number), publication)
    display.conclude(result)
    fail_where_altered(result)
    fail_where_unexpected(result)
