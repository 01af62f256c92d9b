"""Every column of the tables that this package returns: its name, its unit and its meaning, for the reference page."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Column:
    """A column: the unit of its numbers, "" of texts and counts, and what it holds."""

    unit: str
    meaning: str


_CELL = Column("", "the cell's id, as `explain RUN CELL` takes it")
_ARM = Column("", "the arm's name")
_ROUND = Column("", "the round from 1, as on the page; 0: the point that the study states, no part of any round")
_LEVELS: Mapping[str, Column] = {
    "FACTOR": Column("", "one for each factor, with its name: the level as written, an ordered category"),
    "FACTOR_UNIT": Column("bit/s, s, B, %", "its number, such as `rate_bps`, `rtt_s`, `size_bytes`, `loss_pct`"),
}
_CONTRAST: Mapping[str, Column] = {
    "contrast": Column("", "the contrast's name"),
    "metric": Column("", "the metric's name, without its unit"),
    "cell": _CELL,
    **_LEVELS,
    "baseline": Column("", "the arm that is compared with"),
    "contender": Column("", "the arm that the verdict speaks of"),
}

SAMPLES: Mapping[str, Column] = {
    "study": Column("", "the study's id"),
    "cell": _CELL,
    "arm": Column("", "the arm's name, a category in the order of the study"),
    "round": _ROUND,
    **_LEVELS,
    "METRIC_UNIT": Column("as its name says", "one for each metric, such as `page_load_time_s`; missing, never 0"),
    "outcome": Column("", "ok, failed, timed_out, unsupported or invalid"),
    "reason": Column("", "why a value is missing; null if none is"),
    "drawn.SETTING": Column("as its name says", "what the round drew of the neighbourhood, if it draws"),
    "random_losses": Column("", "packets that the path lost at random, if it does"),
    "seed": Column("", "the seed of the trial's draws"),
    "trial_id": Column("", "the folder of the trial below `trials/`; of integrated losses the first of the round's"),
    "attempt": Column("", "the attempt that counts, from 1"),
}
"""The columns of `Run.samples`."""

LONG: Mapping[str, Column] = {
    **{name: SAMPLES[name] for name in ("study", "cell", "arm", "round", "FACTOR", "FACTOR_UNIT")},
    "metric": Column("", "the metric's name, without its unit"),
    "value": Column("the row's `unit`", "never to be pooled over metrics"),
    "unit": Column("", "the unit of `value`"),
    **{name: SAMPLES[name] for name in ("outcome", "reason", "seed", "trial_id", "attempt")},
}
"""The columns of `Run.samples_long`."""

VERDICTS: Mapping[str, Column] = {
    **_CONTRAST,
    "verdict": Column("", "better, worse, equivalent or inconclusive: of the contender"),
    "effect": Column("in the text", "with its sign: + means that the contender is better"),
    "interval": Column("in the text", "of the effect"),
    "baseline_level": Column("in the text", "median over rounds; the mean if losses are integrated"),
    "contender_level": Column("in the text", "the same of the contender"),
    "p_adjusted": Column("", "adjusted for all cells of the contrast or family"),
    "rounds": Column("", "rounds in which both arms have a value"),
    "reason": Column("", "why inconclusive, or a caveat; null without one"),
}
"""The columns of `Run.verdicts`: words for people; `Run.estimates` has the numbers."""

ESTIMATES: Mapping[str, Column] = {
    **{name: VERDICTS[name] for name in _CONTRAST},
    "unit": Column("", "the unit of the row's medians and means"),
    "verdict": VERDICTS["verdict"],
    "effect_pct": Column("%", "of metrics that are compared by ratios; + means that the contender is better"),
    "ci_low_pct": Column("%", "the lower end of its interval"),
    "ci_high_pct": Column("%", "the upper end"),
    "difference_value": Column("`difference_unit`", "the effect of metrics that are compared by differences"),
    "difference_low": Column("`difference_unit`", "the lower end of its interval"),
    "difference_high": Column("`difference_unit`", "the upper end"),
    "difference_unit": Column("", "the unit of the row's difference"),
    "difference_margin": Column("`difference_unit`", "the margin of equivalence"),
    "n_pairs": Column("", "rounds in which both arms have a value"),
    "n_baseline": Column("", "rounds in which the baseline has a value; `n_contender` likewise"),
    "baseline_median": Column("`unit`", "over rounds; `contender_median` likewise"),
    "baseline_mean": Column("`unit`", "over all loads, if losses are integrated; `contender_mean` likewise"),
    "p_paired": Column("", "of the paired test that the verdict rests on"),
    "p_adjusted": VERDICTS["p_adjusted"],
    "p_equivalence": Column("", "of the two one-sided tests against the margin"),
    "p_welch": Column("", "of Welch's test; `p_mannwhitney` of Mann and Whitney's"),
    "reason": VERDICTS["reason"],
    "outcomes": Column("", "JSON: attempts by arm and outcome"),
    "n_judged": Column("", "rounds that were judged for failures; `n_baseline_failed` and so on count these"),
    "p_failures": Column("", "one-sided: that the contender fails more often"),
    "random_losses": Column("", "packets that a load lost at random, on average"),
    "unseen_pct": Column("%", "by how much a round that was not seen may be larger, if losses are integrated"),
}
"""The columns of `Run.estimates`."""

CLAIMS: Mapping[str, Column] = {
    "claim": Column("", "the claim's id"),
    "source": Column("", "what published it"),
    "contrast": Column("", "the contrast that it is about; empty of a level, which is about one arm"),
    "cell": _CELL,
    **_LEVELS,
    "published": Column("in the text", "the published value"),
    "ours": Column("in the text", "our value"),
    "interval": Column("in the text", "of our value"),
    "result": Column("", "same size, other size, contradicted, open and so on"),
    "published_pct": Column("%", "the published effect, if it is one with a number"),
    "ours_pct": Column("%", "our effect, if it is a ratio's"),
    "reason": Column("", "the result in a sentence"),
}
"""The columns of `Run.claims`."""

CELLS: Mapping[str, Column] = {
    "cell": _CELL,
    **_LEVELS,
    "trials": Column("", "trials in the plan"),
}
"""The columns of `Run.cells` and `Study.cells`."""

PLAN: Mapping[str, Column] = {
    "cell": _CELL,
    "arm": _ARM,
    "round": _ROUND,
    **_LEVELS,
    "seed": SAMPLES["seed"],
    "trial_id": Column("", "the id of the trial, a digest of its settings"),
}
"""The columns of `Study.plan`."""

FINDINGS: Mapping[str, Column] = {
    "cell": _CELL,
    "contrast": Column("", "the contrast's name"),
    "cause": Column("", "the suspected cause, as docs/reference/causes.md has it"),
    "arm": Column("", "the arm that lost"),
    "role": Column("", "whose doing it is: server, client or path"),
    "found_by": Column("", "detector, screening or delta debugging"),
    "verdict": Column("", "of the finding, after all trials"),
    "strength_ms": Column("ms", "the excess of time that the sign explains"),
    "seen_in": Column("", "rounds that showed it"),
    "kind": Column("", "of the row's change: cure, transplant; empty: nothing could be tested"),
    "intervention": Column("", "what was changed"),
    "target": Column("", "loser, winner or both"),
    "touches": Column("", "mechanism, occasion or program"),
    "concluded": Column("", "by this change alone"),
    "rounds": Column("", "rounds in which it was tried"),
    "share_pct": Column("%", "of the gap that it closes"),
    "ci_low_pct": Column("%", "the lower end of its interval"),
    "ci_high_pct": Column("%", "the upper end"),
    "winners_pct": Column("%", "of a change of both arms: the part that is the winner's getting worse"),
    "closed": Column("`closed_unit`", "by how much the arms get closer"),
    "closed_unit": Column("", "the unit of `closed`"),
    "p_adjusted": Column("", "adjusted for all changes of the cell"),
    "reason": Column("", "why it concludes nothing"),
}
"""The columns of `Explanation.findings`."""

TABLES: Mapping[str, Mapping[str, Column]] = {
    "Run.samples": SAMPLES,
    "Run.samples_long": LONG,
    "Run.verdicts": VERDICTS,
    "Run.estimates": ESTIMATES,
    "Run.claims": CLAIMS,
    "Run.cells": CELLS,
    "Study.plan": PLAN,
    "Explanation.findings": FINDINGS,
}
"""The tables of the page *Results in Python*."""

RESERVED = frozenset(name for table in TABLES.values() for name in table)
"""The names of all columns except factors and metrics, so that a factor is called the same in every table."""

ENDINGS: Mapping[str, str] = {"%": "pct", "Mbit/s": "mbps", "B": "bytes", "of 1": "", "1/s": "per_s"}
"""The ending of a metric's column by its unit; of other units it is their own letters, such as `s` or `s_per_gb`."""


def metric_column(metric: str, unit: str) -> str:
    """Return the name of a metric's column: `page_load_time_s`, `throughput_mbps`, `stalls`.

    Words at the end of the metric's name that say its unit already are not repeated.
    """
    words, ending = metric.split("_"), ENDINGS.get(unit, unit.lower().replace("/", " per ")).replace("_", " ").split()
    while ending and words[-len(ending) :] != ending and words[-1] in ending[1:]:
        words.pop()
    own = words if not ending or words[-len(ending) :] == ending else [*words, *ending]
    return "_".join(own)
