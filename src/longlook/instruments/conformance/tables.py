"""The suite's tables in Markdown, as they stand in docs/reference/stack-tables.md, and a reader for them. Pure."""

import re
import textwrap
from collections.abc import Iterable, Sequence

from longlook.core import Stack, is_tunable
from longlook.instruments.conformance.checks import CheckResult, CheckStatus, Report
from longlook.instruments.conformance.matrix import NOT_REPORTED, NOTHING_SHARED, WORKS, Matrix, key_of
from longlook.provision import StackVersion
from longlook.study import OF_KNOB

MARKS = {CheckStatus.PASSED: "✓", CheckStatus.FAILED: "✗", CheckStatus.NOT_APPLICABLE: "·"}
BELOW = "below"
"""Stands in the last cell of a row that would be too long to read; the cell's text is in a list below the table."""

_VERSIONS = "versions"
_LONGEST_ROW = 200
_WRAPPED = 120
_FAILURES_SHOWN = 3  # those of a version that fails altogether would fill the page
_CELLS = re.compile(r"(?<!\\)\|")


def stacks_rows(entries: Iterable[StackVersion]) -> list[list[str]]:
    """Return the table of all stacks, one row each, with their versions and dates; the first row is the head."""
    by_stack: dict[str, list[StackVersion]] = {}
    for entry in entries:
        by_stack.setdefault(entry.stack, []).append(entry)
    rows = [["stack", "roles", "protocols", "connection states", "versions (published)"]]
    for name, versions in by_stack.items():
        newest = versions[-1]
        dated = ", ".join(
            f"{entry.version} ({entry.released})" if entry.released else entry.version for entry in versions
        )
        rows.append([name, ", ".join(newest.roles), ", ".join(newest.protocols), ", ".join(newest.connections), dated])
    return rows


def tunable_rows(stacks: Iterable[Stack]) -> list[list[str]]:
    """Return the table of what can be tuned: knobs in rows; QUIC stacks and the kernel's TCP in columns.

    A cell says which roles have the knob, in the patched version of a stack if there is one, else in the newest; or
    until which version some had it. The table of TCP names the setting of a study that changes the same rule.
    """
    columns = [
        (stack, _tunable(stack))
        for stack in stacks
        if stack.versions and stack.knobs and stack.end_roles and "h3" in stack.protocols_of(_tunable(stack))
    ]
    rows = [["knob", *(_column(stack, version) for stack, version in columns), "kernel TCP"]]
    for name in sorted({name for stack, _ in columns for name in stack.knobs}):
        cells = [_cell_of(stack, version, name) for stack, version in columns]
        if any(cells):
            rows.append([f"`{name}`", *cells, f"`{OF_KNOB[name]}`" if name in OF_KNOB else ""])
    return rows


def _column(stack: Stack, version: str) -> str:
    """Return a column's head: of what the machine has installed, whose release is not known, the name alone."""
    return f"{stack.name} {version}" if stack.version(version).released else stack.name


def _tunable(stack: Stack) -> str:
    return next((name for name in stack.version_names if is_tunable(name)), stack.default_version)


def _cell_of(stack: Stack, version: str, knob: str) -> str:
    roles = [role for role in stack.roles if knob in stack.knobs_of(version, role)]
    if not roles:
        until = stack.knobs[knob].until if knob in stack.knobs else None
        return "" if until is None else f"until {until}"
    return MARKS[CheckStatus.PASSED] if roles == list(stack.roles) else ", ".join(roles)


def checks_rows(reports: Sequence[Report]) -> list[list[str]]:
    """Return a row for each version: how many checks passed, failed or do not apply, and its first failures."""
    rows = [["stack", "passed", "failed", "not applicable", "what failed"]]
    for report in reports:
        counts = [sum(result.status is status for result in report.results) for status in CheckStatus]
        shown = [f"{result.check}: {result.seen}" for result in report.failed[:_FAILURES_SHOWN]]
        more = len(report.failed) - _FAILURES_SHOWN
        failed = "; ".join([*shown, *([f"{more} more"] if more > 0 else [])])
        rows.append([f"{report.stack}@{report.version}", *map(str, counts), failed])
    return rows


def knobs_rows(reports: Sequence[Report]) -> list[list[str]]:
    """Return a row for each knob, with a column of marks for each version."""
    names = sorted({result.knob for report in reports for result in report.results if result.knob})
    rows = [["knob", *(f"{report.stack} {report.version}" for report in reports)]]
    for name in names:
        rows.append([f"`{name}`", *(_mark(report, name) for report in reports)])
    return rows


def _mark(report: Report, knob: str) -> str:
    """Return the mark of a knob over all its checks: one failure outweighs all, then a pass outweighs the rest."""
    found = {result.status for result in report.results if result.knob == knob}
    for status in (CheckStatus.FAILED, CheckStatus.PASSED, CheckStatus.NOT_APPLICABLE):
        if status in found:
            return MARKS[status]
    return ""


def proofs_table(report: Report) -> str:
    """Return the table of what was seen of each knob of one version."""
    rows = [["knob", "role", "", "seen"]]
    rows += [[f"`{result.knob}`", result.role or "", MARKS[result.status], result.seen] for result in _of_knobs(report)]
    return markdown(rows)


def _of_knobs(report: Report) -> Iterable[CheckResult]:
    return (result for result in report.results if result.knob and result.status is not CheckStatus.NOT_APPLICABLE)


def matrix_table(matrix: Matrix) -> str:
    """Return a table with servers in rows and clients in columns, and its legend."""
    rows = [["server \\ client", *matrix.clients]]
    rows += [[server, *(matrix.mark(server, client) for client in matrix.clients)] for server in matrix.servers]
    legend = [f"{WORKS} all arrived; {NOTHING_SHARED} they do not both speak {matrix.protocol}."]
    legend += [f"- **{key_of(number)}** {reason}" for number, reason in enumerate(matrix.reasons)]
    return "\n".join([markdown(rows), "", *legend])


def handshake_table(matrix: Matrix) -> str:
    """Return the round trips of every pair's handshake, with servers in rows and clients in columns; "" for none."""
    if all(pair.handshake_round_trips is None for pair in matrix.pairs):
        return ""
    rows = [["server \\ client", *matrix.clients]]
    rows += [[server, *(matrix.handshake(server, client) for client in matrix.clients)] for server in matrix.servers]
    return "\n".join([markdown(rows), "", f"{NOT_REPORTED} the client reported no handshake."])


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown; the first row is the head.

    The last cell of a row of more than 200 characters goes to a list below the table. A head of more has no blanks, and
    if that is not enough no versions, which go to the list.
    """
    head, *body = [[_cell(text) for text in row] for row in rows]
    notes: list[str] = []
    if len(_head(head)) > _LONGEST_ROW:  # columns of many stacks: their versions are in the list below the table
        notes.append(_note(f"- {_VERSIONS}: {', '.join(head[1:])}"))
        head = [text.split(" ")[0] for text in head]
    lines = [_head(head), _line(["---"] * len(head))]
    for row in body:
        if len(_line(row)) > _LONGEST_ROW:
            notes.append(_note(f"- {row[0]}: {row[-1]}"))
            row[-1] = BELOW
        lines.append(_line(row))
    return "\n".join([*lines, *(["", *notes] if notes else [])])


def _head(cells: Sequence[str]) -> str:
    """Return the line of a head, without blanks beside the bars if they make it too long."""
    line = _line(cells)
    return line if len(line) <= _LONGEST_ROW else f"|{'|'.join(cells)}|"


def _note(text: str) -> str:
    return textwrap.fill(text, _WRAPPED, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def parsed(text: str) -> list[list[str]]:
    """Return the rows of the table that `markdown` has made, with its head; none if the text has no table.

    Cells come as they stand there, with `|` escaped.
    """
    table = [line for line in text.splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in _CELLS.split(line)[1:-1]] for line in table]
    notes = re.findall(r"^- (.+(?:\n  .+)*)$", text, re.MULTILINE)
    below = dict(note.replace("\n  ", " ").split(": ", 1) for note in notes if ": " in note)
    if _VERSIONS in below:
        rows[0] = [rows[0][0], *below[_VERSIONS].split(", ")]
    body = [[*row[:-1], below.get(row[0], BELOW)] if row[-1] == BELOW else row for row in rows[2:]]
    return [*rows[:1], *body]


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _cell(text: str) -> str:
    return re.sub(r"(?<!\\)\|", r"\\|", text).replace("\n", " ")
