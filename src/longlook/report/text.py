"""Verdicts and claims as text: for the terminal, for pipes and for Markdown."""

import re
from collections import Counter
from collections.abc import Sequence

from longlook.analysis import welch_verdict
from longlook.core import Agreement, ClaimResult, Estimate, Study, visible
from longlook.report import wording
from longlook.report.content import short_labels
from longlook.report.layout import cell_label, ordered
from longlook.report.lost_arms import failures

_MARKUP = re.compile(r"([\\`*|~\[\]]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))")


def plain_rows(study: Study, estimates: Sequence[Estimate]) -> list[tuple[str, ...]]:
    """Return a header and a row per estimate. Columns: contrast and metric (if there are several), factors, rounds (if
    the study stops when it is decided), levels of the arms, effect, interval, adjusted p, verdict with the mark of a
    cliff. A level is a mean if losses are integrated, else a median; if cells differ in this, means are marked.
    """
    arms = short_labels(study)
    pairs = {(item.baseline, item.contender) for item in estimates}
    baseline, contender = (
        (arms.get(name, name) for name in next(iter(pairs))) if len(pairs) == 1 else ("baseline", "contender")
    )
    named = len({(item.contrast, item.metric) for item in estimates}) > 1
    kinds = {item.is_integrated for item in estimates}
    level = "median or mean" if len(kinds) > 1 else "mean" if True in kinds else "median"
    header = (
        *(("contrast", "metric") if named else ()),
        *(factor.name for factor in study.factors),
        *(("rounds",) if study.stopping else ()),
        f"{baseline} {level}",
        f"{contender} {level}",
        "effect",
        f"{wording.percent(study.analysis.confidence)} interval",
        "p adj",
        "verdict",
    )
    rows = (_row(study, item, named=named, marked=len(kinds) > 1) for item in ordered(study, estimates))
    return [header, *rows]


def numeric_columns(study: Study) -> int:
    """Return how many columns of `plain_rows` before the last, the verdict, hold numbers."""
    return 6 if study.stopping else 5


def _row(study: Study, item: Estimate, *, named: bool, marked: bool) -> tuple[str, ...]:
    mark = " (mean)" if marked and item.is_integrated else ""
    return (
        *((item.contrast, item.metric) if named else ()),
        *(item.cell.get(factor.name, "") for factor in study.factors),
        *((str(item.n_pairs),) if study.stopping else ()),
        *(wording.quantity(level, item.unit) + mark for level in item.levels),
        wording.effect_of(item),
        wording.interval_of(item),
        wording.p_value(item.p_adjusted),
        f"{wording.verdict(item, study.analysis, short_labels(study))}{f' {wording.CLIFF}' if item.cliff else ''}",
    )


def markdown_table(study: Study, estimates: Sequence[Estimate]) -> str:
    """Return the verdicts as a GitHub-flavoured Markdown table."""
    header, *rows = plain_rows(study, estimates)
    numeric = range(len(header) - numeric_columns(study) - 1, len(header) - 1)
    lost = "".join(f"\n- {escaped(sentence)}" for sentence in failures(study, estimates))
    return markdown_rows(header, rows, frozenset(numeric)) + (f"{lost}\n" if lost else "")


def claims_markdown(claims: Sequence[ClaimResult]) -> str:
    """Return published values beside ours as a Markdown table."""
    header, *rows = claim_rows(claims)
    return markdown_rows(header, rows, frozenset((1, 2, 3)))


def claim_rows(claims: Sequence[ClaimResult]) -> list[tuple[str, ...]]:
    """Return a header and a row for each claim: cell, published value, ours, its interval, and the result."""
    header = ("cell", "published", "ours", "interval", "Welch", "result", "reason")
    return [header, *(_claim_row(item) for item in claims)]


def claims_in_short(claims: Sequence[ClaimResult]) -> str:
    """Return how many claims have which result: `2 same size, 1 open; 9 about cells that were left out`."""
    counts = Counter(item.result for item in claims)
    left_out = counts.pop(Agreement.NOT_RUN, 0)
    judged = ", ".join(f"{counts[found]} {found}" for found in Agreement if counts[found]) or "none judged"
    cells = "a cell that was" if left_out == 1 else "cells that were"
    return judged + (f"; {left_out} about {cells} left out" if left_out else "")


def _claim_row(item: ClaimResult) -> tuple[str, ...]:
    estimate = item.estimate
    return (
        cell_label(item.claim.cell),
        wording.published(item.claim),
        wording.effect_of(estimate) if estimate else wording.level(item.level),
        wording.interval_of(estimate) if estimate else wording.level_interval(item.level),
        wording.welch(welch_verdict(item)),
        wording.result(item.result, item.factor),
        item.reason,
    )


_ACTIVE = re.compile(
    r"(?<!\w)@(?=\w)|@(?=[A-Za-z])|#(?=\d)|\b(?:https?|ftp):(?=//)|\bwww(?=\.)",
    re.IGNORECASE,
)
_NOTHING = "&#8203;"
"""A space of no width: GitHub takes nothing that holds one for a name, an issue or an address."""


def markdown_rows(header: Sequence[str], rows: Sequence[Sequence[str]], right: frozenset[int]) -> str:
    """Return a GitHub-flavoured Markdown table; columns of `right` are aligned there."""
    rule = ["---:" if index in right else "---" for index in range(len(header))]
    lines = [header, rule, *([escaped(text) for text in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def escaped(text: str) -> str:
    """Return text on one line that Markdown shows as it is, in a cell of a table too; nobody is notified by it, and
    nothing in it becomes a link.
    """
    line = " ".join(visible(text).splitlines()).replace("&", "&amp;").replace("<", "&lt;")
    return _ACTIVE.sub(rf"\g<0>{_NOTHING}", _MARKUP.sub(r"\\\1", line))
