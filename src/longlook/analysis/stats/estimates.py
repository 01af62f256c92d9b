"""Samples → one estimate for each contrast and cell."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from longlook.analysis.stats import procedures, sequential
from longlook.analysis.stats.cells import CellData, cells_of
from longlook.analysis.stats.procedures import Floats, Paired
from longlook.analysis.stats.verdicts import caveats, decide
from longlook.core.model import Contrast, Estimate, Study
from longlook.metrics import Metric, find_metric


@dataclass(frozen=True)
class _Tested:
    data: CellData
    metric: Metric
    n_pairs: int
    paired: Paired | None
    is_log: bool

    @property
    def p(self) -> float | None:
        return None if self.paired is None else self.paired.p


def estimate(samples: pd.DataFrame, study: Study) -> list[Estimate]:
    """Return an estimate for every contrast of the study in every cell that was tried, by contrast, then by level.

    `samples` has the columns of `samples_table`; the order of its rows does not matter. Degenerate values never raise
    an error: the estimate's `reason` describes them. p values are adjusted over all cells of a contrast that have one,
    or over all contrasts of its family.
    """
    tested = [item for contrast in study.contrasts for item in _test_contrast(samples, study, contrast)]
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


def _test_contrast(samples: pd.DataFrame, study: Study, contrast: Contrast) -> list[_Tested]:
    metric = find_metric(contrast.metric)
    return [_test(data, metric, study) for data in cells_of(samples, study, contrast)]


def _test(data: CellData, metric: Metric, study: Study) -> _Tested:
    baseline, contender = data.pairs
    if len(baseline) == 0:
        return _Tested(data, metric, 0, None, is_log=True)
    advantage, is_log = procedures.advantages(baseline, contender, metric.better)
    margin = procedures.margin(study.analysis.equivalence_margin_pct, is_log)
    analyse = sequential.paired if study.stopping else procedures.paired
    paired = analyse(advantage, margin, study.analysis.confidence)
    return _Tested(data, metric, len(baseline), paired, is_log)


def _conclude(tested: _Tested, study: Study, p_adjusted: float | None) -> Estimate:
    data, metric, paired = tested.data, tested.metric, tested.paired
    verdict, reason = decide(tested.n_pairs, paired, p_adjusted, study.analysis)
    reasons = [reason] if reason else []
    reasons += caveats(data, tested.is_log)

    def in_pct(advantage: float | None) -> float | None:
        return procedures.effect_pct(advantage, metric.better, tested.is_log)

    fails_more = sequential.p_more if study.stopping else procedures.fails_more
    baseline, contender, failures = data.baseline.array, data.contender.array, data.failures
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
        effect_pct=in_pct(paired.mean) if paired else None,
        ci_low_pct=in_pct(paired.low) if paired else None,
        ci_high_pct=in_pct(paired.high) if paired else None,
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
        p_failures=fails_more(failures.contender - failures.both, failures.baseline - failures.both),
    )


def _median(values: Floats) -> float | None:
    if len(values) == 0:
        return None
    # Halved first: the mean of the two middle values might overflow.
    return float(np.median(values / 2) * 2)
