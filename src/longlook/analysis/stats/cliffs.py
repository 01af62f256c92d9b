"""Does the effect depend on a setting that rounds draw, and does it change by more than the margin?

For each setting the candidates are a step at every split that leaves SIDE rounds on either side, and a line. The best
candidate is the one with the largest R²: the share of the variance of the rounds' advantages that it explains.

- **Chance.** Rounds are exchangeable if no setting matters. Permuting the advantages gives the null distribution
  of the largest R² over all settings and splits at once, so p is adjusted for the search.
  The statistics are maximally selected (Lausen and Schumacher, Biometrics 48, 1992; Hothorn, Hornik and Zeileis,
  J. Comput. Graph. Stat. 15, 2006), with single-step maxT (Westfall and Young, Resampling-Based Multiple Testing,
  1993). p = (1 + b) / (1 + B) if b of B permutations reach the value found, which is valid for any B (Phipson and
  Smyth, SAGMB 9, 2010). The search ends early if FIRST of the permutations show already that p is far above any level
  (Besag and Clifford, Biometrika 78, 1991).
- **Share.** (R² − E) / (1 − E), E the mean of the setting's own largest R² over the permutations: R² corrected for
  chance (Hubert and Arabie, J. Classif. 2, 1985). With a line alone it is the adjusted R² of regression, as then
  E = 1/(n − 1).
- **Cliff.** The same test after the margin has been taken away from the difference found: its p is for a difference
  which is not larger than the margin.

Permutations are the same for every cell with as many rounds, so that a result can be repeated.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from longlook.analysis.stats.procedures import ROUNDING, Floats
from longlook.core import Shape

SIDE = 3
"""The least number of rounds on either side of a split: fewer are single values, and say nothing about a step."""

FIRST, PERMUTATIONS = 199, 1999
_ENOUGH = 20
"""The number of permutations that reach the value found and then end the search: p is above 0.1."""

_SEED = 20131992
_EQUAL = 1 - 1e-9
"""A permutation that reaches the same partition has the same R², apart from rounding."""


@dataclass(frozen=True)
class Fit:
    """The best candidate of one setting. `at_low` and `at_high` are advantages: the means of both sides, or the line's
    ends; `p_beyond` is None if the difference found is not larger than the margin.
    """

    setting: str
    low: float
    high: float
    shape: Shape
    split: float | None
    at_low: float
    at_high: float
    share: float
    p: float
    p_beyond: float | None


def fits(advantage: Floats, drawn: Mapping[str, Floats], margin: float) -> list[Fit]:
    """Return the best fit of each setting that varies, the largest share first; none if nothing can be found.

    `advantage` has one value per round (`procedures.advantages`), shape (rounds,), as has every array of `drawn`, all
    finite. Fewer than 2·SIDE rounds, or the same advantage in all of them, have no fit.
    """
    if len(advantage) < 2 * SIDE or np.ptp(advantage) <= ROUNDING:
        return []
    settings = [_Setting(name, values) for name, values in drawn.items() if np.ptp(values) > 0]
    if not settings:
        return []
    explained = [setting.explained(_centred(advantage)[None, :])[0] for setting in settings]
    null = _null(advantage, settings, max(float(values.max()) for values in explained))
    found = []
    for index, (setting, values) in enumerate(zip(settings, explained, strict=True)):
        best = int(values.argmax())
        expected = float(null[:, index].mean())
        at_low, at_high = setting.ends(best, advantage)
        fit = Fit(
            setting=setting.name,
            low=float(setting.ordered[0]),
            high=float(setting.ordered[-1]),
            shape=setting.shape(best),
            split=setting.split(best),
            at_low=at_low,
            at_high=at_high,
            share=max(0.0, float(values[best] - expected) / (1 - expected)),
            p=_p(float(values[best]), null),
            p_beyond=_p_beyond(setting, best, advantage, at_high - at_low, margin, settings),
        )
        found.append(fit)
    return sorted(found, key=lambda fit: (-fit.share, fit.p, fit.setting))


def _p_beyond(
    setting: "_Setting", best: int, advantage: Floats, difference: float, margin: float, settings: list["_Setting"]
) -> float | None:
    """Return p of a difference that is at most the margin, from the advantages less the margin over the candidate."""
    if abs(difference) <= margin:
        return None
    rest = advantage - np.sign(difference) * margin * setting.form(best)
    if np.ptp(rest) <= ROUNDING:
        return 1.0
    explained = float(setting.explained(_centred(rest)[None, :])[0, best])
    return _p(explained, _null(rest, settings, explained))


def _null(advantage: Floats, settings: list["_Setting"], reached: float) -> Floats:
    """Return the largest R² of each setting under each permutation, shape (permutations, settings)."""
    centred, permutations = _centred(advantage), _permutations(len(advantage))

    def largest(orders: npt.NDArray[np.intp]) -> Floats:
        rows = centred[orders]
        return np.column_stack([setting.explained(rows).max(axis=1) for setting in settings])

    first = largest(permutations[:FIRST])
    if np.count_nonzero(first.max(axis=1) >= reached * _EQUAL) >= _ENOUGH:
        return first
    return np.concatenate([first, largest(permutations[FIRST:])])


def _p(value: float, null: Floats) -> float:
    return float(1 + np.count_nonzero(null.max(axis=1) >= value * _EQUAL)) / (1 + len(null))


def _centred(values: Floats) -> Floats:
    result: Floats = values - values.mean()
    return result


class _Setting:
    """A setting with its candidates: a step at each split between two different values, then the line."""

    def __init__(self, name: str, values: Floats) -> None:
        rounds = len(values)
        self.name = name
        self._values = values
        self._order = np.argsort(values, kind="stable")
        self.ordered = values[self._order]
        below = np.arange(SIDE, rounds - SIDE + 1)
        self._below = below[self.ordered[below - 1] < self.ordered[below]]
        self._weights = rounds / (self._below * (rounds - self._below))
        line = _centred(self.ordered)
        self._line = line / np.sqrt(np.sum(line**2))

    def explained(self, centred: Floats) -> Floats:
        """Return R² of each candidate for rows of centred advantages: (rows, rounds) → (rows, candidates).

        A step at a split with k values below explains S²·n / (k·(n − k)), S being the sum of these k.
        """
        ordered = centred[:, self._order]
        sums = np.cumsum(ordered, axis=1)[:, self._below - 1]
        line = np.sum(ordered * self._line, axis=1, keepdims=True)  # no product of matrices: it would start threads
        explained = np.concatenate([sums**2 * self._weights, line**2], axis=1)
        result: Floats = explained / np.sum(ordered**2, axis=1, keepdims=True)
        return result

    def shape(self, place: int) -> Shape:
        """Return the shape of a candidate by its place."""
        return Shape.STEP if place < len(self._below) else Shape.TREND

    def split(self, place: int) -> float | None:
        """Return the first value of a step's upper side; None for the line."""
        if place == len(self._below):
            return None
        below = self._below[place]
        return short_between(float(self.ordered[below - 1]), float(self.ordered[below]))

    def form(self, place: int) -> Floats:
        """Return a candidate over the rounds in their own order, from 0 to 1."""
        if place == len(self._below):
            return np.asarray((self._values - self.ordered[0]) / (self.ordered[-1] - self.ordered[0]), np.float64)
        return np.asarray(self._values >= self.ordered[self._below[place]], np.float64)

    def ends(self, place: int, advantage: Floats) -> tuple[float, float]:
        """Return the least-squares values of a candidate for a form of 0 and of 1."""
        form = self.form(place)
        centred = _centred(form)
        slope = float(np.sum(centred * advantage) / np.sum(centred**2))
        at_low = float(advantage.mean() - slope * form.mean())
        return at_low, at_low + slope


def short_between(below: float, above: float) -> float:
    """Return a number with as few digits as possible that is greater than `below` and at most `above`."""
    middle = below + (above - below) / 2
    for digits in range(1, 17):
        short = float(f"{middle:.{digits}g}")
        if below < short <= above:
            return short
    return above


@cache
def _permutations(rounds: int) -> npt.NDArray[np.intp]:
    generator = np.random.Generator(np.random.PCG64([_SEED, rounds]))
    return np.argsort(generator.random((PERMUTATIONS, rounds)), axis=1)
