"""Two-level screening designs, and the main effect of each factor from the gaps of a design's runs. Pure.

The designs are from Plackett and Burman, "The design of optimum multifactorial experiments", Biometrika 33 (1946),
305-325. For N a multiple of four they have N runs for up to N - 1 factors, and all columns are orthogonal. Each main
effect is therefore estimated from all N runs, as if its factor had been studied alone. Such a design cannot tell a main
effect from interactions of two other factors, so that a screening suspects and does not confirm.

Each round runs the whole design, so that rounds are blocks. The error is the interaction of runs and rounds: the part
of a run's gap that neither its run nor its round explains. It has (runs - 1)(rounds - 1) degrees of freedom (Box,
Hunter and Hunter, Statistics for Experimenters, 2nd ed. 2005, 5.6). An interaction of two factors that looks like a
third factor is no part of that error.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from longlook.analysis import libraries, procedures

Signs = npt.NDArray[np.int8]

_GENERATORS = {
    8: "+++-+--",
    12: "++-+++---+-",
    16: "++++-+-++--+---",
    20: "++--++++-+-+----++-",
    24: "+++++-+-++--++--+-+----",
}
"""Number of runs → the first row of the design (Plackett and Burman, 1946, p. 323)."""

MOST_FACTORS = max(_GENERATORS) - 1
"""The factors that the largest of the designs has room for."""


def plackett_burman(factors: int) -> Signs:
    """Return the smallest design for a number of factors, shape (runs, factors): 1 is the changed level, −1 the own.

    The rows are the published one shifted step by step, and a last one in which nothing is changed. If a design has
    room for more factors, its first columns are taken. Raises ValueError below 1 and above MOST_FACTORS factors.
    """
    if not 1 <= factors <= MOST_FACTORS:
        raise ValueError(f"{factors} factors: a design is for 1 to {MOST_FACTORS}")
    runs = next(size for size in _GENERATORS if size > factors)
    first = np.array([1 if sign == "+" else -1 for sign in _GENERATORS[runs]], np.int8)
    rows = [np.roll(first, shift) for shift in range(runs - 1)]
    return np.array([*rows, np.full(runs - 1, -1, np.int8)], np.int8)[:, :factors]


Floats = npt.NDArray[np.float64]

LEAST_ROUNDS = 2
"""Without a second round nothing says by how much gaps vary by chance."""


@dataclass(frozen=True)
class MainEffect:
    """The part of the gap that a factor's other level closes, on the gap's scale; `p` that it is within the margin."""

    closed: float
    p: float


def main_effects(signs: Signs, gaps: Floats, margin: float) -> list[MainEffect] | None:
    """Return the effect of each factor; None if too few runs are left to tell the factors apart.

    `signs` has shape (runs, factors), `gaps` (rounds, runs) with at least LEAST_ROUNDS rounds. Runs with a gap that is
    not a number, since a trial failed, are left out in all rounds. The others are fitted by least squares; for a whole
    design this is the difference of the means at both levels.
    """
    whole = np.isfinite(gaps).all(axis=0)
    model = np.column_stack([np.ones(int(whole.sum())), signs[whole]]).astype(np.float64)
    if len(model) < 2 or np.linalg.matrix_rank(model) < model.shape[1]:
        return None
    seen = gaps[:, whole]
    rounds, runs = seen.shape
    inverse = np.linalg.inv(model.T @ model)
    coefficients = inverse @ model.T @ seen.mean(axis=0)
    error = seen - seen.mean(axis=0) - seen.mean(axis=1, keepdims=True) + seen.mean()
    freedom = (rounds - 1) * (runs - 1)
    variance = float((error**2).sum()) / freedom / rounds
    found = []
    for place in range(1, model.shape[1]):
        closed = -2 * float(coefficients[place])  # from the own level to the changed one
        deviation = 2 * math.sqrt(variance * float(inverse[place, place]))
        if deviation <= procedures.ROUNDING:
            found.append(MainEffect(closed, float(closed <= margin)))
        else:
            found.append(MainEffect(closed, float(libraries.stats.t.sf((closed - margin) / deviation, freedom))))
    return found


POWER = 0.8
"""How often a setting that closes the whole gap must be found for a screening to be worth its trials."""


def least_found(signs: Signs, gaps: Floats, margin: float, alpha: float, rounds: int) -> float | None:
    """Return the smallest effect that a design finds with POWER in `rounds` rounds, by the variation of its gaps so
    far.

    On the gap's scale; None if it is not known, since a run failed or there are fewer than LEAST_ROUNDS rounds. `alpha`
    is for all factors together.
    """
    if not np.isfinite(gaps).all() or len(gaps) < LEAST_ROUNDS:
        return None
    seen, runs = len(gaps), gaps.shape[1]
    error = gaps - gaps.mean(axis=0) - gaps.mean(axis=1, keepdims=True) + gaps.mean()
    variance = float((error**2).sum()) / ((seen - 1) * (runs - 1))
    deviation, freedom = 2 * math.sqrt(variance / (rounds * runs)), (rounds - 1) * (runs - 1)
    quantiles = [float(libraries.stats.t.ppf(share, freedom)) for share in (1 - alpha / signs.shape[1], POWER)]
    return margin + sum(quantiles) * deviation


def unusable(signs: Signs, gaps: Floats) -> list[int]:
    """Return factors whose changed level makes trials fail, so that a design cannot have them; none if none failed.

    These are factors none of whose runs at the changed level went well in any round; without such a factor, it is the
    later one of two factors that never went well together.
    """
    well = np.asarray(np.isfinite(gaps).any(axis=0), np.bool_)
    if well.all():
        return []
    changed = signs > 0
    alone = [factor for factor in range(signs.shape[1]) if not well[changed[:, factor]].any()]
    if alone:
        return alone
    pairs = ((one, other) for other in range(signs.shape[1]) for one in range(other))
    return next(([other] for one, other in pairs if not well[changed[:, one] & changed[:, other]].any()), [])
