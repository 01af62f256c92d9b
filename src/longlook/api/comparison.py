"""The house's statistics on arrays of the caller's own."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from longlook.analysis import Floats, compare_arrays
from longlook.api import html
from longlook.core import Analysis, Better, InputError, Margin, Metric, Quantity, Verdict
from longlook.report import wording

_LARGEST_MARGIN = 1e6


@dataclass(frozen=True)
class Comparison:
    """The conclusion about two arrays; everything is about the second, `b`, and + means that it is better.

    `effect` and `interval` are in `effect_unit`: % of the first, or the unit of differences. They are None if there
    are too few values, or if the interval has no bounds. `reason` says why a verdict is inconclusive, or is a caveat.
    """

    verdict: str
    effect: float | None
    interval: tuple[float, float] | None
    effect_unit: str
    p: float | None
    p_equivalence: float | None
    margin: float
    confidence: float
    n: tuple[int, int]
    medians: tuple[float | None, float | None]
    unit: str
    reason: str

    @property
    def sentence(self) -> str:
        """The conclusion in a sentence, with its numbers."""
        effect = wording.signed(self.effect, self.effect_unit)
        levels = " and ".join(
            f"{name} {wording.quantity(median, self.unit)}" for name, median in zip("ab", self.medians, strict=True)
        )
        low, high = self.interval or (None, None)
        found = [f"b is {self.verdict}" if self.verdict != Verdict.INCONCLUSIVE else "inconclusive"]
        if self.effect is not None:
            span = wording.interval_with(low, high, self.effect_unit)
            found.append(f"{effect} ({wording.percent(self.confidence)} interval {span}; {levels}; n = {self._count})")
        if self.p is not None:
            found.append(f"p {wording.p_value(self.p)}, margin {self.margin:g} {self.effect_unit}")
        if self.reason:
            found.append(self.reason)
        return ": ".join([found[0], "; ".join(found[1:])]).replace(wording.NBSP, " ") + "."

    @property
    def _count(self) -> str:
        return str(self.n[0]) if self.n[0] == self.n[1] else f"{self.n[0]} and {self.n[1]}"

    def __str__(self) -> str:
        return self.sentence

    def _repr_html_(self) -> str:
        return html.block([f"<p>{html.verdict(Verdict(self.verdict))}</p>", html.paragraph(self.sentence)])


def compare(  # noqa: PLR0913 each is a choice that the caller makes, by name
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    *,
    margin: float = 3.0,
    paired: bool = True,
    unit: str = "s",
    higher_is_better: bool = False,
    by: str = "ratio",
    confidence: float = 0.95,
    alpha: float = 0.01,
    min_n: int = 10,
) -> Comparison:
    """Say whether `b` is better than `a`, with the statistics and the rules that verdicts of runs have.

    Paired arrays have values of the same rounds in the same order. They are compared by the mean of their log ratios,
    with an interval that allows for skewed rounds; unpaired ones by Welch's test of logarithms. `margin` is the
    difference that does not matter, in %; choose it before you look. `by="difference"` compares by differences, and the
    margin is then in `unit`. Fewer than `min_n` values decide nothing. Nothing is corrected for other comparisons.

    InputError for arrays that cannot be compared: of other lengths though paired, with missing or infinite values, of
    more than one dimension, or with another index.

    >>> before = [0.413, 0.405, 0.421, 0.417, 0.409, 0.411, 0.415, 0.408, 0.420, 0.412]
    >>> after = [0.317, 0.321, 0.330, 0.318, 0.312, 0.325, 0.316, 0.319, 0.322, 0.320]
    >>> found = compare(before, after, margin=3)
    >>> found.verdict, round(found.effect, 1)
    ('better', 22.5)
    >>> print(compare(before[:4], after[:4]))
    inconclusive: +22 % (95 % interval 20 to 25 %; a 415 ms and b 320 ms; n = 4); p < 0.0001, margin 3 %; 4 rounds with a value on both arms, 10 needed.
    """  # noqa: E501 the output is one line
    _check(margin, confidence, alpha, min_n, by)
    if paired and _index(a) is not None and _index(b) is not None and not _index(a).equals(_index(b)):
        raise InputError("a and b have another index, so their values are not of the same rounds", "align them first")
    first, second = _values(a, "a"), _values(b, "b")
    if paired and len(first) != len(second):
        message = f"a has {len(first)} values and b {len(second)}, which cannot be paired"
        raise InputError(message, "give values of the same rounds, or paired=False")
    metric = Metric(
        name="values",
        label="values",
        unit=unit,
        better=Better.HIGHER if higher_is_better else Better.LOWER,
        needs=(),
        measure=lambda _timeline: None,
        summary="",
        quantity=Quantity.RATIO if by == "ratio" else Quantity.AMOUNT,
        margin=Margin(float(margin), "the caller's"),
    )
    analysis = Analysis(alpha=alpha, confidence=confidence, min_rounds=min_n)
    found = compare_arrays(first, second, metric, analysis, is_paired=paired)
    effect = found.effect
    low, high = (None, None) if effect is None else (effect.low, effect.high)
    return Comparison(
        verdict=str(found.verdict),
        effect=None if effect is None else effect.value,
        interval=None if low is None or high is None else (low, high),
        effect_unit=metric.effect_unit if effect is None else effect.unit,
        p=found.p,
        p_equivalence=found.p_equivalence,
        margin=float(margin),
        confidence=confidence,
        n=(len(first), len(second)),
        medians=(_median(first), _median(second)),
        unit=unit,
        reason=found.reason,
    )


def _check(margin: float, confidence: float, alpha: float, min_n: int, by: str) -> None:
    if by not in ("ratio", "difference"):
        raise InputError(f"by = {by!r}", "ratio or difference")
    if not 0 < margin <= _LARGEST_MARGIN:
        raise InputError(f"margin = {margin}: it is above 0", "3 means that up to 3 % more or less does not matter")
    for name, value in (("confidence", confidence), ("alpha", alpha)):
        if not 0 < value < 1:
            raise InputError(f"{name} = {value}: it is between 0 and 1", "0.95 of confidence, 0.01 of alpha")
    if min_n < 2:
        raise InputError(f"min_n = {min_n}: two values are the fewest that can be tested", "10 is the usual number")


def _index(values: Any) -> Any:
    """Return the index of a pandas series; None of anything else."""
    return values.index if type(values).__module__.startswith("pandas") and hasattr(values, "index") else None


def _values(given: npt.ArrayLike, name: str) -> Floats:
    try:
        values = np.asarray(given, np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} has values that are no numbers: {error}", "give numbers") from error
    if values.ndim != 1:
        raise InputError(f"{name} has {values.ndim} dimensions, and one is compared", "give one value for each round")
    wrong = np.flatnonzero(~np.isfinite(values))
    if len(wrong):
        shown: Sequence[int] = wrong[:5].tolist()
        message = f"{name} has {len(wrong)} values that are missing or infinite, at {', '.join(map(str, shown))}"
        raise InputError(message, "leave these rounds out of both, and say so: failures are a result of their own")
    return values


def _median(values: Floats) -> float | None:
    return None if len(values) == 0 or not math.isfinite(found := float(np.median(values))) else found
