"""Samples → one estimate for each contrast and cell."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd

from longlook.analysis.stats import cliffs, discrete, procedures, rare_losses, sequential
from longlook.analysis.stats.cells import CellData, Cells
from longlook.analysis.stats.drawn_settings import sentence
from longlook.analysis.stats.procedures import Floats, Paired
from longlook.analysis.stats.scales import Scale, compared, none_seen
from longlook.analysis.stats.verdicts import always_alike, caveats, decide, unlike_itself
from longlook.core import Contrast, Dependence, Estimate, Metric, Study, Verdict, find_metric


@dataclass(frozen=True)
class _Tested:
    data: CellData
    metric: Metric
    n_pairs: int
    paired: Paired | None
    scale: Scale
    fits: tuple[cliffs.Fit, ...] = ()
    random_losses: float | None = None
    unseen_pct: float | None = None
    rounds_needed: Callable[[], int | None] | None = None
    caveat: str | None = None  # about the analysis of this cell

    @property
    def p(self) -> float | None:
        return None if self.paired is None else self.paired.p

    def in_pct(self, advantage: float | None) -> float | None:
        """Return an advantage in %; None of differences."""
        return self.scale.effect(advantage) if self.scale.is_log else None


def estimate(samples: pd.DataFrame, study: Study) -> list[Estimate]:
    """Return an estimate for every contrast of the study in every cell that was tried, by contrast, then by level.

    `samples` has the columns of `samples_table`; the order of its rows does not matter. Degenerate values never raise
    an error: the estimate's `reason` describes them. p values are adjusted over all cells of a contrast that have one,
    or over all contrasts of its family.
    """
    cells = Cells(samples, study, (contrast.metric for contrast in study.contrasts))
    tested = [item for contrast in study.contrasts for item in _test_contrast(cells, study, contrast)]
    families: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for index, item in enumerate(tested):
        if item.p is not None:
            contrast = item.data.contrast
            key = ("family", contrast.family) if contrast.family else ("contrast", contrast.name)
            families.setdefault(key, []).append((index, item.p))
    p_adjusted: dict[int, float] = {}
    for family in families.values():
        adjusted = procedures.adjust([p for _, p in family], study.analysis.correction)
        p_adjusted |= dict(zip((index for index, _ in family), adjusted, strict=True))
    return [_conclude(item, study, p_adjusted.get(index)) for index, item in enumerate(tested)]


def _test_contrast(cells: Cells, study: Study, contrast: Contrast) -> list[_Tested]:
    metric = find_metric(contrast.metric)
    return [_test(data, metric, study) for data in cells.of(contrast)]


def _test(data: CellData, metric: Metric, study: Study) -> _Tested:
    baseline, contender = data.pairs
    count, confidence = len(baseline), study.analysis.confidence
    if count == 0:
        return _Tested(data, metric, 0, None, Scale(metric.better, metric.effect_unit, 0.0))
    advantage, scale = compared(baseline, contender, metric, study.analysis)
    losses = data.random_losses
    mean_losses = None if losses is None else float(np.mean(losses))
    if none_seen(baseline, contender, metric):
        nothing = Paired(0.0, None, None, None, None, constant=False)
        return _Tested(data, metric, count, nothing, scale, random_losses=mean_losses)
    fits = tuple(cliffs.fits(advantage, data.drawn_in_pairs, scale.margin)) if scale.margin else ()
    tested = _Tested(data, metric, count, None, scale, fits, mean_losses)
    is_constant = bool(np.ptp(advantage) <= procedures.ROUNDING)
    repeated = discrete.repeats(advantage) if not scale.is_log else is_constant and losses is None
    is_replayed = is_constant and losses is None and not study.around
    if repeated and not is_replayed and study.stopping is None:
        caveat = always_alike(count, confidence, float(advantage[0])) if is_constant else None
        return replace(tested, paired=discrete.paired(advantage, scale.margin, confidence), caveat=caveat)
    analyse: rare_losses.Analyse = partial(procedures.paired, margin=scale.margin, confidence=confidence)
    if study.stopping is not None:
        analyse = partial(
            sequential.paired,
            margin=scale.margin,
            confidence=confidence,
            last=_all_ran(data, study),
            repeated=repeated and not scale.is_log,
        )
    if (integrated := _with_integrated_losses(tested, advantage, analyse, confidence)) is not None:
        return integrated
    if mean_losses is None:
        return replace(tested, paired=analyse(advantage))
    allowing = partial(
        rare_losses.allowing, analyse, losses=mean_losses, is_log=scale.is_log, magnitude=scale.magnitude
    )

    def decides(rounds: Floats) -> bool:
        paired = allowing(advantage=rounds)
        return decide(len(rounds), paired, paired.p, study.analysis)[0] is not Verdict.INCONCLUSIVE

    needed = partial(rare_losses.rounds_needed, decides, advantage)
    caveat = rare_losses.sentence(mean_losses)
    return replace(tested, paired=allowing(advantage=advantage), rounds_needed=needed, caveat=caveat)


def _with_integrated_losses(
    tested: _Tested, advantage: Floats, analyse: rare_losses.Analyse, confidence: float
) -> _Tested | None:
    """Return the analysis of rounds of integrated losses; None if losses are sampled, or there are none."""
    data, scale = tested.data, tested.scale
    if (room := data.room((1 - confidence) / 2)) is not None:
        room_pct = 100 * math.expm1(room)
        caveat = rare_losses.sentence_of_pairs(room_pct)
        return replace(
            tested, paired=rare_losses.with_room(analyse, advantage, room), caveat=caveat, unseen_pct=room_pct
        )
    if (unseen_pct := data.unseen_pct) is None:
        return None
    paired = rare_losses.with_unseen(analyse, advantage, unseen_pct, is_log=scale.is_log, magnitude=scale.magnitude)
    return replace(tested, paired=paired, caveat=rare_losses.sentence_of_strata(unseen_pct), unseen_pct=unseen_pct)


def _conclude(tested: _Tested, study: Study, p_adjusted: float | None) -> Estimate:
    data, metric, paired = tested.data, tested.metric, tested.paired
    verdict, reason = decide(tested.n_pairs, paired, p_adjusted, study.analysis)
    unlike = unlike_itself(data.baseline, metric) if data.baseline.name == study.analysis.reference else None
    if unlike is not None and verdict is not Verdict.INCONCLUSIVE:
        verdict, reason = Verdict.INCONCLUSIVE, unlike
    reasons = [reason] if reason else []
    reasons += caveats(data, metric, tested.scale)
    caveat = tested.caveat
    if tested.random_losses is not None and tested.rounds_needed is not None and verdict is Verdict.INCONCLUSIVE:
        caveat = rare_losses.sentence(tested.random_losses, tested.rounds_needed())
    reasons += [caveat] if caveat else []
    if tested.random_losses is not None and data.rounds_without_log:
        reasons.append(rare_losses.not_counted(data.rounds_without_log))

    dependences = tuple(_dependence(fit, tested, study.analysis.alpha) for fit in tested.fits)
    reasons += [sentence(item) for item in dependences if item.is_cliff][:1]
    baseline, contender, failures = data.baseline.array, data.contender.array, data.failures
    means = (
        (None, None) if tested.unseen_pct is None else tuple(_mean(side, tested.scale.is_log) for side in data.pairs)
    )
    return Estimate(
        contrast=data.contrast.name,
        metric=metric.name,
        unit=metric.unit,
        cell=data.cell,
        cell_id=data.cell_id,
        baseline=data.baseline.name,
        contender=data.contender.name,
        n_baseline=len(baseline),
        n_contender=len(contender),
        n_pairs=tested.n_pairs,
        baseline_median=_median(baseline),
        contender_median=_median(contender),
        baseline_mean=means[0],
        contender_mean=means[1],
        effect_pct=tested.in_pct(paired.mean) if paired else None,
        ci_low_pct=tested.in_pct(paired.low) if paired else None,
        ci_high_pct=tested.in_pct(paired.high) if paired else None,
        p_welch=procedures.welch(baseline, contender),
        p_paired=tested.p,
        p_mannwhitney=procedures.mann_whitney(baseline, contender),
        p_equivalence=paired.p_equivalence if paired else None,
        p_adjusted=p_adjusted,
        verdict=verdict,
        reason="; ".join(reasons) or None,
        outcomes={
            f"{arm.name}:{outcome}": count
            for arm in (data.baseline, data.contender)
            for outcome, count in arm.outcomes.items()
        },
        n_judged=failures.rounds,
        n_baseline_failed=failures.baseline,
        n_contender_failed=failures.contender,
        n_both_failed=failures.both,
        p_failures=_fails_more(data, study),
        dependences=dependences,
        random_losses=tested.random_losses,
        unseen_pct=tested.unseen_pct,
        difference=tested.scale.difference(paired.mean, paired.low, paired.high) if paired else None,
    )


def _dependence(fit: cliffs.Fit, tested: _Tested, alpha: float) -> Dependence:
    return Dependence(
        setting=fit.setting,
        n=tested.n_pairs,
        low=fit.low,
        high=fit.high,
        shape=fit.shape,
        split=fit.split,
        effect_low_pct=tested.in_pct(fit.at_low),
        effect_high_pct=tested.in_pct(fit.at_high),
        share=fit.share,
        p=fit.p,
        p_cliff=fit.p_beyond,
        is_cliff=fit.p < alpha and fit.p_beyond is not None and fit.p_beyond < alpha,
        difference=tested.scale.ends(fit.at_low, fit.at_high),
    )


def _fails_more(data: CellData, study: Study) -> float:
    failures = data.failures
    only = failures.contender - failures.both, failures.baseline - failures.both
    if study.stopping is None:
        return procedures.fails_more(*only)
    return sequential.fails_more(*only, last=_all_ran(data, study))


def _all_ran(data: CellData, study: Study) -> bool:
    """Return whether a cell had the largest number of rounds, after which is the last look."""
    return min(data.baseline.rounds, data.contender.rounds) >= study.rounds


def _mean(values: Floats, is_log: bool) -> float:
    return float(np.exp(np.mean(np.log(values)))) if is_log else float(np.mean(values))


def _median(values: Floats) -> float | None:
    if len(values) == 0:
        return None
    # Halved first: the mean of the two middle values might overflow.
    return float(np.median(values / 2) * 2)
