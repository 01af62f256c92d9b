"""Samples → estimates with verdicts (docs/method.md). Pure."""

from longlook.stats.estimates import estimate
from longlook.stats.frames import estimates_from_table, estimates_table
from longlook.stats.levels import arm_levels

__all__ = ["arm_levels", "estimate", "estimates_from_table", "estimates_table"]
