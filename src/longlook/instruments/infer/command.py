"""`longlook infer`: arguments to calls; no logic of its own."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from longlook.core import InputError
from longlook.terminal import AsJson, expand_options

Traces = Annotated[
    list[str],
    typer.Argument(
        metavar="TRACE…",
        help="Run folders (one machine per arm; RUN:ARM for one), trials' folders, events.parquet, traces as programs "
        "wrote them, logs as CSV or JSON lines (trace, time_ns, event), or machines as JSON.",
    ),
]
_RELATIONS = {"followed": "always_followed_by", "never": "never_followed_by", "precedes": "always_precedes"}


@dataclass(frozen=True)
class MachineOptions:
    """Options of inference, and the formats that machines are written in."""

    formats: Annotated[str, typer.Option("--format", metavar="svg,dot,json", help="Formats to write.")] = "svg,dot,json"
    diff: Annotated[bool, typer.Option("--diff", help="Draw the differences between two machines: --diff A B.")] = False
    together: Annotated[
        bool, typer.Option("--together", help="Infer one machine from all traces instead of one for each arm.")
    ] = False
    vantage: Annotated[str | None, typer.Option(help="Endpoint whose traces are used: server (default) or client.")] = (
        None
    )
    relations: Annotated[
        str,
        typer.Option(
            metavar="NAMES", help="Invariants that are mined and kept, of: followed, never, precedes; or none."
        ),
    ] = "followed,never,precedes"
    level: Annotated[float, typer.Option(min=0, max=1, help="Level of significance, after correction, for --diff.")] = (
        0.01
    )


@expand_options
def infer(
    traces: Traces,
    options: MachineOptions,
    out: Annotated[Path, typer.Option(help="Folder for the files.")] = Path("machines"),
    as_json: AsJson = False,
) -> None:
    """Infer state machines from traces, prove that they keep every invariant, and draw them (docs/guide/infer.md)."""
    from longlook.instruments.infer import show
    from longlook.instruments.infer.run import FORMATS, InferOptions, compare_machines, infer_machines
    from longlook.instruments.infer.sources import VANTAGES
    from longlook.terminal import document_printer

    if options.diff and options.together:
        raise InputError("--diff and --together exclude each other", "name two sets of traces for --diff")
    relations = _chosen("--relations", options.relations, (*_RELATIONS, "none"))
    chosen = InferOptions(
        names=tuple(traces),
        out=out,
        formats=_chosen("--format", options.formats, FORMATS),
        relations=tuple(_RELATIONS[name] for name in relations if name != "none"),
        vantage=_chosen("--vantage", options.vantage, VANTAGES)[0] if options.vantage else None,
        together=options.together,
        level=options.level,
    )
    printer = document_printer(as_json=as_json)
    if options.diff:
        printer.show(show.comparison_shown(compare_machines(chosen)))
    else:
        printer.show(show.machines_shown(infer_machines(chosen)))


def _chosen(option: str, given: str, known: tuple[str, ...]) -> tuple[str, ...]:
    names = tuple(name.strip() for name in given.split(",") if name.strip())
    if unknown := [name for name in names if name not in known]:
        raise InputError(f"{option} {unknown[0]}: unknown", f"known: {', '.join(known)}")
    if not names:
        raise InputError(f"{option} names nothing", f"known: {', '.join(known)}")
    return names
