"""A summary of a trace, and what was exported."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from longlook.cli.terminal import console, print_json

if TYPE_CHECKING:
    from longlook.pipeline.hars import Exported

_SHOWN_WARNINGS = 5
_HEAD = ("format", "container", "schema", "producer", "vantage", "clock")


def show_hars(exported: "Exported", out: Path, *, as_json: bool) -> None:
    """Print how many archives were written, and which trials have none and why."""
    if as_json:
        written = [{"path": str(item.path), "requests": item.count} for item in exported.written]
        print_json({"written": written, "without": dict(exported.without)})
        return
    requests = sum(item.count for item in exported.written)
    console().print(f"{out}: {len(exported.written)} HARs, {requests} requests", soft_wrap=True, markup=False)
    for trial, reason in exported.without.items():
        console().print(f"trial {trial}: {reason}", soft_wrap=True, markup=False, style="yellow")


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
        if source.get("error"):
            yield Text(f"not read: {source['error']}", style="yellow")
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
