"""Estimates made up for tests of gates."""

from dataclasses import replace
from typing import Any

from longlook.analysis.stats.procedures import fails_more
from longlook.core.model import Verdict
from longlook.core.results import Estimate
from longlook.instruments.compare.spec import BASELINE, CONTENDER


def estimate(effect: float | None, half: float = 1.0, p: float | None = 0.0001, **changes: Any) -> Estimate:
    """Return an estimate of 20 rounds whose interval is `effect` ± `half`, in %."""
    low, high = (None, None) if effect is None else (effect - half, effect + half)
    return replace(
        Estimate(
            "page_load_time", "page_load_time", "s", {"network": "10mbit,36ms"}, "10mbit-36ms", BASELINE, CONTENDER,
            20, 20, 20, 0.405, 0.799, effect, low, high, p, p, p, 1.0, p, Verdict.WORSE, None, {}, n_judged=20,
        ),
        **changes,
    )  # fmt: skip


def failed(
    contender: int, baseline: int = 0, both: int = 0, rounds: int = 20, effect: float = 0.0, **changes: Any
) -> Estimate:
    """Return an estimate whose arms failed in so many of `rounds`."""
    counts = {"n_baseline_failed": baseline, "n_contender_failed": contender, "n_both_failed": both}
    p = fails_more(contender - both, baseline - both)
    n_pairs = rounds - contender - baseline + both
    return estimate(effect, n_judged=rounds, n_pairs=n_pairs, p_failures=p, **counts, **changes)
