"""`longlook merge`: arguments to calls; no logic of its own."""

from pathlib import Path
from typing import Annotated

import typer

from longlook.terminal import AsJson, new_folder


def merge(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN…", help="The run folders of all shards, in any order.")],
    out: Annotated[Path | None, typer.Option(help="The run folder; default runs/STUDY-TIME.")] = None,
    partial: Annotated[
        bool, typer.Option("--partial", help="Merge what is there, also if shards are missing.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Join the shards of a study into the run folder of the whole study, and write its report."""
    from longlook.core import RunFolder
    from longlook.pipeline import merge_runs
    from longlook.terminal import RunDisplay, lines_printer, run_display

    target = out or new_folder(RunFolder.open(runs[0]).study.id)
    display = RunDisplay(lines_printer(as_json=as_json))
    with run_display.going_on(lambda: None), display:
        result = merge_runs(runs, target, display.observer(), partial=partial)
    display.conclude(result)
    if result.verification is not None:
        run_display.fail_where_diverged(result)
    run_display.fail_where_altered(result)
    run_display.fail_without_trials(result)
    run_display.fail_where_unexpected(result)
