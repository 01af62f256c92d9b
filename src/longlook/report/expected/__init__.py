"""The section of expectations: each in every trial that it is about, beside the value that was seen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pandas as pd

from longlook.core import JudgedExpectation
from longlook.report.content import ReportContent
from longlook.report.expected import text
from longlook.report.section import Section

MOST_ROWS = 500
"""Rows of the table on the page; the CSV has all."""


@dataclass(frozen=True)
class ExpectedSection(Section):
    """Every expectation in every trial; failures come first."""

    template: ClassVar[str] = "expected/section.html.j2"

    content: ReportContent
    judged: Sequence[JudgedExpectation]

    def context(self) -> Mapping[str, Any]:
        """Return the rows of the table, and how many are left out of it."""
        study = self.content.study
        ranked = sorted(self.judged, key=lambda each: each.holds)
        rows = [
            (each.holds, each.expectation.name, each.expectation.text, text.place(study, each), text.seen(each))
            for each in ranked[:MOST_ROWS]
        ]
        return {
            "section": self,
            "rows": rows,
            "left_out": len(ranked) - len(rows),
            "counted": text.expectations_counted(study, self.judged),
        }

    def tables(self) -> Mapping[str, pd.DataFrame]:
        """Return `expectations`: a row for each expectation in each trial."""
        return {"expectations": pd.DataFrame([_row(each) for each in self.judged])}


def make_expected(content: ReportContent) -> list[ExpectedSection]:
    """Return the section if the study expects anything of trials that ran, else nothing."""
    if not content.expectations:
        return []
    return [ExpectedSection("expectations", "Expectations", content, content.expectations)]


def _row(judged: JudgedExpectation) -> dict[str, Any]:
    return {
        "quantity": judged.expectation.name,
        "expected": judged.expectation.text,
        "holds": judged.holds,
        "seen": judged.seen,
        "unit": judged.unit,
        "time_s": judged.time_s,
        "reason": judged.reason,
        "arm": judged.arm,
        "cell": judged.cell_id,
        "round": judged.round,
        "trial_id": judged.trial_id,
        "flow": judged.flow,
    }
