"""`longlook trace`: arguments to calls; no logic of its own."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from longlook.terminal import AsJson, Renderings, Unwrapped, document_printer

trace_app = typer.Typer(
    help="Traces of endpoints and of the link: look at them, or give them to other tools.", no_args_is_help=True
)

Source = Annotated[
    Path,
    typer.Argument(
        metavar="TRACE", help="A trace (qlog, netlog, kernel TCP; - is standard input), or the folder of a run's trial."
    ),
]
End = Annotated[str | None, typer.Option(metavar="END", help="client or server, where the trace does not name it.")]


class Format(StrEnum):
    """A format that a trace can be written in."""

    QLOG = "qlog"
    PCAPNG = "pcapng"
    HAR = "har"
    PLAY = "play"
    P1203 = "p1203"
    PARQUET = "parquet"
    CSV = "csv"


@trace_app.command()
def convert(
    source: Source,
    to: Annotated[Format, typer.Option("--to", help="docs/reference/capture.md lists what each holds.")],
    out: Annotated[Path, typer.Option("--out", help="A file; of qlog with several connections a folder.")],
    vantage: End = None,
    as_json: AsJson = False,
) -> None:
    """Write a trace, or all traces of a trial, in a format that other tools read."""
    from longlook.timeline import convert as convert_trace

    written = convert_trace(source, to.value, out, vantage)
    problems = dict.fromkeys(problem for item in written for problem in item.problems)
    document_printer(as_json=as_json).show(
        Renderings(
            people=lambda: [
                *(f"{item.path}: {item.count} {item.what}" for item in written),
                *(Unwrapped(problem, "yellow") for problem in problems),
            ],
            data=lambda: [
                {"path": str(item.path), "what": item.what, "count": item.count, "problems": list(item.problems)}
                for item in written
            ],
        )
    )


@trace_app.command()
def p1203(
    source: Annotated[Path, typer.Argument(metavar="TRIAL", help="The folder of a run's trial, of workload video.")],
    out: Annotated[Path, typer.Option("--out", help="File for the input of P.1203, JSON.")],
    as_json: AsJson = False,
) -> None:
    """Write what a viewer saw for ITU-T P.1203, and score it by your own p1203-standalone (docs/reference/video.md)."""
    from longlook.timeline import convert as convert_trace
    from longlook.timeline import plays

    convert_trace(source, "p1203", out)
    found = plays.score(out)
    line = f"{out}: overall {found['O46']:.2f} of 5, picture and sound {found['O35']:.2f}, stalls {found['O23']:.2f}"
    document_printer(as_json=as_json).show(Renderings(lambda: [line], lambda: dict(found)))


@trace_app.command()
def har(
    run_folder: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    cells: Annotated[
        list[str] | None,
        typer.Argument(metavar="CELL", help="Cells by id or by levels, as 10Mbit,1MB; default: all."),
    ] = None,
    arm: Annotated[list[str] | None, typer.Option(help="Only this arm; repeat for more.")] = None,
    *,
    out: Annotated[Path, typer.Option("--out", help="Folder for CELL/ARM-round-NN.har, one file for each load.")],
    as_json: AsJson = False,
) -> None:
    """Write the page loads of a run as HTTP Archives, which browsers and waterfall viewers open
    (docs/reference/capture.md)."""
    from longlook.cli.show.trace import hars_shown
    from longlook.core import RunFolder
    from longlook.pipeline import export_hars

    exported = export_hars(RunFolder.open(run_folder), out, cells or (), arm or ())
    document_printer(as_json=as_json).show(hars_shown(exported, out))


@trace_app.command()
def show(source: Source, vantage: End = None, as_json: AsJson = False) -> None:
    """Print who wrote a trace, in which schema, what was read of it, and what was not and why."""
    from longlook.cli.show.trace import trace_summary
    from longlook.timeline import look

    seen = look(source, vantage)
    document_printer(as_json=as_json).show(Renderings(lambda: map(Unwrapped, trace_summary(seen)), lambda: seen))
