"""Checks and the matrix on a terminal."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from longlook.instruments.conformance.checks import CheckStatus, KnobState, Report
from longlook.instruments.conformance.matrix import NOTHING_SHARED, WORKS, Matrix, key_of
from longlook.terminal import Renderings

_STYLES = {CheckStatus.PASSED: "green", CheckStatus.FAILED: "red", CheckStatus.NOT_APPLICABLE: "dim"}
_KNOB_STYLES = {KnobState.HONOURED: "green", KnobState.LOST: "red", KnobState.UNSEEN: "dim"}


def report_shown(report: Report) -> Renderings:
    """Return the table of one version's checks, for people alone: machines get all reports in one document."""
    return Renderings(lambda: [report_table(report)])


def report_table(report: Report) -> RenderableType:
    """Return every check of one version, and the verdict."""
    table = Table("check", "", "seen", box=None)
    for result in report.results:
        style = _STYLES[result.status]
        table.add_row(result.check, Text(str(result.status), style), result.seen)
    counts = {status: sum(result.status is status for result in report.results) for status in CheckStatus}
    verdict = ("does not conform", "red") if report.failed else ("conforms", "green")
    summary = ", ".join(f"{number} {status}" for status, number in counts.items())
    text = Text.assemble(f"{report.stack}@{report.version} ({report.engine}): ", verdict, f"; {summary}\n")
    return Group(table, text, *_honoured_table(report))


def _honoured_table(report: Report) -> list[RenderableType]:
    """Return the table of the release's knobs if the report is of sources, and how many of them are honoured."""
    if not report.honoured:
        return []
    table = Table("knob of the release", "role", "", "reason", box=None)
    said = ""
    for row in report.honoured:
        reason = "as above" if row.reason and row.reason == said else row.reason
        table.add_row(row.knob, ", ".join(row.roles), Text(str(row.state), _KNOB_STYLES[row.state]), reason)
        said = row.reason
    known = {row.knob for row in report.honoured}
    lost = {row.knob for row in report.honoured if row.state is KnobState.LOST}
    words = f"{len(lost)} of {len(known)} knobs no longer honoured" if lost else f"none of {len(known)} knobs is lost"
    return [table, Text(f"{words}\n", "red" if lost else "green")]


def matrix_lines(matrix: Matrix) -> RenderableType:
    """Return the marks, then their meaning."""
    table = Table("server \\ client", box=None)
    for client in matrix.clients:
        table.add_column(client, justify="center")
    for server in matrix.servers:
        table.add_row(server, *(_coloured(matrix.mark(server, client)) for client in matrix.clients))
    legend = [Text(f"{WORKS} all arrived; {NOTHING_SHARED} they do not both speak {matrix.protocol}")]
    legend += [Text.assemble((key_of(number), "red"), f" {reason}") for number, reason in enumerate(matrix.reasons)]
    handshakes = Table("handshake", box=None)
    for client in matrix.clients:
        handshakes.add_column(client, justify="center")
    for server in matrix.servers:
        handshakes.add_row(server, *(matrix.handshake(server, client) for client in matrix.clients))
    return Group(f"{matrix.protocol}:", table, *legend, handshakes)


def _coloured(mark: str) -> Text:
    style = {WORKS: "green", NOTHING_SHARED: "dim"}.get(mark, "red")
    return Text(mark, style)
