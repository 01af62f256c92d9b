"""Checks and the matrix on a terminal."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from longlook.instruments.conformance.checks import CheckStatus, Report
from longlook.instruments.conformance.matrix import NOTHING_SHARED, WORKS, Matrix, key_of
from longlook.terminal import Renderings

_STYLES = {CheckStatus.PASSED: "green", CheckStatus.FAILED: "red", CheckStatus.NOT_APPLICABLE: "dim"}


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
    return Group(
        table, Text.assemble(f"{report.stack}@{report.version} ({report.engine}): ", verdict, f"; {summary}\n")
    )


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
