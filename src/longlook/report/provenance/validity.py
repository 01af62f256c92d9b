"""The section on validity: the outcome of every attempt at a trial."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import pandas as pd

from longlook.core import Outcome
from longlook.report.content import ReportContent
from longlook.report.contrasts.cells import outcome_rows
from longlook.report.section import Section


@dataclass(frozen=True)
class ValiditySection(Section):
    """Attempts of the whole run by outcome, the number of trials tried again, and every reason with its count.

    Reasons also include metrics that could not be measured in attempts that were ok.
    """

    template: ClassVar[str] = "provenance/validity.html.j2"

    content: ReportContent
    attempts: int
    trials: int
    retried: int
    counts: Mapping[str, int]
    reasons: tuple[tuple[str, str, int], ...]  # outcome, reason, count

    def tables(self) -> Mapping[str, pd.DataFrame]:
        """Return `outcomes`: a row for each cell and arm with its attempts by outcome, and the reasons."""
        arms = [arm.name for arm in self.content.study.arms]
        rows = [
            {
                "cell": cell,
                "arm": row.arm,
                **row.counts,
                "reasons": "; ".join(f"{count} × {reason}" for reason, count in row.reasons),
            }
            for cell, samples in self.content.samples_by_cell.items()
            for row in outcome_rows(arms, samples)
        ]
        return {"outcomes": pd.DataFrame(rows)}


def make_validity(content: ReportContent) -> ValiditySection:
    """Return the section, counted from the samples, which hold every attempt."""
    attempts = content.samples.drop_duplicates(["trial_id", "attempt"])
    counts = Counter(attempts["outcome"].astype(str))
    bad = attempts[attempts["outcome"].astype(str) != str(Outcome.OK)]
    reasons = Counter(
        (str(outcome), "no reason given" if pd.isna(reason) else str(reason))
        for outcome, reason in zip(bad["outcome"], bad["reason"], strict=True)
    )
    unmeasured = content.samples[
        (content.samples["outcome"].astype(str) == str(Outcome.OK)) & content.samples["value"].isna()
    ]
    reasons.update(
        (str(Outcome.OK), f"{metric}: {'no reason given' if pd.isna(reason) else reason}")
        for metric, reason in zip(unmeasured["metric"], unmeasured["reason"], strict=True)
    )
    ranked = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    return ValiditySection(
        anchor="validity",
        title="Validity",
        content=content,
        attempts=len(attempts),
        trials=int(attempts["trial_id"].nunique()),
        retried=int((attempts.groupby("trial_id").size() > 1).sum()) if len(attempts) else 0,
        counts={str(outcome): counts[str(outcome)] for outcome in Outcome},
        reasons=tuple((outcome, reason, count) for (outcome, reason), count in ranked),
    )
