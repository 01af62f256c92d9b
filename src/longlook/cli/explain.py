"""`longlook explain`: arguments to calls; no logic of its own."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longlook.core import InputError, InterruptedByUserError
from longlook.terminal import (
    CHECKED,
    LOCAL,
    AsJsonLines,
    CheckWorkers,
    EngineOptions,
    Executor,
    TrustPrograms,
    check_file,
    completion,
    expand_options,
    new_folder,
)

if TYPE_CHECKING:
    from longlook.explain import Answer
    from longlook.pipeline import RunOptions
    from longlook.terminal import RunDisplay


@dataclass(frozen=True)
class TrialOptions:
    """How the counterfactual trials run."""

    budget: Annotated[
        int | None,
        typer.Option(min=0, metavar="TRIALS", help="At most this number of counterfactual trials for each cell."),
    ] = None
    jobs: Annotated[int | None, typer.Option(min=1, help="Trials at once; default: one for each CPU.")] = None
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Run again what the cache holds.")] = False
    trust_programs: TrustPrograms = False
    executor: Executor = LOCAL
    check_workers: CheckWorkers = CHECKED

    def options(self, engine: str) -> "RunOptions":
        """Return the options of runs by an engine."""
        made = EngineOptions(
            engine,
            self.jobs,
            self.no_cache,
            self.trust_programs,
            executor=self.executor,
            check_workers=self.check_workers,
        )
        return made.run_options()


@dataclass(frozen=True)
class PlantedCaseOptions:
    """Cases with planted causes in the place of a run."""

    certify: Annotated[
        bool, typer.Option("--certify", help="Explain cases whose causes were planted, and count what is right.")
    ] = False
    case: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Of --certify: only this case; repeat for more.")
    ] = None
    out: Annotated[Path | None, typer.Option(help="Of --certify: its folder; default runs/explain-TIME.")] = None


@dataclass(frozen=True)
class TraceOptions:
    """How traces are read that stand in the place of a run."""

    vantage: Annotated[
        str | None, typer.Option(metavar="END", help="The end, client or server, that a trace does not name.")
    ] = None
    connection: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="The connection of a trace; default: the busiest.")
    ] = None
    keys: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The TLS secrets of a capture, as SSLKEYLOGFILE wrote them.")
    ] = None
    picture: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw a trace as .svg, .png or .pdf.")] = None


@expand_options
def explain(
    run_folder: Annotated[
        Path | None, typer.Argument(metavar="RUN|TRACE", help="A run folder, or a trace: where did its time go?")
    ] = None,
    cells: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CELL|TRACE",
            help="Cells by id or by levels, as 10Mbit,1MB; default: all in which an arm lost. Or the trace of "
            "the other end.",
            autocompletion=completion.cells,
        ),
    ] = None,
    contrast: Annotated[str | None, typer.Option(help="The contrast's name; default: the study's first.")] = None,
    markdown: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the answers as Markdown.")] = None,
    *,
    trials: TrialOptions,
    planted: PlantedCaseOptions,
    traces: TraceOptions,
    as_json: AsJsonLines = False,
) -> None:
    """Say why an arm lost: suspect causes from traces, change one thing at a time, and keep what closes the gap
    (docs/guide/explain.md). For a trace of your own, say where its time went (docs/guide/your-trace.md)."""
    check_file("--markdown", markdown)
    if not planted.certify and (planted.case or planted.out is not None):
        raise InputError("--case and --out are for --certify", "add --certify, or leave them out")
    if planted.certify:
        if run_folder is not None or contrast is not None or markdown is not None:
            raise InputError("--certify makes runs of its own", "leave RUN, --contrast and --markdown out")
        _certify(planted, trials, as_json=as_json)
        return
    if run_folder is None:
        raise InputError("no run folder", "name one below runs/: longlook explain RUN")
    from longlook.core import path_hints
    from longlook.terminal import FilePrinter, Printers, RunDisplay, answers_shown, lines_printer

    if path_hints.is_trace(run_folder):
        if contrast is not None or markdown is not None:
            raise InputError("--contrast and --markdown are for a run", "leave them out, or name a run folder")
        _explain_traces([run_folder, *map(Path, cells or ())], traces, as_json=as_json)
        return
    if traces != TraceOptions():
        raise InputError(
            "--vantage, --connection, --keys and --picture are for a trace", "leave them out, or name a trace"
        )
    if path_hints.is_one(run_folder):
        needed = "explain needs a run folder, or a trace of a transfer"
        raise InputError(f"{run_folder} is none: {needed}", path_hints.reader_of(run_folder))
    printer = lines_printer(as_json=as_json)
    answers = _explain(run_folder, cells or (), contrast, trials, RunDisplay(printer))
    files = [] if markdown is None else [FilePrinter(markdown, "markdown")]
    Printers([printer, *files]).show(answers_shown(answers, run_folder))


def _explain_traces(paths: list[Path], options: TraceOptions, *, as_json: bool) -> None:
    from longlook.instruments.transfer import TransferRequest, answers_of_traces, explain_transfer, write_picture
    from longlook.terminal import lines_printer

    answers = explain_transfer(TransferRequest(tuple(paths), options.vantage, options.connection, options.keys))
    written = [] if options.picture is None else [str(write_picture(answers.each, options.picture))]
    lines_printer(as_json=as_json).show(answers_of_traces(answers, written))


def _explain(
    run_folder: Path, cells: "list[str] | tuple[()]", contrast: str | None, trials: TrialOptions, display: "RunDisplay"
) -> "list[Answer]":
    from longlook.pipeline import ExplainRequest, explain_run, open_adopted

    folder = open_adopted(run_folder)
    request = ExplainRequest(tuple(cells), contrast, trials.budget)
    try:
        with display:
            return explain_run(folder, request, trials.options(folder.manifest["engine"]), display.observer())
    except KeyboardInterrupt as error:
        raise InterruptedByUserError("stopped", "repeat the command: finished trials are kept") from error


def _certify(planted: PlantedCaseOptions, trials: TrialOptions, *, as_json: bool) -> None:
    from longlook.instruments.certify import certify_explanations, matrix_shown
    from longlook.terminal import RunDisplay, lines_printer

    out = planted.out or new_folder("explain")
    printer = lines_printer(as_json=as_json)
    display = RunDisplay(printer)
    try:
        with display:
            matrix = certify_explanations(out, planted.case or (), trials.options("virtual"), display.observer())
    except KeyboardInterrupt as error:
        raise InterruptedByUserError("stopped", f"go on with the same --out {out}: its trials are kept") from error
    printer.show(matrix_shown(matrix))
