"""Integrated losses against random ones, in trials that were run at one point. Pure."""

import math
from collections.abc import Iterable, Iterator

import numpy as np
import pandas as pd

from longlook.analysis import MORE, CellStrata
from longlook.instruments.certify.rates import Limit, Promise, Rate, found
from longlook.instruments.certify.trial_bank import METRIC

_ERRORS = 3
_ROUNDING = 1e-9


def means_compared(integrated: pd.DataFrame, random: pd.DataFrame) -> list[Rate]:
    """Return in how many cells of single arms the mean logarithm by strata is far from the mean of random rounds.

    Both are tables of samples, of rounds at one point. The distance is in standard errors of the difference.
    """
    means = {name: _means(table) for name, table in (("strata", integrated), ("random", random))}
    far = [
        abs(mean - other) > _ERRORS * math.hypot(error, other_error) + _ROUNDING
        for key, (mean, error) in means["strata"].items()
        if key in means["random"]
        for other, other_error in [means["random"][key]]
    ]
    event = f"mean of the strata further than {_ERRORS} standard errors from that of random rounds"
    return found([_promise(event, "arms in cells", 0.01).rate(far)])


def _means(samples: pd.DataFrame) -> dict[tuple[str, str], tuple[float, float]]:
    """Return the mean of the logarithm and its standard error by cell and arm, from two rounds on."""
    good = samples[(samples["metric"] == METRIC) & (samples["outcome"] == "ok") & samples["value"].notna()]
    last = good.drop_duplicates(["cell", "arm", "round"], keep="last")
    found_means = {}
    for (cell, arm), rows in last.groupby(["cell", "arm"]):
        values = np.log(rows["value"].to_numpy(np.float64))
        if len(values) > 1:
            error = float(np.std(values, ddof=1)) / math.sqrt(len(values))
            found_means[str(cell), str(arm)] = (float(np.mean(values)), error)
    return found_means


def weights_checked(cells: Iterable[CellStrata]) -> list[Rate]:
    """Return in how many cells losses were not integrated, and in how many the probability of two losses and more is
    not the sum over the first of them. The latter are of independent losses.
    """
    planned = list(cells)
    checked = [cell for cell in planned if not cell.why_sampled and _is_memoryless(cell)]
    return found(
        [
            _promise("losses were not integrated", "cells", 0.0).rate(bool(cell.why_sampled) for cell in planned),
            _promise("probabilities of the strata do not add up", "cells", 0.0).rate(
                abs(math.fsum(_first_of_several(cell)) - cell.strata.weights[MORE]) > _ROUNDING for cell in checked
            ),
        ]
    )


def _is_memoryless(cell: CellStrata) -> bool:
    return cell.laws is not None and len(cell.laws.up.lost) == len(cell.laws.down.lost) == 1


def _first_of_several(cell: CellStrata) -> Iterator[float]:
    """Yield for each packet inside the probability that it is the first that is lost, and not the only one."""
    if cell.laws is None:
        return
    shares = [law.lost[0] for name, law in (("up", cell.laws.up), ("down", cell.laws.down)) for _ in cell.inside[name]]
    for place, share in enumerate(shares):
        before = math.prod(1 - other for other in shares[:place])
        behind = math.prod(1 - other for other in shares[place + 1 :])
        yield before * share * (1 - behind)


def _promise(event: str, unit: str, nominal: float) -> Promise:
    return Promise("strata-trials", "integrated losses", event, unit, nominal, Limit.AT_MOST)
