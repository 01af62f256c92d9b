"""`longlook stacks` and its list; the instrument conformance and `setup` have the other commands about stacks."""

from typing import Annotated

import typer

from longlook.core import codec
from longlook.terminal.options import AsJson

stacks_app = typer.Typer(
    help="The stacks: their versions, and whether they do what they declare.", no_args_is_help=True
)


@stacks_app.command("list")
def stacks_list(
    names: Annotated[list[str] | None, typer.Argument(help="NAME or NAME@VERSION; default: all.")] = None,
    as_json: AsJson = False,
) -> None:
    """List every stack and version: its publication, protocols and knobs, and whether it is installed."""
    from longlook.cli.show.stacks import stacks_list as shown
    from longlook.provision.catalogue import catalogue
    from longlook.terminal.printer import Renderings, document_printer

    entries = catalogue(names or ())
    data = [codec.encode(entry) for entry in entries]
    document_printer(as_json=as_json).show(Renderings(lambda: [shown(entries)], lambda: data))
