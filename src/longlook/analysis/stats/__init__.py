"""Samples → estimates with verdicts (docs/explanation/method.md). Pure.

`estimate` estimates every contrast in every cell, `arm_levels` every arm by itself, for the metrics that
`metrics_by_arm` names. `estimates_table`, `dependences_table` and `estimates_from_table` are the way to
`estimates.parquet` and `dependences.parquet` and back. The module `drawn_settings` has the settings that rounds draw in
words, and `rare_losses` the room for random losses that the rounds have missed. `tails` has the rounds that were won
and effects on the worst loads, `population` the shares of a declared population in which a metric is below a value.
`cells` is the index of samples that all of these read, with the effect of each round; `libraries` imports scipy and
statsmodels when they are used.
"""

from longlook.analysis.stats.estimates import estimate
from longlook.analysis.stats.frames import dependences_table, estimates_from_table, estimates_table
from longlook.analysis.stats.levels import arm_levels, metrics_by_arm

__all__ = [
    "arm_levels",
    "dependences_table",
    "estimate",
    "estimates_from_table",
    "estimates_table",
    "metrics_by_arm",
]
