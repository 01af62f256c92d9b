"""Published claims and disputes on a terminal and as JSON."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from longlook.analysis import CONTRADICTED, INCONCLUSIVE, REPRODUCED
from longlook.instruments.atlas.claims.dispute_flips import Flip
from longlook.instruments.atlas.claims.page import ours_text, summary_rows
from longlook.instruments.atlas.claims.survey import RESULTS, Survey, SurveyedRun, result_counts, survey_data
from longlook.report import wording
from longlook.terminal import Renderings

_STYLES = {REPRODUCED: "green", CONTRADICTED: "red", INCONCLUSIVE: "yellow"}


def claims_shown(survey: Survey, page: Path) -> Renderings:
    """Return the summary, then disputes, then every claim of the studies that were run; `page` is its page."""
    return Renderings(lambda: _people(survey, page), lambda: survey_data(survey))


def _people(survey: Survey, page: Path) -> Iterator[RenderableType]:
    yield summary_table(survey)
    for item in survey.disputes:
        yield Text(f"\n{item.dispute.question}", style="bold")
        yield Text(f"  → {item.conclusion.text}")
        yield from (Text(f"    {flip_text(flip)}") for flip in item.flips)
        yield from (Text(f"    missing evidence: {command}", style="dim") for command in item.commands)
    yield Text("")
    yield claims_table(survey)
    for study in survey.not_run:
        yield Text(f"not run: {study.study.id} (claims: {len(study.claims)}): {study.command}")
    for run in survey.runs:
        yield from map(Text, _reservations(run))
    yield f"claims: {page}"


def _reservations(run: SurveyedRun) -> Iterator[str]:
    """Yield why a run counts less than it might."""
    if run.replaced_by is not None:
        yield f"{run.path} does not count: {run.replaced_by} is a newer run of {run.study}"
    if run.altered:
        yield f"{run.path}: trials counted out, not as they were sealed: {run.altered}"
    if run.changes:
        yield f"{run.path} departs from {run.study}: {'; '.join(run.changes)}"
    if run.report is None and run.at_hand:
        yield f"{run.path} has no report: longlook report {run.path}"


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
