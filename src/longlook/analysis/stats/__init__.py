"""Samples → estimates with verdicts (docs/method.md). Pure.

`estimate` estimates every contrast in every cell, `arm_levels` every arm by itself; `estimates_table` and
`estimates_from_table` are the way to `estimates.parquet` and back.
"""

from longlook.analysis.stats.estimates import estimate
from longlook.analysis.stats.frames import estimates_from_table, estimates_table
from longlook.analysis.stats.levels import arm_levels

__all__ = ["arm_levels", "estimate", "estimates_from_table", "estimates_table"]
