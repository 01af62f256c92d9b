"""A summary of a trace, and what was exported."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from longlook.terminal import Renderings, Unwrapped
from longlook.timeline import problems_of

if TYPE_CHECKING:
    from longlook.pipeline import Exported

_SHOWN_NAMES = 12
_HEAD = ("format", "container", "schema", "producer", "vantage", "clock")


def hars_shown(exported: "Exported", out: Path) -> Renderings:
    """Return the number of archives that were written to `out`, and which trials have none and why."""
    requests = sum(item.count for item in exported.written)
    return Renderings(
        people=lambda: [
            f"{out}: {len(exported.written)} HARs, {requests} requests",
            *(Unwrapped(f"trial {trial}: {reason}", "yellow") for trial, reason in exported.without.items()),
        ],
        data=lambda: {
            "written": [{"path": str(item.path), "requests": item.count} for item in exported.written],
            "without": dict(exported.without),
        },
    )


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
        paths = connection.get("paths", [])
        on = f", paths {', '.join(map(str, paths))}" if len(paths) > 1 else ""
        yield Text(f"connection {number}: {name} {ends}".rstrip() + f", {connection.get('rows', 0)} rows{on}")
    for name, source in seen.get("sources", {}).items():
        yield Text(
            f"{name}: {source.get('producer') or source.get('format') or 'trace'}, {source.get('read', 0)} events"
        )
        if source.get("error"):
            yield Text(f"not read: {source['error']}", style="yellow")
        yield from _ignored(source)
    yield from _ignored(seen)
    yield from (Text(problem, style="yellow") for problem in problems_of(seen))


def _ignored(seen: Mapping[str, Any]) -> Iterator[Text]:
    for what, key in (("ignored", "ignored"), ("frames that give no row", "frames_ignored")):
        if not (counts := seen.get(key)):
            continue
        most = sorted(counts.items(), key=lambda item: -item[1])[:_SHOWN_NAMES]
        left = len(counts) - len(most)
        rest = f", and {sum(counts.values()) - sum(dict(most).values())} of {left} more names (--json)" if left else ""
        shown = sorted(most)
        yield Text(f"{what}: " + ", ".join(f"{count} {name}" for name, count in shown) + rest)
