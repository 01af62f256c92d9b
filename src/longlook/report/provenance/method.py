"""The section on method: how verdicts are reached, from the study's settings."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from longlook.core import Study, find_metric, margin_of
from longlook.report import wording
from longlook.report.section import Section

_EXPECTATION = (
    "Judged in each trial by itself. It does not hold if the trial does not say what is asked for: if it failed, if "
    "its load was over by then, or if there is no trace."
)
CORRECTIONS = {
    "holm": "Holm, which bounds the chance of any false verdict",
    "fdr_bh": "Benjamini-Hochberg, which bounds the share of false verdicts",
    "none": "none",
}


@dataclass(frozen=True)
class MethodSection(Section):
    """The statistics behind the verdicts, and what the study notes about itself."""

    template: ClassVar[str] = "provenance/method.html.j2"

    study: Study

    def context(self) -> Mapping[str, Any]:
        """Return the study and the terms of its method."""
        return {"section": self, "study": self.study, "terms": method(self.study)}


def _neighbourhood(around: Mapping[str, str]) -> str:
    if not around:
        return "None: every round has exactly the settings of its cell, so verdicts are about these points."
    drawn = ", ".join(f"{setting} {law}" for setting, law in around.items())
    return (
        "Each round draws settings about those of its cell, the same for all its arms, so verdicts are about these "
        f"neighbourhoods: {drawn}."
    )


def method(study: Study) -> list[tuple[str, str]]:
    """Return the terms of the method, each with its explanation under the study's settings."""
    compared = _comparison(study) if study.contrasts else []
    return [
        (
            "Round",
            "Every arm once, back to back, in random order, over a link with the same random numbers. The round is the "
            f"unit of comparison; {_rounds(study)}.",
        ),
        ("Neighbourhood", _neighbourhood(study.around)),
        *compared,
        *([("Expectation", _EXPECTATION)] if study.expectations else []),
        (
            "Outcomes",
            "A trial that failed, timed out or was not supported is counted and shown, never dropped. Invalid attempts "
            f"are repeated up to {study.retries_when_invalid} times and stay on record.",
        ),
    ]


def _comparison(study: Study) -> list[tuple[str, str]]:
    """Return the terms of how arms are compared."""
    analysis = study.analysis
    confidence = wording.percent(analysis.confidence)
    return [
        (
            "Effect",
            "The mean over rounds of the log ratio of contender to baseline, shown as a percentage; where lower is "
            "better, the share by which the contender is smaller. Counts, shares and amounts that may be 0 are "
            "compared by differences in their unit. + always means that the contender is better.",
        ),
        (
            "Interval",
            f"{confidence} interval of that mean, from the rounds in which both arms have a value, not the range of "
            f"single rounds: {_interval(study)}.",
        ),
        (
            "Significance",
            f"The {_test(study)} of the log ratios or differences, at {analysis.alpha:g} after correction. Welch’s "
            "test, which the IMC 2017 paper used, and Mann-Whitney’s stand beside it as checks.",
        ),
        (
            "Correction",
            f"Across the cells of a contrast, or of all contrasts of its family: "
            f"{CORRECTIONS.get(analysis.correction, analysis.correction)}.",
        ),
        (
            "Equivalence",
            f"Two one-sided tests against the margin of the metric: {_margins(study)}. Equivalent is evidence of no "
            "difference that matters; inconclusive is a lack of evidence.",
        ),
        (
            "Verdict",
            f"The first that holds: fewer than {analysis.min_rounds} complete rounds are ? inconclusive; ≈ equivalent; "
            "▲ better or ▼ worse where significant; else ? inconclusive.",
        ),
        (
            "Cliff",
            f"{wording.CLIFF} where the effect differs by more than the margin across a setting that rounds draw, as a "
            f"step or a line, and a permutation test at {analysis.alpha:g} rules out that it is the margin only.",
        ),
    ]


def _margins(study: Study) -> str:
    """Return the margin of each contrast's metric."""
    metrics = [find_metric(name) for name in dict.fromkeys(contrast.metric for contrast in study.contrasts)]
    return "; ".join(
        f"{wording.inner(metric.label)} ±{margin_of(metric, study.analysis).size:g}{wording.NBSP}{metric.effect_unit}"
        for metric in metrics
    )


def _rounds(study: Study) -> str:
    if study.stopping is None:
        return f"this study has {study.rounds} per cell"
    return f"this study has as many as decide a cell, from {study.analysis.min_rounds} to {study.rounds}"


def _interval(study: Study) -> str:
    if study.stopping is None:
        return "the wider of Student’s and of Hall’s, which allows for skewness"
    return "valid however often the rounds were looked at, it holds what neither e-process refutes, mean or median"


def _test(study: Study) -> str:
    return "paired t-test" if study.stopping is None else "weaker of two e-processes, about the mean and the median,"
