"""The libraries of statistics, each imported at its first use.

A run that finds its statistics in the cache uses none of them, and their import takes longer than all its other stages.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scipy import optimize, special, stats
    from statsmodels.stats import multitest, weightstats

__all__ = ["multitest", "optimize", "special", "stats", "weightstats"]

_MODULES = {
    "optimize": "scipy.optimize",
    "special": "scipy.special",
    "stats": "scipy.stats",
    "multitest": "statsmodels.stats.multitest",
    "weightstats": "statsmodels.stats.weightstats",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(_MODULES[name])
