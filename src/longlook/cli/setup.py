"""`longlook setup`: arguments to a call; no logic of its own."""

from typing import Annotated

import typer

from longlook.core.cpus import usable_cpus
from longlook.core.errors import InterruptedByUserError
from longlook.terminal.options import AsJsonLines


def setup(
    parts: Annotated[
        list[str] | None,
        typer.Argument(help="NAME, NAME@VERSION or NAME@all; kernel is the guest's. Default: what studies use."),
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Parts at once; default: one for each CPU.")] = None,
    as_json: AsJsonLines = False,
) -> None:
    """Install stacks side by side: build or fetch what is missing into the cache. Exit 3 if one fails."""
    from longlook.cli.show.setup import SetupDisplay
    from longlook.provision.parallel import install_all
    from longlook.provision.setup import DEFAULT_PARTS, spelt_out
    from longlook.terminal.printer import lines_printer

    wanted = spelt_out(parts or DEFAULT_PARTS)
    display = SetupDisplay(wanted, lines_printer(as_json=as_json))
    try:
        with display:
            at_once = jobs or len(usable_cpus())
            here = as_json and len(wanted) == 1
            results = install_all(wanted, at_once, display.watcher(), here=here)
    except KeyboardInterrupt as error:
        raise InterruptedByUserError("stopped", "what is installed stays; the same command continues") from error
    display.conclude(results)
    if any(result.digest is None for result in results):
        raise typer.Exit(3)
