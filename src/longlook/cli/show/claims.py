"""Published claims and disputes on a terminal and as JSON."""

from collections.abc import Iterable
from pathlib import Path

from rich.table import Table
from rich.text import Text

from longlook.analysis.claims.dispute_flips import Flip
from longlook.analysis.claims.judge import CONTRADICTED, INCONCLUSIVE, REPRODUCED
from longlook.analysis.claims.survey import RESULTS, Survey, result_counts, survey_data
from longlook.report import wording
from longlook.report.claims import ours_text, summary_rows
from longlook.terminal.console import console, print_json

_STYLES = {REPRODUCED: "green", CONTRADICTED: "red", INCONCLUSIVE: "yellow"}


def show_claims(survey: Survey, page: Path, *, as_json: bool) -> None:
    """Print the summary, then disputes, then every claim of the studies that were run."""
    if as_json:
        print_json(survey_data(survey))
        return
    out = console()
    out.print(summary_table(survey))
    for item in survey.disputes:
        out.print(Text(f"\n{item.dispute.question}", style="bold"), Text(f"  → {item.conclusion.text}"), sep="\n")
        for flip in item.flips:
            out.print(f"    {flip_text(flip)}", markup=False)
        for command in item.commands:
            out.print(f"    missing evidence: {command}", style="dim", markup=False)
    out.print()
    out.print(claims_table(survey))
    for study in survey.not_run:
        out.print(f"not run: {study.study.id} (claims: {len(study.claims)}): {study.command}", markup=False)
    for run in survey.runs:
        if run.replaced_by is not None:
            out.print(f"{run.path} does not count: {run.replaced_by} is a newer run of {run.study}", markup=False)
        if run.altered:
            out.print(f"{run.path}: trials counted out, not as they were sealed: {run.altered}", markup=False)
        if run.changes:
            out.print(f"{run.path} departs from {run.study}: {'; '.join(run.changes)}", markup=False)
        if run.report is None and run.at_hand:
            out.print(f"{run.path} has no report: longlook report {run.path}", markup=False)
    out.print(f"claims: {page}", soft_wrap=True, markup=False)


def flip_text(flip: Flip) -> str:
    """Return what flips the answer as a line: `queue 1bdp → 0.1bdp: QUIC is faster becomes no difference`."""
    before, after = (" and ".join(names) or "none" for names in (flip.before_holds, flip.after_holds))
    settings = f" ({'; '.join(flip.settings)})" if flip.settings else ""
    places = [place for place in flip.places if place]
    at = f", at {' · '.join(places)}" if places else ""
    return f"{flip.what} {flip.before} → {flip.after}: {before} becomes {after}{settings}{at}"


def summary_table(survey: Survey) -> Table:
    """Return the claims by result for each study and in total."""
    table = Table(title="Published claims", header_style="bold")
    table.add_column("study", overflow="fold")
    for result in (*RESULTS, "all"):
        table.add_column(result, justify="right")
    for name, counts in summary_rows(survey):
        table.add_row(Text(name), *_numbers(counts.values()))
    table.add_section()
    table.add_row("total", *_numbers(result_counts(survey.claims).values()), style="bold")
    return table


def claims_table(survey: Survey) -> Table:
    """Return every claim of the studies that were run, with the reason of its result."""
    table = Table(box=None, header_style="bold")
    table.add_column("result", no_wrap=True)
    table.add_column("claim", overflow="fold", ratio=3)
    for name in ("published", "ours", "interval"):
        table.add_column(name, justify="right")
    table.add_column("Welch's test", overflow="fold")
    table.add_column("why", overflow="fold", ratio=3)
    for study in survey.covered:
        for item in study.claims:
            value, interval = ours_text(item.ours)
            mark = Text(
                f"{wording.RESULT_SYMBOLS.get(item.result, '○')} {item.result}", style=_STYLES.get(item.result, "dim")
            )
            welch = wording.welch(item.welch)
            why = Text(item.reason, style="dim")
            table.add_row(mark, Text(item.statement), item.published, value, interval, welch, why)
    return table


def _numbers(counts: Iterable[int]) -> list[str]:
    numbers = list(counts)
    return [str(number) for number in (*numbers, sum(numbers))]
