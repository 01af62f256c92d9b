"""`longlook study`: arguments to calls; no logic of its own."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from longlook.core import InputError, codec
from longlook.terminal import (
    AsJson,
    Renderings,
    StudyChanges,
    Unwrapped,
    at_once,
    completion,
    document_printer,
    expand_options,
)

if TYPE_CHECKING:
    from longlook.study import Answers

study_app = typer.Typer(help="The studies that can be run.", no_args_is_help=True)


@study_app.command("list")
def study_list(as_json: AsJson = False) -> None:
    """Name every study, and every scenario, with its question."""
    from longlook.study import list_scenarios, list_studies

    listed = {"study": list_studies(), "scenario": list_scenarios()}
    table = Table("study", "question", box=None)
    for kind, studies in listed.items():
        if kind == "scenario":
            table.add_section()
            table.add_row("scenario", "question", style="bold")
        for study in studies:
            table.add_row(study.id, study.question)
    data = [
        {"id": study.id, "title": study.title, "question": study.question, "kind": kind}
        for kind, studies in listed.items()
        for study in studies
    ]
    document_printer(as_json=as_json).show(Renderings(lambda: [table], lambda: data))


@study_app.command("show")
@expand_options
def study_show(
    study: Annotated[
        str, typer.Argument(help="A study's name, or the path of a study file.", autocompletion=completion.studies)
    ],
    changes: StudyChanges,
    engine: Annotated[str, typer.Option(help="virtual or live: whose neighbourhood is shown.")] = "virtual",
    as_json: AsJson = False,
) -> None:
    """Show what a study compares, in what its arms differ, over which cells and with how many trials."""
    from longlook.cli.show.study import study_summary
    from longlook.run import Costs
    from longlook.study import ENGINES, MOST_TRIALS, arm_differences, chosen_cells, count_trials, installed, make_plan

    if engine not in ENGINES:
        raise InputError(f"unknown engine {engine!r}", f"known: {', '.join(ENGINES)}")
    found = changes.find(study, engine)
    cells = len(chosen_cells(found, changes.levels))
    trials = count_trials(found, cells)
    plan = make_plan(found, changes.levels) if trials <= MOST_TRIALS else None
    forecast = None if plan is None else Costs.read().forecast(plan.trials, engine, at_once(None))
    differences = arm_differences(found, installed())
    data = {
        "study": codec.encode(found),
        "arms_differ_in": differences,
        "plan_hash": plan and plan.hash,
        "trials": trials,
    }
    data["forecast"] = codec.encode(forecast)
    document_printer(as_json=as_json).show(
        Renderings(lambda: [study_summary(found, cells, differences, forecast)], lambda: data)
    )


@study_app.command("new")
def study_new(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The study file to write, such as mine.toml.")],
    like: Annotated[
        str | None,
        typer.Option("--from", metavar="STUDY", help="Start from this study.", autocompletion=completion.studies),
    ] = None,
) -> None:
    """Write a study of your own: from a few questions at a terminal, from defaults elsewhere, or from another study."""
    from longlook.study import Answers, changed_study, find_study, new_study

    if file.suffix != ".toml":
        raise InputError(f"{file}: a study file ends in .toml", f"longlook study new {file}.toml")
    if file.exists():
        raise InputError(f"{file} exists", "choose another name, or remove it")
    if like is not None:
        found = find_study(like)
        text = changed_study(str(file), found.id if "/" not in like else like, f"{found.title}, changed")
    else:
        text = new_study(str(file), _asked() if sys.stdin.isatty() and sys.stdout.isatty() else Answers())
    try:
        with file.open("x", encoding="utf-8") as writing:
            writing.write(text)
    except OSError as error:
        raise InputError(f"{file} cannot be written: {error.strerror}", "choose another place") from error
    lines = [f"{file}: written", f"  longlook study check {file}"]
    document_printer(as_json=False).show(Renderings(lambda: lines))


def _asked() -> "Answers":
    """Ask a person; Enter takes what stands in brackets."""
    from longlook.study import Answers

    usual = Answers()
    return Answers(
        question=typer.prompt("The question", usual.question),
        stack=typer.prompt("Server and client (longlook stacks list)", usual.stack),
        rates=_listed(typer.prompt("Rates of the bottleneck", ", ".join(usual.rates))),
        rtt=typer.prompt("Round-trip time", usual.rtt),
        losses=_listed(typer.prompt("Random losses", ", ".join(usual.losses))),
        size=typer.prompt("Size of the object", usual.size),
    )


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


@study_app.command("check")
def study_check(
    study: Annotated[str, typer.Argument(metavar="FILE", help="A study file, or a study's name.")],
    engine: Annotated[str, typer.Option(help="virtual or live.")] = "virtual",
    as_json: AsJson = False,
) -> None:
    """Check a study file: its keys, values and programs; plan its trials and run none. Exit 2 with all mistakes."""
    from longlook.cli.show.study import checked_shown
    from longlook.study import ENGINES, MOST_TRIALS_ASKED_FOR, find_study, make_plan

    if engine not in ENGINES:
        raise InputError(f"unknown engine {engine!r}", f"known: {', '.join(ENGINES)}")
    found = find_study(study, engine=engine)
    document_printer(as_json=as_json).show(checked_shown(found, make_plan(found, most=MOST_TRIALS_ASKED_FOR)))


@study_app.command("schema")
def study_schema() -> None:
    """Print the JSON schema of study files, by which editors complete keys and explain them."""
    from longlook.study import study_schema as made
    from longlook.terminal import print_json

    print_json(made())


@study_app.command("page")
def study_page(
    page: Annotated[
        str,
        typer.Argument(
            metavar="NAME|FILE",
            help="A recorded page of Longlook, or an HTTP Archive (HAR); - reads it from standard input.",
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Show what workload recorded_page makes of a HAR: phases, bytes, origins, and what is left out and why."""
    from longlook.cli.show.study import page_summary
    from longlook.core import compressed_files
    from longlook.provision import LARGEST_BYTES, HarError, read_har, store

    try:
        with compressed_files.as_file(Path(page), LARGEST_BYTES) as file:
            copy = Path(page) == compressed_files.STANDARD_INPUT
            recording = read_har(store.find(str(file) if copy else page, Path.cwd()))
        digest, found = store.keep_recording(recording)
    except HarError as error:
        raise InputError(str(error), "docs/guide/browsers.md has what a recording needs") from error
    implausible = [codec.encode(each) for each in recording.implausible]
    document_printer(as_json=as_json).show(
        Renderings(
            people=lambda: map(Unwrapped, page_summary(digest, found, recording.implausible)),
            data=lambda: {"page": digest, **codec.encode(found), "implausible": implausible},
        )
    )
