"""Verdicts and repeats as tables for a terminal."""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from longlook.core.model import Study, Verdict
from longlook.core.results import Estimate
from longlook.report import text
from longlook.report.layout import ordered
from longlook.report.provenance import repeats
from longlook.report.wording import CLIFF
from longlook.run.verification import Verification

_STYLES = {
    Verdict.BETTER: "bold red",
    Verdict.WORSE: "bold blue",
    Verdict.EQUIVALENT: "bold",
    Verdict.INCONCLUSIVE: "dim",
}


def verdict_table(study: Study, estimates: Sequence[Estimate]) -> Table:
    """Return the verdicts for a terminal; + % means the contender is better."""
    header, *rows = text.plain_rows(study, estimates)
    numeric = len(header) - text.numeric_columns(study) - 1
    where = "in the neighbourhood of the cell" if study.around else "at the point of the cell"
    caption = f"+ % means the contender is better, {where}"
    if any(item.cliff for item in estimates):
        caption += f"; {CLIFF} the effect differs by more than the margin inside it"
    table = Table(title=Text(study.title), caption=Text(caption), header_style="bold")
    for index, name in enumerate(header):
        verdict = index == len(header) - 1
        right = numeric <= index and not verdict
        table.add_column(Text(name), justify="right" if right else "left", overflow="fold", no_wrap=verdict)
    for row, item in zip(rows, ordered(study, estimates), strict=True):
        style = _STYLES[item.verdict]
        table.add_row(*(Text(cell, style=style if index == len(row) - 1 else "") for index, cell in enumerate(row)))
    return table


def verification_table(study: Study, verification: Verification) -> Table:
    """Return how many repeats of each cell and arm gave the same bytes, for a terminal."""
    header, *rows = repeats.plain_rows(study, verification)
    title = f"Run {_times(verification.repeats)} more: how many repeats gave the same"
    table = Table(title=Text(title), header_style="bold")
    for name in header:
        table.add_column(Text(name), overflow="fold")
    for row, group in zip(rows, repeats.ordered_groups(study, verification), strict=True):
        table.add_row(*map(Text, row), style="bold red" if group.diverged else "")
    return table


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
