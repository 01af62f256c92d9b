"""Integrated losses against random ones, in trials that were run at one point. Pure."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from longlook.analysis import MORE, RANDOM_LOSSES, CellStrata, Floats
from longlook.instruments.certify.rates import Limit, Promise, Rate, found
from longlook.instruments.certify.trial_bank import METRIC

_ERRORS = 3
_ROUNDING = 1e-9


@dataclass(frozen=True)
class MeanOfLogs:
    """A mean of logarithms, and its standard error."""

    mean: float
    error: float

    @classmethod
    def of(cls, values: Floats) -> "MeanOfLogs":
        """Return it from two values or more, shape (rounds,)."""
        return cls(float(np.mean(values)), float(np.std(values, ddof=1)) / math.sqrt(len(values)))


def means_compared(
    part: str, integrated: pd.DataFrame, random: pd.DataFrame, cells: Iterable[CellStrata]
) -> list[Rate]:
    """Return in how many cells of single arms the mean logarithm by strata is far from the mean of random rounds.

    `part` is the part of the certification. `integrated` and `random` are tables of samples, of rounds at one point.
    The distance is in standard errors of the difference.
    """
    strata, others = integrated_means(integrated), random_means(random, cells)
    far = [
        abs(strata[key].mean - other.mean) > _ERRORS * math.hypot(strata[key].error, other.error) + _ROUNDING
        for key, other in others.items()
        if key in strata
    ]
    event = f"mean of the strata further than {_ERRORS} standard errors from the mean of random rounds"
    return found([_promise(part, event, "arms in cells", 0.01).rate(far)])


def integrated_means(samples: pd.DataFrame) -> dict[tuple[str, str], MeanOfLogs]:
    """Return the mean over rounds of integrated losses by cell and arm, from two rounds on."""
    return {key: MeanOfLogs.of(_logs(rows)) for key, rows in _by_arm(samples) if len(rows) > 1}


def random_means(samples: pd.DataFrame, cells: Iterable[CellStrata]) -> dict[tuple[str, str], MeanOfLogs]:
    """Return the mean over random rounds by cell and arm.

    Rounds are parted by whether their load lost a packet (poststratification: Holt and Smith, J. R. Stat. Soc. A 142,
    1979). The probability of none is exact, and all such loads at one point are the same. At least one is needed, and
    two that lost a packet.
    """
    plans = {cell.cell_id: cell for cell in cells if not cell.why_sampled}
    means: dict[tuple[str, str], MeanOfLogs] = {}
    for (cell, arm), rows in _by_arm(samples):
        calm, lossy = _logs(rows[rows[RANDOM_LOSSES] == 0]), _logs(rows[rows[RANDOM_LOSSES] > 0])
        if cell in plans and len(calm) and len(lossy) > 1:
            none = plans[cell].strata.none_of(plans[cell].packets(arm))
            rest = MeanOfLogs.of(lossy)
            mean = none * float(np.mean(calm)) + (1 - none) * rest.mean
            means[cell, arm] = MeanOfLogs(mean, (1 - none) * rest.error)
    return means


def _by_arm(samples: pd.DataFrame) -> Iterator[tuple[tuple[str, str], pd.DataFrame]]:
    """Yield the rows of the good rounds of each cell and arm."""
    good = samples[(samples["metric"] == METRIC) & (samples["outcome"] == "ok") & samples["value"].notna()]
    last = good.drop_duplicates(["cell", "arm", "round"], keep="last")
    for (cell, arm), rows in last.groupby(["cell", "arm"]):
        yield (str(cell), str(arm)), rows


def _logs(rows: pd.DataFrame) -> Floats:
    logs: Floats = np.log(rows["value"].to_numpy(np.float64))
    return logs


def weights_checked(part: str, cells: Iterable[CellStrata]) -> list[Rate]:
    """Return in how many cells losses were not integrated, and in how many the probability of two losses and more is
    not the sum over the first of them. The latter are of independent losses.
    """
    planned = list(cells)
    checked = [cell for cell in planned if not cell.why_sampled and _is_memoryless(cell)]
    return found(
        [
            _promise(part, "losses were not integrated", "cells", 0.0).rate(bool(cell.why_sampled) for cell in planned),
            _promise(part, "probabilities of the strata do not add up", "cells", 0.0).rate(
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


def _promise(part: str, event: str, unit: str, nominal: float) -> Promise:
    return Promise(part, "integrated losses", event, unit, nominal, Limit.AT_MOST)
