"""Commands about this machine, what was downloaded and exactness; no logic of their own."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from longlook.core import Component, InputError, Made, codec
from longlook.terminal import AsJson, Printer, Renderings, Unwrapped, document_printer, output_console, print_json

_DIGITS = 16


def doctor(
    provenance: Annotated[
        bool, typer.Option("--provenance", help="List everything that was downloaded, and who vouches for it.")
    ] = False,
    rebuild: Annotated[
        bool,
        typer.Option("--rebuild", help="With --provenance: build what longlook-prebuilt brought anew, and compare."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check that this machine has everything that Longlook needs, and print the command that fixes what is missing."""
    from longlook.engines import examine
    from longlook.provision import also_shared

    if rebuild and not provenance:
        raise InputError("--rebuild is part of --provenance", "longlook doctor --provenance --rebuild")
    printer = document_printer(as_json=as_json)
    if rebuild:
        _rebuild(printer)
        return
    if provenance:
        printer.show(_downloads())
        return
    with also_shared():
        needs = examine()
    table = Table("", "need", "found", "fix", box=None)
    for need in needs:
        missing = Text("missing", "red") if need.required else Text("absent", "yellow")
        mark = Text("ok", "green") if need.met else missing
        table.add_row(mark, need.name, need.detail, "" if need.met else need.fix)
    printer.show(Renderings(lambda: [table], lambda: [codec.encode(need) for need in needs]))
    if any(need.required and not need.met for need in needs):
        raise typer.Exit(3)


def _rebuild(printer: Printer) -> None:
    """Print for each part whether its bytes are the same, and exit with 1 if they differ."""
    from longlook.provision import rebuild

    made = list(rebuild(lambda text: printer.report(text, event="note", text=text)))
    table = Table("", "part", "brought", "built here", "compilers", box=None)
    for each in made:
        mark = Text("same", "green") if each.is_same else Text("differs", "red")
        compilers = each.built_by if each.brought_by == each.built_by else f"{each.brought_by}; here {each.built_by}"
        table.add_row(mark, each.part, each.brought[:_DIGITS], each.built[:_DIGITS], compilers)
    printer.show(Renderings(lambda: [table], lambda: [codec.encode(each) for each in made]))
    if not all(each.is_same for each in made):
        raise typer.Exit(1)


def _downloads() -> Renderings:
    from longlook.provision import all_made

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
    from longlook.run import compare

    found = compare(left, right, context)
    document_printer(as_json=as_json).show(
        Renderings(
            people=lambda: map(Unwrapped, difference_lines(found, left, right, output_console().width)),
            data=lambda: codec.encode(found),
        )
    )
    if found.differing:
        raise typer.Exit(1)


def phone(
    name: Annotated[str | None, typer.Argument(help="Its name in LONGLOOK_PHONES. Default: the first.")] = None,
    without_early_data: Annotated[
        bool, typer.Option(help="For connections that are resumed over QUIC without 0-RTT.")
    ] = False,
    check: Annotated[bool, typer.Option(help="Ask the browser who it is; exit 3 if none answers.")] = False,
    as_json: AsJson = False,
) -> None:
    """Print the flags that a browser on another machine is to be started with, or ask it who it is
    (docs/guide/browsers.md)."""
    from longlook.provision import identity
    from longlook.stacks import chromium_remote

    printer = document_printer(as_json=as_json)
    name = name or chromium_remote.STACK.version_names[0]
    where = chromium_remote.endpoint(name)
    if check:
        found = chromium_remote.describe(name)
        line = f"{name} at {where}: {found['browser']}, {found['user_agent']}"
        printer.show(Renderings(lambda: [Text(line)], lambda: found))
        return
    flags = chromium_remote.flags(identity(), early_data=not without_early_data)
    data = {"name": name, "endpoint": where, "flags": flags}
    printer.show(Renderings(lambda: [chromium_remote.command_line(flags)], lambda: data))


def sbom(
    run_folder: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    out: Annotated[Path | None, typer.Option(help="Write it to this file.")] = None,
) -> None:
    """Print the software bill of materials of a run in CycloneDX: programs, libraries, guest kernel, digests."""
    from longlook.core import RunFolder, write_json
    from longlook.pipeline import bill_of_materials

    bill = bill_of_materials(RunFolder.open(run_folder))
    if out is None:
        print_json(bill)
        return
    try:
        write_json(out, bill)
    except OSError as error:
        raise InputError(f"--out {out}: cannot be written: {error.strerror}", "name another file") from error
    output_console().print(f"{out}: {len(bill['components'])} components", soft_wrap=True, markup=False)


def downloads(made: Sequence[Made]) -> Iterator[RenderableType]:
    """Yield a table for each program with its components, their digests and who vouches for them."""
    for each in made:
        digest = f"sha256 {each.sha256[:_DIGITS]}" if each.sha256 else "no program of its own"
        licence = f", {each.licence}" if each.licence else ""
        yield Text.assemble((each.name, "bold"), f" {each.version}, {digest}{licence}")
        if each.built_by:
            yield Text(f"  built by: {each.built_by.splitlines()[0]}")
        for other in each.deviations:
            yield Text.assemble("  ", ("not as pinned:", "red"), f" {other}")
        if each.components is None:
            yield Text("  nothing tells what it is made of")
        elif each.components:
            yield _table(each.components)
    parts = sum(len(each.components or ()) for each in made)
    others = sum(len(each.deviations) for each in made)
    yield Text(f"{len(made)} programs of {parts} components; not as pinned: {others or 'none'}")


def _table(components: Sequence[Component]) -> Table:
    licences = any(part.licence for part in components)
    table = Table("", "component", "version", "digest", "who vouches", *(["licence"] if licences else []), box=None)
    for part in components:
        row = (f"{part.ecosystem}:{part.name}", part.version, _digest(part), part.vouched_by)
        table.add_row("", *map(Text, row), *([Text(part.licence)] if licences else []))
    return table


def _digest(part: Component) -> str:
    """Return the digest, or how many the lock file allows; `--json` has them all."""
    if not part.digests:
        return "not recorded"
    return part.digests[0] if len(part.digests) == 1 else f"one of {len(part.digests)} sha256"
