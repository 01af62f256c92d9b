"""`longlook study`: arguments to calls; no logic of its own."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from longlook.core import InputError, codec
from longlook.terminal import AsJson, Renderings, StudyChanges, Unwrapped, document_printer, expand_options

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
    study: Annotated[str, typer.Argument(help="A study's name, or the path of a study file.")],
    changes: StudyChanges,
    engine: Annotated[str, typer.Option(help="virtual or live: whose neighbourhood is shown.")] = "virtual",
    as_json: AsJson = False,
) -> None:
    """Show what a study compares, in what its arms differ, over which cells and with how many trials."""
    from longlook.cli.show.study import study_summary
    from longlook.study import ENGINES, MOST_TRIALS, arm_differences, chosen_cells, count_trials, installed, make_plan

    if engine not in ENGINES:
        raise InputError(f"unknown engine {engine!r}", f"known: {', '.join(ENGINES)}")
    found = changes.find(study, engine)
    cells = len(chosen_cells(found, changes.levels))
    trials = count_trials(found, cells)
    plan_hash = make_plan(found, changes.levels).hash if trials <= MOST_TRIALS else None
    differences = arm_differences(found, installed())
    data = {"study": codec.encode(found), "arms_differ_in": differences, "plan_hash": plan_hash, "trials": trials}
    document_printer(as_json=as_json).show(Renderings(lambda: [study_summary(found, cells, differences)], lambda: data))


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
