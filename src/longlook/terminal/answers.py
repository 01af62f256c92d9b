"""Answers of `longlook explain` on a terminal and as JSON lines."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from longlook.core import codec
from longlook.explain import Answer, Explained, Judged
from longlook.report import (
    answers_markdown,
    details,
    in_rounds,
    judged_text,
    line,
    loss_lines,
    losses_sentence,
    screening_sentence,
    seen,
    sentence,
)
from longlook.terminal.printer import Prose, Renderings, Unwrapped


def answers_shown(answers: Sequence[Answer], run: Path) -> Renderings:
    """Return every answer: its sentence and a table of its findings, or a JSON line for each finding and answer.

    `run` is the run folder, which has the page.
    """
    return Renderings(
        people=lambda: _people(answers, run),
        lines=lambda: (line for answer in answers for line in _lines(answer)),
        markdown=lambda: answers_markdown(answers),
    )


def _people(answers: Sequence[Answer], run: Path) -> Iterator[RenderableType | Unwrapped | Prose]:
    if not answers:
        yield Text("no cell has a verdict that an arm lost: there is nothing to explain")
    for answer in answers:
        yield Prose(f"\n{answer.cell_id}: {line(answer)}")
        if below := details(answer):
            yield Prose(" ".join(below))
        if answer.findings:
            yield _table(answer)
        yield from map(Prose, filter(None, (screening_sentence(answer), losses_sentence(answer), *loss_lines(answer))))
        yield from _uncounted(answer)
    if any(answer.findings for answer in answers):
        yield f"page: {run / 'explain' / 'index.html'}"


def _uncounted(answer: Answer) -> Iterator[RenderableType | Unwrapped | Prose]:
    """Yield what was not counted, tested or asked, and why."""
    yield from (Prose(each, "yellow") for each in answer.implausible)
    yield from (Prose(f"not tested, since the budget is spent: {cause}") for cause in answer.left_out)
    yield from (Prose(f"cause {cause} not asked: {reason}") for cause, reason in answer.broken.items())


def _table(answer: Answer) -> Table:
    table = Table("suspected cause", "verdict", "change", "of the gap", "seen", title=None)
    for item in answer.findings:
        for number, (what, share) in enumerate(_changes(answer, item) or [("; ".join(item.untestable), "")]):
            first = number == 0
            row = (
                item.title if first else "",
                str(item.conclusion) if first else "",
                what,
                share,
                seen(answer, item) if first else "",
            )
            table.add_row(*map(Text, row))  # reasons and labels have square brackets of their own
    return table


def _changes(answer: Answer, item: Explained) -> list[tuple[str, str]]:
    found = [(f"{made.target}: {made.change}", _share(answer, made)) for made in item.cures]
    return found + [(f"{made.target} gets it: {made.change}", _share(answer, made)) for made in item.transplants]


def _share(answer: Answer, made: Judged) -> str:
    if made.share is None:
        return f"{made.failed or made.conclusion}"
    return f"{judged_text(made)}{in_rounds(answer, made)} {made.conclusion}"


def _lines(answer: Answer) -> Iterator[dict[str, Any]]:
    for item in answer.findings:
        best = item.best
        share = best.share if best is not None else None
        yield {
            "event": "finding",
            "cell": answer.cell_id,
            "contrast": answer.contrast,
            "cause": item.cause,
            "arm": item.arm,
            "role": item.role,
            "found_by": str(item.found_by),
            "verdict": str(item.conclusion),
            "share_pct": None if share is None else share.share_pct,
            "ci_low_pct": None if share is None else share.ci_low_pct,
            "ci_high_pct": None if share is None else share.ci_high_pct,
            "intervention": None if best is None else best.change,
        }
    yield {"event": "answer", "line": line(answer), "sentence": sentence(answer), **codec.encode(answer)}
