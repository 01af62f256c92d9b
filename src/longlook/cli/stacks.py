"""`longlook stacks list` and `longlook setup`; the instrument conformance has the other commands about stacks."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from longlook.core import InterruptedByUserError, MachineError, codec
from longlook.terminal import (
    AsJson,
    AsJsonLines,
    Renderings,
    at_once,
    completion,
    document_printer,
    lines_printer,
    output_console,
)

if TYPE_CHECKING:
    from longlook.provision import StackVersion, Standing

stacks_app = typer.Typer(
    help="The stacks: their versions, and whether they do what they declare.", no_args_is_help=True
)

new_app = typer.Typer(help="Begin something of your own.", no_args_is_help=True)


@stacks_app.command("list")
def stacks_list(
    names: Annotated[
        list[str] | None, typer.Argument(help="NAME or NAME@VERSION; default: all.", autocompletion=completion.stacks)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List every stack and version: its publication, protocols and knobs, and whether it is installed."""
    from longlook.provision import versions_here

    entries = versions_here(names or ())
    data = [codec.encode(entry) for entry in entries]
    document_printer(as_json=as_json).show(Renderings(lambda: [stacks_table(entries)], lambda: data))


@stacks_app.command("outdated")
def stacks_outdated(
    names: Annotated[list[str] | None, typer.Argument(help="NAME; default: every stack of a registry.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the newest declared version of each stack, and the newest one that its registry has.

    Exit 3 if a registry cannot be asked.
    """
    from longlook.provision import standings

    found = standings(names or ())
    data = [{**codec.encode(each), "outdated": each.is_outdated} for each in found]
    document_printer(as_json=as_json).show(Renderings(lambda: [outdated_table(found)], lambda: data))
    failures = sorted({each.failure for each in found if each.failure})
    if failures:
        raise MachineError("; ".join(failures), "this needs the network, and the clients of the registries")


def setup(
    parts: Annotated[
        list[str] | None,
        typer.Argument(
            help="NAME, NAME@VERSION or NAME@all; kernel is the guest's. Default: what studies use.",
            autocompletion=completion.stacks,
        ),
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Parts at once; default: one for each CPU.")] = None,
    build_minutes: Annotated[
        str | None,
        typer.Option(metavar="MINUTES", help="Time of each step of a build of sources; default: 30."),
    ] = None,
    as_json: AsJsonLines = False,
) -> None:
    """Install stacks side by side: build or fetch what is missing into the cache. Exit 3 if one fails."""
    from longlook.cli.show.setup import SetupDisplay
    from longlook.provision import DEFAULT_PARTS, confined, install_all, spelt_out

    if build_minutes is not None:
        os.environ[confined.MINUTES] = build_minutes  # each part is installed by a process of its own
        confined.usual_limits()
    wanted = spelt_out(parts or DEFAULT_PARTS)
    display = SetupDisplay(wanted, lines_printer(as_json=as_json))
    try:
        with display:
            together = at_once(jobs)
            here = as_json and len(wanted) == 1
            results = install_all(wanted, together, display.watcher(), here=here)
    except KeyboardInterrupt as error:
        raise InterruptedByUserError("stopped", "what is installed stays; the same command continues") from error
    display.conclude(results)
    if any(result.digest is None for result in results):
        raise typer.Exit(3)


@new_app.command("stack")
def new_stack(
    name: Annotated[str, typer.Argument(help="The name of the new stack.")],
    like: Annotated[str, typer.Option(help="What it is written in: go, rust, python or c.")],
    into: Annotated[Path | None, typer.Option(help="A folder that does not exist yet; default: NAME.")] = None,
) -> None:
    """Write a stack that works into a folder of its own: declaration, adapter and test."""
    from longlook.provision import MODELS, write_skeleton

    folder = write_skeleton(name, like, into or Path(name))
    output_console().print(
        f"{folder}: a copy of {MODELS[like]} that works; README.md there says what to change", soft_wrap=True
    )
    output_console().print(
        f"  export LONGLOOK_PLUGINS={folder.absolute()} && longlook stacks check {name}", soft_wrap=True
    )


def stacks_table(entries: "Iterable[StackVersion]") -> Table:
    """Return one line for each version."""
    table = Table("stack", "published", "protocols", "roles", "connections", "knobs", "", box=None)
    for entry in entries:
        table.add_row(
            entry.name,
            entry.released or "–",
            " ".join(entry.protocols),
            " ".join(entry.roles),
            " ".join(entry.connections),
            ", ".join(entry.knobs) or "–",
            _state(entry),
        )
    return table


def outdated_table(found: "Iterable[Standing]") -> Table:
    """Return one line for each stack."""
    table = Table("stack", "declared", "published", "newest", "published", "newer releases", "registry", box=None)
    for each in found:
        newer = "1 or more" if each.newer is None else str(each.newer or "–")
        table.add_row(
            each.stack,
            each.declared,
            each.declared_date or "–",
            Text(each.newest or "–", "yellow" if each.is_outdated else "green"),
            each.newest_date or "–",
            "not known" if each.failure else newer,
            each.registry,
        )
    return table


def _state(entry: "StackVersion") -> Text:
    state = Text("installed", "green") if entry.installed else Text("not installed", "dim")
    return state.append(f", built by the recipe of {entry.recipe_of}") if entry.recipe_of else state
