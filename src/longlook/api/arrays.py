"""The samples of a run as an xarray dataset: a dimension for each factor, for the arms and for the rounds."""

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from longlook.api.factors import factor_columns, number_columns
from longlook.api.tables import metric_columns
from longlook.core import InputError, MachineError, Study

if TYPE_CHECKING:
    import xarray as xr

MOST_PLACES = 50_000_000
"""Places of one variable, 400 MB. Cells that a study excludes have a place, too."""


def dataset(samples: pd.DataFrame, study: Study, about: dict[str, Any]) -> "xr.Dataset":
    """Return wide samples (`tables.wide`) as a dataset whose attributes are `about`.

    MachineError if xarray is not installed; InputError if the arrays would be too large.
    """
    try:
        import xarray as xr
    except ImportError as error:
        raise MachineError("xarray is not installed", "pip install 'longlook[notebook]'") from error
    table = samples[samples["round"] > 0].copy()  # the point that a study states is no part of any round
    factors = factor_columns(study)
    for factor in factors:
        table[factor.name] = table[factor.name].cat.remove_unused_categories()
    rounds = np.unique(table["round"].to_numpy(np.int64))
    arms = [arm.name for arm in study.arms]
    places = [table[name].cat.codes.to_numpy(np.int64) for name in (*(factor.name for factor in factors), "arm")]
    levels = {factor.name: list(table[factor.name].cat.categories) for factor in factors}
    shape = (*map(len, levels.values()), len(arms), len(rounds))
    if prod(shape) > MOST_PLACES:
        raise InputError(f"{prod(shape)} places of {len(table)} samples in each array", "use samples() instead")
    at = (*places, np.searchsorted(rounds, table["round"].to_numpy(np.int64)))
    dims = (*(factor.name for factor in factors), "arm", "round")
    variables: dict[str, Any] = {}
    for column, metric in metric_columns(study).items():
        if column in table:
            values = np.full(shape, np.nan)
            values[at] = table[column].to_numpy(np.float64)
            variables[column] = (dims, values, {"units": metric.unit, "long_name": metric.label, "metric": metric.name})
    outcome = np.full(shape, "", object)
    outcome[at] = table["outcome"].to_numpy(object)
    variables["outcome"] = (dims, outcome, {"long_name": "end of the trial; empty: not run"})
    coordinates: dict[str, Any] = {**levels, "arm": arms, "round": rounds}
    names = {factor.factor: factor for factor in factors}
    for number in number_columns(study):
        own = names[number.factor]
        of_levels = [number.numbers[label] for label in levels[own.name]]
        coordinates[number.name] = (own.name, of_levels, {"units": number.unit})
    return xr.Dataset(variables, coordinates, about)
