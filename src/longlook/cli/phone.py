"""`longlook phone`: arguments to calls; no logic of its own."""

from typing import Annotated

import typer

from longlook.terminal.console import console, print_json
from longlook.terminal.options import AsJson


def phone(
    name: Annotated[str | None, typer.Argument(help="Its name in LONGLOOK_PHONES. Default: the first.")] = None,
    without_early_data: Annotated[
        bool, typer.Option(help="For connections that are resumed over QUIC without 0-RTT.")
    ] = False,
    check: Annotated[bool, typer.Option(help="Ask the browser who it is; exit 3 if none answers.")] = False,
    as_json: AsJson = False,
) -> None:
    """Print the flags that a browser on another machine is to be started with, or ask it who it is (docs/phones.md)."""
    from longlook.provision.tls import identity
    from longlook.stacks import chromium_remote

    name = name or chromium_remote.STACK.version_names[0]
    where = chromium_remote.endpoint(name)
    if check:
        found = chromium_remote.describe(name)
        if as_json:
            print_json(found)
        else:
            console().print(f"{name} at {where}: {found['browser']}, {found['user_agent']}", markup=False)
        return
    flags = chromium_remote.flags(identity(), early_data=not without_early_data)
    if as_json:
        print_json({"name": name, "endpoint": where, "flags": flags})
        return
    typer.echo(chromium_remote.command_line(flags))
