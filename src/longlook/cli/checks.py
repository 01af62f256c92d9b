"""Commands about exactness and the cache of trials; no logic of their own."""

from pathlib import Path
from typing import Annotated

import typer

from longlook.cli.terminal import console, print_json
from longlook.core import codec
from longlook.core.errors import InputError

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]

cache_app = typer.Typer(help="Finished trials that no run has to repeat.", no_args_is_help=True)


def diff_runs(
    left: Annotated[Path, typer.Argument(metavar="A", help="A trial's folder, or a run folder.")],
    right: Annotated[Path, typer.Argument(metavar="B", help="Another of the same kind.")],
    context: Annotated[int, typer.Option(min=0, help="Packets and lines to show on both sides.")] = 5,
    as_json: AsJson = False,
) -> None:
    """Show the first packet in which two trials part, or else the first file. Exit 0: identical, 1: different."""
    from longlook.cli.show.diff import difference_lines
    from longlook.run.diff import compare

    found = compare(left, right, context)
    if as_json:
        print_json(codec.encode(found))
    else:
        out = console()
        for part in difference_lines(found, left, right, out.width):
            out.print(part, soft_wrap=True)
    if found.differing:
        raise typer.Exit(1)


@cache_app.command("show")
def cache_show(as_json: AsJson = False) -> None:
    """Say where the cache of trials is, and how much is in it."""
    from longlook.core.content_store import ContentStore
    from longlook.core.paths import cache_root
    from longlook.core.units import print_bytes

    entries, size_bytes = ContentStore(cache_root()).held()
    if as_json:
        print_json({"place": str(cache_root()), "entries": entries, "bytes": size_bytes})
    else:
        console().print(f"{cache_root()}: {entries} trials, {print_bytes(size_bytes)}", markup=False, soft_wrap=True)


@cache_app.command("prune")
def cache_prune(
    unused_for: Annotated[str, typer.Option(metavar="TIME", help="For example 12h, 30d or 2w.")] = "30d",
    as_json: AsJson = False,
) -> None:
    """Remove trials that no run has used for some time."""
    from longlook.analysis.measure_cache import measured_root
    from longlook.core.content_store import ContentStore
    from longlook.core.paths import cache_root
    from longlook.core.units import UnitError, parse_duration, print_bytes

    try:
        unused_for_s = parse_duration(unused_for)
    except UnitError as error:
        raise InputError(f"--unused-for {unused_for}: {error}") from error
    pruned = ContentStore(cache_root()).prune(unused_for_s)
    ContentStore(measured_root()).prune(unused_for_s)
    if as_json:
        print_json(codec.encode(pruned))
        return
    console().print(
        f"removed {pruned.removed} trials ({print_bytes(pruned.removed_bytes)}), "
        f"kept {pruned.kept} ({print_bytes(pruned.kept_bytes)})"
    )
