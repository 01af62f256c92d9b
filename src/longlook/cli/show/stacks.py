"""The list of stacks on a terminal."""

from collections.abc import Iterable

from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

from longlook.provision.catalogue import Entry


def stacks_list(entries: Iterable[Entry]) -> RenderableType:
    """Return one line for each version."""
    table = Table("stack", "published", "protocols", "roles", "connections", "knobs", "", box=None)
    for entry in entries:
        table.add_row(
            escape(entry.name),
            entry.released or "–",
            " ".join(entry.protocols),
            " ".join(entry.roles),
            " ".join(entry.connections),
            ", ".join(entry.knobs) or "–",
            "[green]installed[/]" if entry.installed else "[dim]not installed[/]",
        )
    return table
