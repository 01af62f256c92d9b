"""`longlook explain`: arguments to calls; no logic of its own."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from longlook.cli.options import AsJsonLines, expand_options
from longlook.core.cpus import usable_cpus
from longlook.core.errors import InputError, InterruptedByUserError


@expand_options
def explain(
    run_folder: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    cells: Annotated[
        list[str] | None, typer.Argument(metavar="CELL", help="Cells by id or levels; default: all with a loser.")
    ] = None,
    contrast: Annotated[str | None, typer.Option(help="The contrast's name; default: the study's first.")] = None,
    budget: Annotated[
        int | None, typer.Option(min=0, metavar="TRIALS", help="At most so many counterfactual trials for each cell.")
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Trials at once; default: one for each CPU.")] = None,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Run again what the cache holds.")] = False,
    markdown: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the answers as Markdown.")] = None,
    as_json: AsJsonLines = False,
) -> None:
    """Say why an arm lost: suspect causes from traces, change one thing at a time, and keep what closes the gap
    (docs/explain.md)."""
    if markdown is not None and (markdown.is_dir() or not markdown.absolute().parent.is_dir()):
        raise InputError(f"--markdown {markdown}: no such folder, or a folder itself", "name a file: --markdown FILE")
    from longlook.cli.show.explain import show_answers
    from longlook.cli.show.run import RunDisplay
    from longlook.core.run_folder import RunFolder
    from longlook.engines.choice import make_engine
    from longlook.network import trace_store
    from longlook.pipeline.explain import ExplainRequest, explain_run
    from longlook.pipeline.options import RunOptions

    folder = RunFolder.open(run_folder)
    trace_store.adopt(folder.traces)
    options = RunOptions(
        make_engine(folder.manifest["engine"]),
        jobs=jobs or len(usable_cpus()),
        use_cache=not no_cache,
        command=("longlook", *sys.argv[1:]),
    )
    request = ExplainRequest(tuple(cells or ()), contrast, budget)
    display = RunDisplay(as_json=as_json)
    try:
        with display:
            answers = explain_run(folder, request, options, display.observer())
    except KeyboardInterrupt as error:
        raise InterruptedByUserError("stopped", "repeat the command: finished trials are kept") from error
    show_answers(answers, run_folder, as_json=as_json)
    if markdown is not None:
        from longlook.report.causes.text import answers_markdown

        markdown.write_text(answers_markdown(answers), encoding="utf-8")
