"""The atlas, published claims and disputes on a terminal and as JSON."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from longlook.core import Agreement, codec
from longlook.instruments.atlas.claims.counts import (
    RESULTS,
    STATEMENT_RESULTS,
    Judged,
    counts_by_kind,
    result_counts,
    statement_counts,
)
from longlook.instruments.atlas.claims.dispute_flips import Flip
from longlook.instruments.atlas.claims.page import ours_text
from longlook.instruments.atlas.claims.page import summary_rows as rows_by_claim
from longlook.instruments.atlas.claims.survey import Survey, SurveyedRun, survey_data
from longlook.instruments.atlas.content import atlas_data, summary_rows
from longlook.instruments.atlas.page import PAGE
from longlook.instruments.atlas.run import Built, ToRun
from longlook.instruments.atlas.site.build import BuiltSite
from longlook.report import wording
from longlook.terminal import Renderings


def atlas_shown(built: Built) -> Renderings:
    """Return claims by study and result, and the place of the page; as JSON one line with the content of atlas.json."""
    line = {"event": "atlas", "page": str(built.page), "failed": dict(built.failed)}
    return Renderings(
        people=lambda: [_claims_by_study(built), statements_table(built.atlas.claims), f"atlas: {built.page}"],
        lines=lambda: [{**line, **atlas_data(built.atlas)}],
    )


def site_shown(built: BuiltSite) -> Renderings:
    """Return the place and the size of a site; as JSON one line."""
    page, load = built.largest
    line = {
        "event": "site",
        "out": str(built.out),
        "day": built.day,
        "pages": len(built.loads),
        "files": built.files,
        "bytes": built.size_bytes,
        "largest_page": page,
        "largest_page_bytes": load,
    }
    return Renderings(
        people=lambda: [
            f"site: {built.out / PAGE}",
            f"{len(built.loads)} pages as of {built.day}, {built.size_bytes / 1e6:.1f} MB; the largest, {page}, loads "
            f"{load / 1000:.0f} kB",
        ],
        lines=lambda: [line],
    )


def _claims_by_study(built: Built) -> Table:
    table = Table(title="Claims about cells", header_style="bold")
    table.add_column("study", overflow="fold")
    results, total = _occurring(RESULTS, result_counts(built.atlas.claims))
    for result in results:
        table.add_column(result, justify="right")
    table.add_column("results")
    for row in summary_rows(built.atlas):
        digest = (row.entry.results or "")[:16] if row.entry else row.state
        table.add_row(Text(row.study), *(str(row.counts[result]) for result in results), digest)
    table.add_section()
    table.add_row("all", *map(str, total), "", style="bold")
    return table


def _occurring(results: Sequence[str], total: Mapping[str, int]) -> tuple[list[str], list[int]]:
    """Return the results that occur at all, which a terminal has room for, and the number of each."""
    found = [result for result in results if total[result]]
    return found, [total[result] for result in found]


def to_run_shown(found: Sequence[ToRun], left_out: Mapping[str, str]) -> Renderings:
    """Return what each study has and needs, the sum, and why others are left out."""
    return Renderings(
        people=lambda: [_to_run(found), *(f"left out: {name}: {reason}" for name, reason in left_out.items())],
        data=lambda: {
            "studies": [{**codec.encode(item), "to_run": item.left} for item in found],
            "left_out": dict(left_out),
        },
    )


def _to_run(found: Sequence[ToRun]) -> Table:
    table = Table(box=None, header_style="bold")
    table.add_column("study", overflow="fold")
    for name in ("trials", "finished", "cached", "to run", "minutes", "entry of"):
        table.add_column(name, justify="right")
    table.add_column("to install first", overflow="fold")
    for item in found:
        cached = "?" if item.cached is None else str(item.cached)
        numbers = (str(item.trials), str(item.finished), cached, str(item.left), _minutes(item), item.day or "")
        table.add_row(Text(item.study), *numbers, " ".join(item.install))
    table.add_section()
    sums = (sum(item.trials for item in found), sum(item.finished for item in found), sum(item.left for item in found))
    lasts = f"{sum(item.minutes for item in found):.0f}"
    table.add_row("all", str(sums[0]), str(sums[1]), "", str(sums[2]), lasts, "", "", style="bold")
    return table


def _minutes(item: ToRun) -> str:
    return f"{item.minutes:.1f}" if item.minutes < 10 else f"{item.minutes:.0f}"


_STYLES = {
    Agreement.SAME_SIZE: "green",
    Agreement.OTHER_SIZE: "cyan",
    Agreement.SAME_DIRECTION: "green",
    Agreement.NO_DIFFERENCE: "green",
    Agreement.WITHIN_BOUNDS: "green",
    Agreement.CONTRADICTED: "red",
    Agreement.OPEN: "yellow",
}


def claims_shown(survey: Survey, page: Path) -> Renderings:
    """Return the summary, then disputes, then every claim of the studies that were run; `page` is its page."""
    return Renderings(lambda: _people(survey, page), lambda: survey_data(survey))


def _people(survey: Survey, page: Path) -> Iterator[RenderableType]:
    yield summary_table(survey)
    yield statements_table(survey.claims)
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
    table = Table(title="Claims about cells", header_style="bold")
    table.add_column("study", overflow="fold")
    results, total = _occurring(RESULTS, result_counts(survey.claims))
    for result in (*results, "all"):
        table.add_column(result, justify="right")
    for name, counts in rows_by_claim(survey):
        table.add_row(Text(name), *_numbers(counts[result] for result in results))
    table.add_section()
    table.add_row("total", *_numbers(total), style="bold")
    return table


def statements_table(claims: Iterable[Judged]) -> Table:
    """Return what sources state by kind and result: a number or a sentence counts once, whatever cells repeat it."""
    table = Table(title="Published numbers and sentences, each once", header_style="bold")
    table.add_column("published")
    known = list(claims)
    results, total = _occurring(STATEMENT_RESULTS, statement_counts(known))
    for result in (*results, "all"):
        table.add_column(result, justify="right")
    for kind, counts in counts_by_kind(known).items():
        if any(counts.values()):
            table.add_row(kind, *_numbers(counts[result] for result in results))
    table.add_section()
    table.add_row("all", *_numbers(total), style="bold")
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
            mark = Text(wording.result(item.result, item.factor), style=_STYLES.get(item.result, "dim"))
            welch = wording.welch(item.welch)
            why = Text(item.reason, style="dim")
            table.add_row(mark, Text(item.statement), item.published, value, interval, welch, why)
    return table


def _numbers(counts: Iterable[int]) -> list[str]:
    numbers = list(counts)
    return [str(number) for number in (*numbers, sum(numbers))]
