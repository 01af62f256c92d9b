"""The problems of a trace by its account, in sentences: rows that were not read, and values that contradict others."""

from collections.abc import Iterator, Mapping
from typing import Any

MOST_WARNINGS = 5


def problems_of(account: Mapping[str, Any]) -> Iterator[str]:
    """Yield everything that a reader of the rows has to know: contradictions, skipped events, a cut, the first
    warnings.

    `account` is a trace's account, or the metadata of a trial's events, which has accounts in `sources`.
    """
    for name, source in account.get("sources", {}).items():
        yield from (f"{name}: {problem}" for problem in problems_of(source))
    several = len(account.get("connections", [])) > 1
    for found in account.get("implausible", []):
        of = [f"connection {found['connection']}"] if several else []
        of += [f"path {found['path']}"] if "path" in found else []
        where = f" ({', '.join(of)})" if of else ""
        yield f"implausible{where}: {found['problem']} ({found['check']})"
    if skipped := account.get("skipped"):
        yield "skipped: " + ", ".join(f"{count} {name}" for name, count in skipped.items())
    if account.get("truncated"):
        yield "the trace is cut off: read up to the cut"
    warnings = account.get("warnings", [])
    for warning in warnings[:MOST_WARNINGS]:
        place = f"line {warning['line']}, byte {warning['offset']}: " if warning.get("line") else ""
        yield place + warning["problem"]
    if len(warnings) > MOST_WARNINGS:
        yield f"… and {len(warnings) - MOST_WARNINGS} more warnings"
