"""The suite's tables in Markdown, as they stand in docs/stacks.md."""

from collections.abc import Iterable, Sequence

from longlook.conformance import Report, Result, Status
from longlook.conformance.matrix import NOTHING_SHARED, WORKS, Matrix, key_of
from longlook.provision.catalogue import Entry

MARKS = {Status.PASSED: "✓", Status.FAILED: "✗", Status.NOT_APPLICABLE: "·"}


_TOLD = 3  # failures of a version that breaks altogether would fill the page


def stacks_table(entries: Iterable[Entry]) -> str:
    """Each stack once, with its versions and their dates."""
    by_stack: dict[str, list[Entry]] = {}
    for entry in entries:
        by_stack.setdefault(entry.stack, []).append(entry)
    rows = [["stack", "roles", "protocols", "connection states", "versions (published)"]]
    for name, versions in by_stack.items():
        newest = versions[-1]
        dated = ", ".join(
            f"{entry.version} ({entry.released})" if entry.released else entry.version for entry in versions
        )
        rows.append([name, ", ".join(newest.roles), ", ".join(newest.protocols), ", ".join(newest.connections), dated])
    return markdown(rows)


def checks_table(reports: Sequence[Report]) -> str:
    """A row for each version: checks passed and failed, and the first failures' words."""
    rows = [["stack", "passed", "failed", "not applicable", "what failed"]]
    for report in reports:
        counts = [sum(result.status is status for result in report.results) for status in Status]
        told = [f"{result.check}: {result.seen}" for result in report.failed[:_TOLD]]
        failed = "; ".join([*told, *([f"{more} more"] if (more := len(report.failed) - _TOLD) > 0 else [])])
        rows.append([f"{report.stack}@{report.version}", *map(str, counts), failed])
    return markdown(rows)


def knobs_table(reports: Sequence[Report]) -> str:
    """The knobs in rows, versions in columns."""
    names = sorted({result.knob for report in reports for result in report.results if result.knob})
    rows = [["knob", *(f"{report.stack} {report.version}" for report in reports)]]
    for name in names:
        rows.append([f"`{name}`", *(_mark(report, name) for report in reports)])
    return markdown(rows)


def _mark(report: Report, knob: str) -> str:
    """One failure outweighs all; what applies somewhere outweighs what applies nowhere."""
    found = {result.status for result in report.results if result.knob == knob}
    for status in (Status.FAILED, Status.PASSED, Status.NOT_APPLICABLE):
        if status in found:
            return MARKS[status]
    return ""


def proofs_table(report: Report) -> str:
    """What was seen of each knob of one version."""
    rows = [["knob", "role", "", "seen"]]
    rows += [[f"`{result.knob}`", result.role or "", MARKS[result.status], result.seen] for result in _of_knobs(report)]
    return markdown(rows)


def _of_knobs(report: Report) -> Iterable[Result]:
    return (result for result in report.results if result.knob and result.status is not Status.NOT_APPLICABLE)


def matrix_table(matrix: Matrix) -> str:
    """Servers in rows, clients in columns, and the legend below."""
    rows = [["server \\ client", *matrix.clients]]
    rows += [[server, *(matrix.mark(server, client) for client in matrix.clients)] for server in matrix.servers]
    legend = [f"{WORKS} all arrived; {NOTHING_SHARED} they do not both speak {matrix.protocol}."]
    legend += [f"- **{key_of(number)}** {reason}" for number, reason in enumerate(matrix.reasons)]
    return "\n".join([markdown(rows), "", *legend])


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """The first row is the head."""
    head, *body = [[_cell(text) for text in row] for row in rows]
    lines = [head, ["---"] * len(head), *body]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
