"""Commands about this machine, exactness and the cache of trials; no logic of their own."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from longlook.core import codec
from longlook.core.errors import InputError
from longlook.terminal.console import console
from longlook.terminal.options import AsJson
from longlook.terminal.printer import Renderings, Unwrapped, document_printer

cache_app = typer.Typer(help="Show or prune the cache of finished trials.", no_args_is_help=True)


def doctor(
    provenance: Annotated[
        bool, typer.Option("--provenance", help="List everything that was downloaded, and who vouches for it.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check that this machine has everything that Longlook needs, and print the command that fixes what is missing."""
    from longlook.engines.doctor import examine

    printer = document_printer(as_json=as_json)
    if provenance:
        printer.show(_downloads())
        return
    needs = examine()
    table = Table("", "need", "found", "fix", box=None)
    for need in needs:
        missing = Text("missing", "red") if need.required else Text("absent", "yellow")
        mark = Text("ok", "green") if need.met else missing
        table.add_row(mark, need.name, need.detail, "" if need.met else need.fix)
    printer.show(Renderings(lambda: [table], lambda: [codec.encode(need) for need in needs]))
    if any(need.required and not need.met for need in needs):
        raise typer.Exit(3)


def _downloads() -> Renderings:
    from longlook.cli.show.provenance import downloads
    from longlook.provision.provenance.made import all_made

    made = all_made()
    return Renderings(lambda: downloads(made), lambda: [codec.encode(each) for each in made])


def diff_runs(
    left: Annotated[Path, typer.Argument(metavar="A", help="A trial's folder, or a run folder.")],
    right: Annotated[Path, typer.Argument(metavar="B", help="Another of the same kind.")],
    context: Annotated[int, typer.Option(min=0, help="Packets and lines to show on both sides.")] = 5,
    as_json: AsJson = False,
) -> None:
    """Show the first packet in which two trials differ, or else the first file. Exit 0: identical, 1: different."""
    from longlook.cli.show.diff import difference_lines
    from longlook.run.diff import compare

    found = compare(left, right, context)
    document_printer(as_json=as_json).show(
        Renderings(
            people=lambda: map(Unwrapped, difference_lines(found, left, right, console().width)),
            data=lambda: codec.encode(found),
        )
    )
    if found.differing:
        raise typer.Exit(1)


@cache_app.command("show")
def cache_show(as_json: AsJson = False) -> None:
    """Print where the cache of trials is, and how much is in it."""
    from longlook.core.content_store import ContentStore
    from longlook.core.paths import cache_root
    from longlook.core.units import print_bytes

    entries, size_bytes = ContentStore(cache_root()).held()
    line = f"{cache_root()}: {entries} trials, {print_bytes(size_bytes)}"
    data = {"place": str(cache_root()), "entries": entries, "bytes": size_bytes}
    document_printer(as_json=as_json).show(Renderings(lambda: [line], lambda: data))


@cache_app.command("prune")
def cache_prune(
    unused_for: Annotated[str, typer.Option(metavar="TIME", help="For example 12h, 30d or 2w.")] = "30d",
    as_json: AsJson = False,
) -> None:
    """Remove trials that no run has used for some time."""
    from longlook.analysis.measure_cache import measured_root
    from longlook.analysis.statistics_cache import statistics_root
    from longlook.core.content_store import ContentStore
    from longlook.core.paths import cache_root
    from longlook.core.units import UnitError, parse_duration, print_bytes
    from longlook.report.charts.drawn_cache import drawn_root

    try:
        unused_for_s = parse_duration(unused_for)
    except UnitError as error:
        raise InputError(f"--unused-for {unused_for}: {error}") from error
    pruned = ContentStore(cache_root()).prune(unused_for_s)
    for beside in (measured_root(), statistics_root(), drawn_root()):
        ContentStore(beside).prune(unused_for_s)
    removed = f"removed {pruned.removed} trials ({print_bytes(pruned.removed_bytes)})"
    line = f"{removed}, kept {pruned.kept} ({print_bytes(pruned.kept_bytes)})"
    document_printer(as_json=as_json).show(Renderings(lambda: [Text(line)], lambda: codec.encode(pruned)))
