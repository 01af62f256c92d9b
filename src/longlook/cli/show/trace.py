"""A summary of a trace, for people."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.table import Table
from rich.text import Text

_SHOWN_WARNINGS = 5
_HEAD = ("format", "container", "schema", "producer", "vantage", "clock")


def trace_summary(seen: Mapping[str, Any]) -> Iterator[Text | Table]:
    """Yield who wrote it and how, its connections, its rows by kind, what was not read and why, and warnings."""
    head = [f"{name} {seen[name]}" for name in _HEAD if seen.get(name)]
    yield Text(f"{seen['trace']}: {', '.join(head)}")
    yield Text(f"{seen['rows']} rows" + (f" from {seen['read']} events" if "read" in seen else ""))
    kinds = Table("kind", "rows", box=None)
    for kind, count in seen["kinds"].items():
        kinds.add_row(kind, str(count))
    yield kinds
    for number, connection in enumerate(seen.get("connections", [])):
        ends = " ".join(filter(None, (connection.get("client"), connection.get("server"))))
        name = connection.get("connection_id") or "without an id"
        yield Text(f"connection {number}: {name} {ends}".rstrip() + f", {connection.get('rows', 0)} rows")
    for name, source in seen.get("sources", {}).items():
        yield Text(
            f"{name}: {source.get('producer') or source.get('format') or 'trace'}, {source.get('read', 0)} events"
        )
        yield from _unread(source)
    yield from _unread(seen)


def _unread(seen: Mapping[str, Any]) -> Iterator[Text]:
    for what in ("ignored", "skipped"):
        if counts := seen.get(what):
            yield Text(f"{what}: " + ", ".join(f"{count} {name}" for name, count in counts.items()))
    if seen.get("truncated"):
        yield Text("the trace is cut off: read up to the cut", style="yellow")
    warnings = seen.get("warnings", [])
    for warning in warnings[:_SHOWN_WARNINGS]:
        yield Text(
            f"line {warning.get('line')}, byte {warning.get('offset')}: {warning.get('problem')}", style="yellow"
        )
    if len(warnings) > _SHOWN_WARNINGS:
        yield Text(f"… and {len(warnings) - _SHOWN_WARNINGS} more warnings", style="yellow")
