"""The atlas on a terminal and as JSON."""

from collections.abc import Mapping, Sequence

from rich.table import Table
from rich.text import Text

from longlook.core import codec
from longlook.instruments.atlas.claims.survey import RESULTS, result_counts
from longlook.instruments.atlas.content import atlas_data, summary_rows
from longlook.instruments.atlas.run import Built, ToRun
from longlook.terminal import Renderings


def atlas_shown(built: Built) -> Renderings:
    """Return claims by study and result, and the place of the page; as JSON one line with the content of atlas.json."""
    line = {"event": "atlas", "page": str(built.page), "failed": dict(built.failed)}
    return Renderings(
        people=lambda: [_claims_by_study(built), f"atlas: {built.page}"],
        lines=lambda: [{**line, **atlas_data(built.atlas)}],
    )


def _claims_by_study(built: Built) -> Table:
    table = Table(title="Published claims", header_style="bold")
    table.add_column("study", overflow="fold")
    for result in RESULTS:
        table.add_column(result, justify="right")
    table.add_column("results")
    for row in summary_rows(built.atlas):
        digest = (row.entry.results or "")[:16] if row.entry else row.state
        table.add_row(Text(row.study), *map(str, row.counts.values()), digest)
    table.add_section()
    table.add_row("all", *map(str, result_counts(built.atlas.claims).values()), "", style="bold")
    return table


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
