"""The section of hypotheses: each in every cell that it is about, beside the effect that was found."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pandas as pd

from longlook.core import Foresight, Hypothesis, JudgedHypothesis
from longlook.report import wording
from longlook.report.content import ReportContent
from longlook.report.layout import cell_label
from longlook.report.section import Section

SYMBOLS = {Foresight.HOLDS: "✓", Foresight.REFUTED: "✗", Foresight.OPEN: "?"}


@dataclass(frozen=True)
class HypothesisSection(Section):
    """Every hypothesis in every cell that it is about."""

    template: ClassVar[str] = "hypotheses/section.html.j2"

    content: ReportContent
    judged: Sequence[JudgedHypothesis]

    def context(self) -> Mapping[str, Any]:
        """Return the hypotheses with their rows, and when they were registered."""
        return {
            "section": self,
            "registered": registered(self.content),
            "counted": hypotheses_counted(self.content.study.hypotheses, self.judged),
            "hypotheses": [
                (each.id, statement(each, self.content), each.because, [_row(one) for one in self._of(each)])
                for each in self.content.study.hypotheses
            ],
        }

    def tables(self) -> Mapping[str, pd.DataFrame]:
        """Return `hypotheses`: a row for each hypothesis in each cell."""
        return {"hypotheses": pd.DataFrame([_table_row(each) for each in self.judged])}

    def _of(self, hypothesis: Hypothesis) -> list[JudgedHypothesis]:
        return [each for each in self.judged if each.hypothesis.id == hypothesis.id]


def make_hypotheses(content: ReportContent) -> list[HypothesisSection]:
    """Return the section if the study has hypotheses, else nothing."""
    if not content.study.hypotheses:
        return []
    return [HypothesisSection("hypotheses", "Hypotheses", content, content.hypotheses)]


def hypotheses_counted(stated: Sequence[Hypothesis], judged: Sequence[JudgedHypothesis]) -> str:
    """Return how many hypotheses hold: `hypotheses: 2 hold, 1 refuted, 1 not run`; of several cells the worst."""
    results: dict[str, set[Foresight]] = {}
    for each in judged:
        results.setdefault(each.hypothesis.id, set()).add(each.result)
    ranked = (Foresight.REFUTED, Foresight.OPEN, Foresight.HOLDS)
    counts = Counter(next(result for result in ranked if result in found) for found in results.values())
    hold = "holds" if counts[Foresight.HOLDS] == 1 else "hold"
    words = {Foresight.HOLDS: hold, Foresight.REFUTED: "refuted", Foresight.OPEN: "open"}
    parts = [f"{counts[each]} {word}" for each, word in words.items() if counts[each]]
    if left_out := len(stated) - len(results):
        parts.append(f"{left_out} not run")
    return f"hypotheses: {', '.join(parts)}"


def registered(content: ReportContent) -> str:
    """Return when and by which digest a run registered its hypotheses, in a sentence."""
    if content.unregistered:
        return f"Not registered before the first trial: {content.unregistered}."
    found = content.manifest["registered"]
    moment = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(found["unix_s"]))
    return f"Registered {moment}, before the first trial; SHA-256 of registration.json: {found['sha256']}."


def statement(hypothesis: Hypothesis, content: ReportContent) -> str:
    """Return a hypothesis as a sentence: `QUIC is better than TCP, by 10 % or more (size 10KB).`"""
    contrast = next(each for each in content.study.contrasts if each.name == hypothesis.contrast)
    contender, baseline = content.short_label(contrast.contender), content.short_label(contrast.baseline)
    than = "to" if hypothesis.expect == "equivalent" else "than"
    size = "" if hypothesis.at_least_pct is None else f", by {hypothesis.at_least_pct:g}{wording.NBSP}% or more"
    levels = ", ".join(f"{name} {level}" for name, level in hypothesis.cell.items()) or "every cell"
    label = wording.inner(content.facts(contrast.metric).label)
    return f"{contender} is {hypothesis.expect} {than} {baseline} in {label}{size} ({levels})."


def _row(judged: JudgedHypothesis) -> tuple[str, str, str, str]:
    item = judged.estimate
    found = f"{wording.effect_of(item)} ({wording.interval_of(item)})"
    return cell_label(judged.cell), found, f"{SYMBOLS[judged.result]} {judged.result}", judged.reason


def _table_row(judged: JudgedHypothesis) -> dict[str, Any]:
    return {
        "hypothesis": judged.hypothesis.id,
        "contrast": judged.hypothesis.contrast,
        "cell": judged.cell_id,
        "expect": str(judged.hypothesis.expect),
        "at_least_pct": judged.hypothesis.at_least_pct,
        "result": str(judged.result),
        "reason": judged.reason,
    }
