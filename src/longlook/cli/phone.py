"""`longlook phone`: arguments to calls; no logic of its own."""

from typing import Annotated

import typer
from rich.text import Text

from longlook.terminal.options import AsJson
from longlook.terminal.printer import Renderings, document_printer


def phone(
    name: Annotated[str | None, typer.Argument(help="Its name in LONGLOOK_PHONES. Default: the first.")] = None,
    without_early_data: Annotated[
        bool, typer.Option(help="For connections that are resumed over QUIC without 0-RTT.")
    ] = False,
    check: Annotated[bool, typer.Option(help="Ask the browser who it is; exit 3 if none answers.")] = False,
    as_json: AsJson = False,
) -> None:
    """Print the flags that a browser on another machine is to be started with, or ask it who it is
    (docs/guide/phones.md)."""
    from longlook.provision.tls import identity
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
