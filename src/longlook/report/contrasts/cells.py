"""The details of one cell of one contrast."""

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import pandas as pd

from longlook.analysis import RoundEffects
from longlook.core import ClaimResult, Contrast, Estimate, Outcome, Verdict
from longlook.report import wording
from longlook.report.charts import colours
from longlook.report.content import ReportContent, short_labels
from longlook.report.contrasts.cell_charts import SPREAD
from longlook.report.contrasts.drawn import DrawnPlot, drawn_data, drawn_plots
from longlook.report.contrasts.overview import VERDICT_COLOURS
from longlook.report.contrasts.squares import PublishedValue, published_value
from longlook.report.layout import Grid, Place

Rows = Sequence[Mapping[str, Any]]

MAX_GOODPUT_POINTS = 300
"""Longer goodput series are averaged over equal groups of bins, to keep the page small."""


@dataclass(frozen=True)
class OutcomeRow:
    """The outcomes of an arm's attempts in a cell: counts, and the reasons of attempts that were not ok."""

    arm: str
    counts: Mapping[str, int]
    reasons: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class CellDetail:
    """A cell's part of the page. `data` holds the rows of its charts by data set."""

    anchor: str
    place: Place
    headline: str
    verdict: str
    facts: tuple[tuple[str, str], ...]
    arms: tuple[str, ...]  # short labels, in the order of the study
    outcomes: tuple[OutcomeRow, ...]
    medians: tuple[
        tuple[str, str], ...
    ]  # of the contrast's metric: median and n of each arm; n is empty if never tried
    other_metrics: tuple[tuple[str, tuple[str, ...]], ...]  # metric, then the median of each arm
    published: PublishedValue | None
    data: Mapping[str, Any]
    has_inside: bool  # whether a page about the inside of this cell lies beside the report
    drawn: tuple[DrawnPlot, ...]  # the setting that explains most first; empty without draws
    rates: str | None  # the anchor of its rates over time, where flows competed
    page: str = ""  # the page that has it, seen from the report's first page; empty: that page itself

    @property
    def address(self) -> str:
        """Return its address, seen from the report's first page, or from its own."""
        return f"{self.page}#{self.anchor}"


class CellDetails:
    """Make the details of a contrast's cells; the tables are grouped once."""

    def __init__(
        self,
        content: ReportContent,
        contrast: Contrast,
        claims: Mapping[tuple[str, ...], ClaimResult],
        rates: Mapping[str, str],
        rounds: Mapping[str, RoundEffects],
    ) -> None:
        self._content = content
        self._contrast = contrast
        self._claims = claims
        self._rates = rates
        self._rounds = rounds
        self._arms = content.arms_beside(contrast)
        self._samples = {
            cell: [row for row in rows if row["arm"] in self._arms] for cell, rows in content.samples_by_cell.items()
        }
        self._last_round = max((row["round"] for rows in self._samples.values() for row in rows), default=0)

    def all(self, grid: Grid, anchor_prefix: str) -> list[CellDetail]:
        """Return the details of every cell that was measured, in reading order."""
        return [self._detail(place, anchor) for anchor, place in grid.anchored(anchor_prefix)]

    def _detail(self, place: Place, anchor: str) -> CellDetail:
        content, estimate = self._content, place.estimate
        samples = self._samples.get(str(place.cell_id), [])
        claim = self._claims.get(place.key)
        return CellDetail(
            anchor=anchor,
            place=place,
            headline=wording.conclusion(estimate, content) if estimate else "No estimate was made for this cell.",
            verdict=str(estimate.verdict) if estimate else "",
            facts=_facts(content, estimate) if estimate else (),
            arms=tuple(content.short_label(arm) for arm in self._arms),
            outcomes=tuple(outcome_rows(self._arms, samples)),
            medians=tuple(self._median(samples, arm) for arm in self._arms),
            other_metrics=tuple(self._other_metrics(samples)),
            published=published_value(claim) if claim else None,
            data=self._data(samples, place.cell_id, estimate, claim),
            has_inside=place.cell_id in content.inside,
            drawn=drawn_plots(content, estimate),
            rates=self._rates.get(place.cell_id or ""),
        )

    def _median(self, samples: Rows, arm: str) -> tuple[str, str]:
        """Return median and n of an arm on the contrast's metric, whether the contrast names the arm or not.

        As in an estimate, a round counts with its last attempt, if that went well.
        """
        own = [row for row in samples if row["arm"] == arm and row["metric"] == self._contrast.metric]
        if not own:
            return wording.DASH, ""
        final = {row["round"]: row for row in sorted(own, key=itemgetter("round", "attempt"))}.values()
        values = [row["value"] for row in final if row["outcome"] == str(Outcome.OK)]
        finite = [value for value in values if math.isfinite(value)]
        median = statistics.median(finite) if finite else None
        return wording.quantity(median, self._content.facts(self._contrast.metric).unit), str(len(finite))

    def _other_metrics(self, samples: Rows) -> list[tuple[str, tuple[str, ...]]]:
        good: dict[tuple[str, str], list[float]] = {}
        for row in samples:
            if row["outcome"] == str(Outcome.OK) and not math.isnan(row["value"]):
                good.setdefault((row["metric"], row["arm"]), []).append(row["value"])
        medians = {key: statistics.median(values) for key, values in good.items()}
        present = [name for name in self._content.study.metrics if name != self._contrast.metric]
        rows = []
        for name in present:
            facts = self._content.facts(name)
            values = (medians.get((name, arm)) for arm in self._arms)
            rows.append((facts.label, tuple(wording.quantity(value, facts.unit) for value in values)))
        return rows

    def _data(
        self, samples: Rows, cell_id: str | None, estimate: Estimate | None, claim: ClaimResult | None
    ) -> dict[str, Any]:
        rows = [self._sample_row(row) for row in self._contrast_rows(samples)]
        good = [row for row in rows if row["value"] is not None]
        complete = Counter(row["round"] for row in good)
        return {
            "samples": good,
            "pairs": [
                {"x": row["x"], "value": row["value"], "round": row["round"]}
                for row in good
                if complete[row["round"]] == 2
            ],
            "failed": [row for row in rows if row["value"] is None],
            "medians": self._medians(estimate),
            "effect": _effect_rows(estimate),
            "published": _published_rows(claim),
            "goodput": self._goodput_series(cell_id),
            "drawn": drawn_data(self._rounds.get(str(cell_id)), estimate, self._content.study.analysis.alpha),
        }

    def _contrast_rows(self, samples: Rows) -> Rows:
        arms = [self._contrast.baseline, self._contrast.contender]
        chosen = [row for row in samples if row["metric"] == self._contrast.metric and row["arm"] in arms]
        return sorted(chosen, key=itemgetter("round", "arm", "attempt"))

    def _sample_row(self, row: Mapping[str, Any]) -> dict[str, Any]:
        arm = int(row["arm"] == self._contrast.contender)
        last = self._last_round
        offset = (int(row["round"]) / last - 0.5) * SPREAD if last else 0.0
        usable = row["outcome"] == str(Outcome.OK) and not pd.isna(row["value"])
        facts = self._content.facts(self._contrast.metric)
        reason = None if pd.isna(row["reason"]) else str(row["reason"])
        return {
            "x": round(arm + offset, 4),
            "value": float(row["value"]) if usable else None,
            "shown": wording.quantity(float(row["value"]), facts.unit) if usable else wording.DASH,
            "arm": self._content.short_label(row["arm"]),
            "round": int(row["round"]) + 1,
            "trial": str(row["trial_id"]),
            "outcome": str(row["outcome"]),
            "reason": reason or ("no value" if not usable else ""),
            "colour": arm_colour(arm),
            "shape": "diamond" if arm else "circle",
        }

    def _medians(self, estimate: Estimate | None) -> list[dict[str, Any]]:
        if estimate is None:
            return []
        values = enumerate((estimate.baseline_median, estimate.contender_median))
        half = SPREAD / 2 + 0.06
        return [
            {
                "arm": arm,
                "from": arm - half,
                "to": arm + half,
                "value": value,
                "shown": wording.quantity(value, estimate.unit),
                "colour": arm_colour(arm),
            }
            for arm, value in values
            if value is not None
        ]

    def _goodput_series(self, cell_id: str | None) -> list[dict[str, Any]]:
        arms = (self._contrast.baseline, self._contrast.contender)
        series = []
        for (arm, _, trial), (times, rates) in self._content.goodput_by_cell.get(str(cell_id), {}).items():
            if arm in arms:
                colour = arm_colour(int(arm == self._contrast.contender))
                series.append({"trial": trial, "colour": colour, "time_s": _thinned(times), "mbps": _thinned(rates)})
        return series


def outcome_rows(arms: Sequence[str], samples: Rows) -> list[OutcomeRow]:
    """Return attempts by arm and outcome with reasons, in the order of `arms`."""
    attempts: dict[tuple[str, int], Mapping[str, Any]] = {}
    for row in samples:
        attempts.setdefault((row["trial_id"], row["attempt"]), row)
    rows = []
    for arm in arms:
        own = [row for row in attempts.values() if row["arm"] == arm]
        counts = Counter(row["outcome"] for row in own)
        reasons = Counter(
            f"{row['outcome']}: {'no reason given' if pd.isna(row['reason']) else row['reason']}"
            for row in own
            if row["outcome"] != str(Outcome.OK)
        )
        ranked = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
        rows.append(OutcomeRow(arm, {str(o): counts[str(o)] for o in Outcome}, tuple(ranked)))
    return rows


def arm_colour(index: int) -> str:
    """Return blue for the baseline (0), red for the contender (1), as in the heatmap."""
    return colours.CONTENDER if index else colours.BASELINE


def _facts(content: ReportContent, item: Estimate) -> tuple[tuple[str, str], ...]:
    return (
        ("Effect", wording.effect_of(item)),
        (
            f"{wording.percent(content.study.analysis.confidence)} interval",
            wording.interval_in_unit(item),
        ),
        ("Pairs of rounds", str(item.n_pairs)),
        *_spread(content, item),
        ("p, Welch", wording.p_value(item.p_welch)),
        ("p, paired", wording.p_value(item.p_paired)),
        ("p, Mann-Whitney", wording.p_value(item.p_mannwhitney)),
        ("p, equivalence", wording.p_value(item.p_equivalence)),
        ("p, adjusted", wording.p_value(item.p_adjusted)),
        ("Verdict", wording.verdict(item, content.study.analysis, short_labels(content.study))),
    )


def _spread(content: ReportContent, item: Estimate) -> list[tuple[str, str]]:
    """Return the rounds that the contender won, and the effects on the worst loads if there are enough rounds."""
    own = (item.contrast, item.cell_id)
    facts = [
        (f"Rounds won by {content.short_label(won.contender)}",
         f"{won.won} of {won.n_pairs} ({won.ci_low_pct:.0f} to {won.ci_high_pct:.0f} %)")
        for won in content.wins_by_cell.get(own, ())
    ]  # fmt: skip
    for tail in content.tails_by_cell.get(own, ()):
        if tail.effect_pct is not None:
            shown = f"{wording.effect(tail.effect_pct)} ({wording.interval_pct(tail.ci_low_pct, tail.ci_high_pct)})"
            facts.append((f"Effect on the worst {tail.worst_pct:g} %", shown))
    return facts


def _effect_rows(item: Estimate | None) -> list[dict[str, Any]]:
    found = None if item is None else item.effect
    if item is None or found is None:
        return []
    verdict = item.verdict if item.verdict in VERDICT_COLOURS else Verdict.INCONCLUSIVE
    low = found.value if found.low is None else found.low
    high = found.value if found.high is None else found.high
    colour = VERDICT_COLOURS[verdict]
    shown = f"{wording.effect_of(item)} ({wording.interval_of(item)})"
    return [{"value": found.value, "low": low, "high": high, "shown": shown, "colour": colour}]


def _published_rows(result: ClaimResult | None) -> list[dict[str, Any]]:
    if result is None or result.claim.effect_pct is None:
        return []
    return [{"value": result.claim.effect_pct, "shown": wording.published(result.claim)}]


def _thinned(values: list[float]) -> list[float]:
    group = -(-len(values) // MAX_GOODPUT_POINTS)
    groups = (values[start : start + group] for start in range(0, len(values), max(1, group)))
    return [float(f"{sum(part) / len(part):.4g}") for part in groups]
