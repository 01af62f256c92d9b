"""`longlook reproduce`: arguments to calls; no logic of its own."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from longlook.core import InterruptedByUserError
from longlook.terminal import AsJsonLines, EngineOptions, expand_options, new_folder, parse_changes


@dataclass(frozen=True)
class ReproductionOptions:
    """How the trace is read, and what of it is rebuilt."""

    vantage: Annotated[
        str | None, typer.Option(metavar="END", help="The end, client or server, that the trace does not name.")
    ] = None
    connection: Annotated[int | None, typer.Option(min=0, metavar="N", help="Default: the busiest.")] = None
    keys: Annotated[Path | None, typer.Option(metavar="FILE", help="TLS secrets of a capture: SSLKEYLOGFILE.")] = None
    change: Annotated[
        list[str] | None, typer.Option("--set", help="KEY=VALUE in place of what the trace shows; repeat for more.")
    ] = None
    rounds: Annotated[int, typer.Option(min=0, help="Rounds of each tested cause, from 10; 0 tests none.")] = 10
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Write the study of the first fit, and run nothing.")] = (
        False
    )


@expand_options
def reproduce(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="A trace of one end of a transfer.")],
    options: ReproductionOptions,
    engine: EngineOptions,
    out: Annotated[Path | None, typer.Option(help="The folder; default runs/reproduce-TIME.")] = None,
    as_json: AsJsonLines = False,
) -> None:
    """Rebuild a recorded transfer as a trial, say how alike both are, and test its suspected causes
    (docs/guide/your-trace.md)."""
    from longlook.instruments.transfer.rebuild.run import ReproduceRequest, reproduce
    from longlook.instruments.transfer.rebuild.show import reproduction_shown
    from longlook.instruments.transfer.run import end_of
    from longlook.terminal import RunDisplay, lines_printer

    changes = parse_changes(options.change or [])
    end = end_of(options.vantage)
    request = ReproduceRequest(trace, end, options.connection, options.keys, changes, options.rounds)
    printer = lines_printer(as_json=as_json)
    display = RunDisplay(printer)
    folder = out or new_folder("reproduce")
    try:
        with display:
            run = None if options.dry_run else engine.run_options()
            found = reproduce(request, folder, run, display.observer())
    except KeyboardInterrupt as error:
        raise InterruptedByUserError(
            "stopped", "repeat the command with another --out: finished trials come from the cache"
        ) from error
    printer.show(reproduction_shown(found))
