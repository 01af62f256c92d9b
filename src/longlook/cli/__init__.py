"""Arguments to stage calls; no logic of its own."""

import os
import signal
import sys
import time
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.table import Table

from longlook.cli import checks, claims, compare, infer, link, setup, stacks, trace
from longlook.cli.terminal import console, print_json
from longlook.core import codec
from longlook.core.errors import InputError, InterruptedByUserError, LonglookError, MachineError
from longlook.core.model import Outcome

app = typer.Typer(
    help="Is A faster, fairer or cheaper than B, where, and why?", no_args_is_help=True, pretty_exceptions_enable=False
)
study_app = typer.Typer(help="The studies that can be run.", no_args_is_help=True)
app.add_typer(study_app, name="study")
app.add_typer(link.link_app, name="link")
app.add_typer(trace.trace_app, name="trace")
app.add_typer(checks.cache_app, name="cache")
app.add_typer(stacks.stacks_app, name="stacks")
app.command("diff-runs")(checks.diff_runs)
app.command()(setup.setup)
stacks.stacks_app.command("install")(setup.setup)
app.command()(compare.compare)
app.command()(compare.bisect)
app.command()(infer.infer)
app.command()(claims.claims)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]


@app.command()
def doctor(as_json: AsJson = False) -> None:
    """Say for every need whether this machine meets it, and the command that mends it."""
    from longlook.engines.doctor import examine

    needs = examine()
    if as_json:
        print_json([codec.encode(need) for need in needs])
    else:
        table = Table("", "need", "found", "hint", box=None)
        for need in needs:
            mark = "[green]ok[/]" if need.met else ("[red]missing[/]" if need.required else "[yellow]absent[/]")
            table.add_row(mark, need.name, need.detail, "" if need.met else need.hint)
        console().print(table)
    if any(need.required and not need.met for need in needs):
        raise typer.Exit(3)


@study_app.command("list")
def study_list(as_json: AsJson = False) -> None:
    """Name every study with its question."""
    from longlook.study.files import list_studies

    studies = list_studies()
    if as_json:
        print_json([{"id": study.id, "title": study.title, "question": study.question} for study in studies])
        return
    table = Table("study", "question", box=None)
    for study in studies:
        table.add_row(study.id, study.question)
    console().print(table)


@study_app.command("show")
def study_show(study: str, as_json: AsJson = False) -> None:
    """Show what a study compares, over which cells and with how many trials."""
    from longlook.cli.show.run import study_summary
    from longlook.study.files import find_study
    from longlook.study.plan import make_plan

    found = find_study(study)
    plan = make_plan(found)
    if as_json:
        print_json({"study": codec.encode(found), "plan_hash": plan.hash, "trials": len(plan.trials)})
    else:
        console().print(study_summary(found, plan))


@app.command()
def run(
    study: Annotated[str, typer.Argument(help="A study's name, or the path of a study file.")],
    engine: Annotated[str, typer.Option(help="Where a trial's time comes from: virtual or live.")] = "virtual",
    jobs: Annotated[int | None, typer.Option(min=1, help="Trials at once; default: one for each CPU.")] = None,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Run again what the cache holds.")] = False,
    rounds: Annotated[int | None, typer.Option(help="Rounds instead of the study's own.")] = None,
    only: Annotated[list[str] | None, typer.Option(help="FACTOR=LEVEL; repeat for more.")] = None,
    change: Annotated[list[str] | None, typer.Option("--set", help="KEY=VALUE, e.g. network.rtt=50ms.")] = None,
    out: Annotated[Path | None, typer.Option(help="The run folder; default runs/STUDY-TIME.")] = None,
    resume: Annotated[Path | None, typer.Option(help="Continue this run folder.")] = None,
    verify: Annotated[
        int, typer.Option(min=0, metavar="N", help="Then run every trial N times more and compare every byte.")
    ] = 0,
    as_json: AsJson = False,
) -> None:
    """Run a study and write its report."""
    from longlook import pipeline
    from longlook.cli.show.run import RunDisplay
    from longlook.core.run_folder import RunFolder
    from longlook.engines.choice import make_engine
    from longlook.network import trace_store
    from longlook.study.files import find_study

    if out is not None and resume is not None:
        raise InputError("--out and --resume exclude each other", "--resume names the folder to continue")
    traces = None
    if resume is not None:
        folder = RunFolder.open(resume)
        trace_store.adopt(folder.traces)
        traces = folder.study.traces
    chosen = find_study(study, rounds=rounds, changes=parse_changes(change or []), traces=traces)
    path = resume or out or Path("runs") / f"{chosen.id}-{time.strftime('%Y%m%d-%H%M%S')}"
    display = RunDisplay(as_json=as_json)
    try:
        with display:
            result = pipeline.run_study(
                chosen,
                make_engine(engine),
                path,
                display.observer(),
                only=only or (),
                resume=resume is not None,
                command=["longlook", *sys.argv[1:]],
                jobs=jobs or len(os.sched_getaffinity(0)),
                use_cache=not no_cache,
                verify=verify,
            )
    except KeyboardInterrupt as error:
        raise InterruptedByUserError("stopped", _how_to_go_on(path)) from error
    except MachineError as error:
        raise MachineError(error.message, "; then ".join(filter(None, [error.hint, _how_to_go_on(path)]))) from error
    display.conclude(result)
    if verify and result.verification is not None and (diverged := result.verification.diverged):
        raise LonglookError(
            f"{len(diverged)} of {len(result.verification.trials)} trials did not repeat exactly",
            "longlook diff-runs, as above, shows where each parts from its repeat",
        )
    if Outcome.OK not in result.outcomes:
        raise LonglookError("no trial succeeded", f"the report gives the reasons: {result.report}")


@app.command()
def calibrate(
    engine: Annotated[str, typer.Option(help="Whose time: virtual (in a guest) or live (this host's).")] = "virtual",
    aa: Annotated[bool, typer.Option("--aa", help="Also load a page with the same arm twice, and compare.")] = False,
    out: Annotated[Path | None, typer.Option(help="Also write the table and the packets' times here.")] = None,
    as_json: AsJson = False,
) -> None:
    """Compare the link emulator with theory and with the kernel's netem; exit 1 where it is out of tolerance."""
    from longlook.cli.show.calibration import calibration_summary
    from longlook.pipeline.calibrate import run_calibration

    result = run_calibration(engine, (lambda _text: None) if as_json else console().print, out, aa=aa)
    if as_json:
        print_json(codec.encode(result))
    else:
        console().print(calibration_summary(result))
    if not result.passed:
        raise typer.Exit(1)


@app.command()
def report(
    run_folder: Annotated[Path, typer.Argument(metavar="RUN")],
    markdown: Annotated[bool, typer.Option(help="Print the verdicts and claims as Markdown tables.")] = False,
    inside: Annotated[
        list[str] | None, typer.Option(metavar="CELL", help="Also draw what happened inside this cell, or all.")
    ] = None,
    round_number: Annotated[
        int | None, typer.Option("--round", min=1, help="Of --inside; default: the round with the median effect.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write a run's report again from its raw artefacts."""
    from longlook import pipeline
    from longlook.cli.show.run import RunDisplay
    from longlook.core.run_folder import RunFolder
    from longlook.explain.rounds import wanted

    display = RunDisplay(as_json=as_json, as_markdown=markdown)
    with display, RunFolder.open(run_folder) as folder:
        result = pipeline.analyse(folder, display.observer(), wanted(inside or (), round_number))
    display.conclude(result)


def _how_to_go_on(path: Path) -> str | None:
    if not (path / "manifest.json").exists():
        return None
    return f"finished trials are kept: repeat the command with --resume {path} instead of --out"


def parse_changes(changes: list[str]) -> dict[str, str]:
    """KEY=VALUE arguments as a mapping."""
    parsed = {}
    for change in changes:
        key, equals, value = change.partition("=")
        if not equals or not key:
            raise InputError(f"--set {change}: not KEY=VALUE", "write for example --set network.rtt=50ms")
        parsed[key.strip()] = value.strip()
    return parsed


def _fail(message: str, hint: str | None, code: int) -> NoReturn:
    errors = Console(stderr=True, highlight=False, soft_wrap=True)
    errors.print(f"longlook: {message}", style="red", markup=False)
    if hint:
        errors.print(f"  → {hint}", markup=False)
    sys.exit(code)


def _interrupt(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt


def main() -> None:
    """The `longlook` command."""
    # SIGTERM takes the road of Ctrl-C, so that every `with` on the way ends what it began.
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        app()
    except LonglookError as error:
        _fail(error.message, error.hint, error.exit_code)
