"""Two-level screening designs: few runs in which every factor is at each level equally often. Pure.

Plackett and Burman, "The design of optimum multifactorial experiments", Biometrika 33 (1946), 305-325: for N a multiple
of four there are designs of N runs for up to N - 1 factors in which all columns are orthogonal, so that each main
effect is estimated from all N runs, as well as if it had been studied alone. What they cannot tell apart are a main
effect and interactions of two other factors, which is why a screening suspects and does not confirm.
"""

import numpy as np
import numpy.typing as npt

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

    The rows are the published one shifted step by step, and a last one in which nothing is changed. Of a design with
    room for more factors the first columns are taken. Raises ValueError below 1 and above MOST_FACTORS factors.
    """
    if not 1 <= factors <= MOST_FACTORS:
        raise ValueError(f"{factors} factors: a design is for 1 to {MOST_FACTORS}")
    runs = next(size for size in _GENERATORS if size > factors)
    first = np.array([1 if sign == "+" else -1 for sign in _GENERATORS[runs]], np.int8)
    rows = [np.roll(first, shift) for shift in range(runs - 1)]
    return np.array([*rows, np.full(runs - 1, -1, np.int8)], np.int8)[:, :factors]
