"""A decision on a terminal, in a pipe, and as JSON."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from longlook.core import codec
from longlook.instruments.decide.page import PageText, answer_data
from longlook.instruments.decide.spec import DecideSpec
from longlook.instruments.decide.verdict import amount, change, heading, is_of_loads, level, not_known, share
from longlook.pipeline import Preview, UsersAnswered
from longlook.terminal import Prose, Renderings, Unwrapped

_LEVELS = ("mean", "p50", "p95", "p99", "slowest 1 %")


def answer_shown(text: PageText, found: UsersAnswered, settings: UsersAnswered | None, page: Path) -> Renderings:
    """Return the paragraph, a table for each answer, what is not known, and the page."""
    data: dict[str, Any] = {**answer_data(text, found, settings), "page": str(page)}
    return Renderings(
        people=lambda: _people(text, found, settings, page),
        data=lambda: data,
        lines=lambda: [{"event": "decided", **data}],
    )


def preview_shown(spec: DecideSpec, previews: Mapping[str, Preview]) -> Renderings:
    """Return what would run before anything is installed or started."""
    return Renderings(
        people=lambda: _previews(spec, previews),
        data=lambda: {name: {**codec.encode(each), "to_run": each.left} for name, each in previews.items()},
    )


def _people(
    text: PageText, found: UsersAnswered, settings: UsersAnswered | None, page: Path
) -> Iterator[RenderableType | Unwrapped | Prose]:
    yield from map(Prose, text.sentences)
    for answer in found.answers:
        if not is_of_loads(answer) and len(found.answers) > 1:
            continue
        yield _table(
            heading(answer),
            [
                (each.name, amount(each.baseline), amount(each.contender), change(each.change))
                for each in answer.levels
                if each.name in _LEVELS
            ]
            + [("failed", share(answer.failed[0]), share(answer.failed[1]), "")] * answer.counts_failures,
            found.arms[answer.contrast],
        )
    if settings is not None:
        table = Table("setting", "against", "", "users’ mean", "p95", "failed", title="What each setting is worth")
        for answer in settings.answers:
            baseline, contender = settings.arms[answer.contrast]
            cells = (
                contender,
                baseline,
                ", ".join(answer.apart.values()),
                change(answer.typical),
                change(level(answer, "p95").change),
                share(answer.failed[1]),
            )
            table.add_row(*map(Text, cells))
        yield table
    yield "Not known:"
    yield from (Prose(f"- {sentence}") for sentence in (*not_known(found), *text.unknown))
    yield f"page: {page}"


def _table(title: str, rows: Sequence[tuple[str, str, str, str]], arms: tuple[str, str]) -> Table:
    table = Table("", *arms, "change", title=title)
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _previews(spec: DecideSpec, previews: Mapping[str, Preview]) -> Iterator[RenderableType]:
    yield f"{spec.server} with and without HTTP/3, client {spec.client}; users: {spec.users.title}"
    for name, seen in previews.items():
        table = Table("cell", "levels", "trials", box=None, title=f"{name}: {seen.arms} arms, {seen.rounds} rounds")
        for cell in seen.cells:
            table.add_row(Text(cell.cell_id), Text(", ".join(cell.cell.values())), str(cell.trials))
        yield table
        install = f"to install first: longlook setup {' '.join(seen.install)}; " if seen.install else ""
        cached = "unknown" if seen.cached is None else str(seen.cached)
        yield f"{name}: {seen.trials} trials, {cached} in the cache; {install}time: {seen.forecast.in_words()}"
    yield "nothing was started"
