"""Samples → estimates with verdicts (docs/method.md). Pure."""

from longlook.stats.estimates import estimate
from longlook.stats.frames import estimates_from_table, estimates_table

__all__ = ["estimate", "estimates_from_table", "estimates_table"]
