"""Everything that was downloaded, as tables: one for each program, and what is not as pinned."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

from longlook.core.provenance import Component, Made

_DIGITS = 16


def downloads(made: Sequence[Made]) -> Iterator[RenderableType]:
    """Yield a table for each program with its components, their digests and who vouches for them."""
    for each in made:
        digest = f"sha256 {each.sha256[:_DIGITS]}" if each.sha256 else "no program of its own"
        licence = f", {escape(each.licence)}" if each.licence else ""
        yield f"[bold]{escape(each.name)}[/] {escape(each.version)}, {digest}{licence}"
        if each.built_by:
            yield f"  built by: {escape(each.built_by.splitlines()[0])}"
        for other in each.deviations:
            yield f"  [red]not as pinned:[/] {escape(other)}"
        if each.components is None:
            yield "  nothing tells what it is made of"
        elif each.components:
            yield _table(each.components)
    parts = sum(len(each.components or ()) for each in made)
    others = sum(len(each.deviations) for each in made)
    yield f"{len(made)} programs of {parts} components; not as pinned: {others or 'none'}"


def _table(components: Sequence[Component]) -> Table:
    licences = any(part.licence for part in components)
    table = Table("", "component", "version", "digest", "who vouches", *(["licence"] if licences else []), box=None)
    for part in components:
        row = (f"{part.ecosystem}:{part.name}", part.version, _digest(part), part.vouched_by)
        table.add_row("", *map(escape, row), *([part.licence] if licences else []))
    return table


def _digest(part: Component) -> str:
    """Return the digest, or how many the lock file allows; `--json` has them all."""
    if not part.digests:
        return "not recorded"
    return part.digests[0] if len(part.digests) == 1 else f"one of {len(part.digests)} sha256"
