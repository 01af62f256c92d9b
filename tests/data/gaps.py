"""The metric and the scale of made-up gaps: page load times, compared by ratios."""

import numpy as np

from longlook.analysis.stats.scales import compared
from longlook.core.metric import find_metric
from longlook.core.model import Analysis

LOAD_TIME = find_metric("page_load_time")
_, RATIOS = compared(np.array([2.0]), np.array([1.0]), LOAD_TIME, Analysis())
