"""The list of stacks on a terminal."""

from collections.abc import Iterable

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from longlook.provision.catalogue import StackVersion


def stacks_list(entries: Iterable[StackVersion]) -> RenderableType:
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
            Text("installed", "green") if entry.installed else Text("not installed", "dim"),
        )
    return table
