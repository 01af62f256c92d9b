"""Error rates of verdicts and intervals if rounds go on until they decide. Pure.

Rounds are drawn with replacement from the rounds that were run, and looked at as in a study with `rounds = "decide"`:
by the sequential procedures, until the effect is beyond doubt or MOST_DECIDING are done.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median

import numpy as np

from longlook.analysis import Paired, beyond_doubt, looks, procedures, sequential
from longlook.core import Analysis, Better, Verdict
from longlook.instruments.certify.populations import Population, generator, is_difference, one_verdict, swapped
from longlook.instruments.certify.rates import Limit, Promise, Rate, found
from longlook.study import MOST_DECIDING

DIFFERENCES_PCT = (0.0, 5.0, 10.0)

_HAIR = 1e-9  # relative: beyond the margin, not on it


@dataclass(frozen=True)
class Stopped:
    """The conclusion when rounds stopped."""

    verdict: Verdict
    paired: Paired
    rounds: int
    truth: float  # the mean of all rounds
    median: float  # of all rounds


def run_until_decided(rounds: Population, drawn_from: Population, analysis: Analysis) -> Stopped:
    """Return the conclusion from rounds that are looked at one after another; all of them if none decides."""
    least = max(2, analysis.min_rounds)
    most = len(rounds.advantages)
    for count in looks(least, most):
        procedure = partial(sequential.paired, last=count == most)
        verdict, paired = one_verdict(rounds.first(count), analysis, procedure)
        low, high = (procedures.effect_pct(end, Better.LOWER, is_log=True) for end in (paired.low, paired.high))
        if count == most or beyond_doubt(verdict, low, high, analysis):
            return Stopped(verdict, paired, count, drawn_from.mean, float(np.median(drawn_from.advantages)))
    raise ValueError(f"{most} rounds, {least} needed")


def sequential_rates(
    twins: Sequence[Population], dense: Sequence[Population], analysis: Analysis, seed: int, paths: int
) -> list[Rate]:
    """Return the error rates of sequences of rounds, `paths` of each population."""
    margin = procedures.margin(analysis.equivalence_margin_pct, is_log=True) * (1 + _HAIR)
    procedure = f"looks after 10 rounds and more, up to {MOST_DECIDING}"

    def promise(event: str, nominal: float, limit: Limit) -> Promise:
        return Promise("sequential", procedure, event, "sequences of rounds", nominal, limit)

    level = analysis.confidence
    return found(
        [
            promise("verdict better or worse, an arm against itself", analysis.alpha, Limit.AT_MOST).rate(
                is_difference(verdict) for verdict in _against_itself(twins, analysis, seed, paths)
            ),
            promise("verdict better or worse, contrasts moved to no effect", analysis.alpha, Limit.AT_MOST).rate(
                is_difference(end.verdict) for end in _stopped(dense, (0.0,), analysis, seed, paths)
            ),
            promise("holds the true mean effect", level, Limit.NEAR).rate(
                _holds(end.paired, end.truth) for end in _stopped(dense, (None,), analysis, seed, paths)
            ),
            promise("holds the true median effect", level, Limit.NEAR).rate(
                _holds(end.paired, end.median) for end in _stopped(dense, (None,), analysis, seed, paths)
            ),
            promise("verdict equivalent at the margin", 1 - level, Limit.AT_MOST).rate(
                end.verdict is Verdict.EQUIVALENT for end in _stopped(dense, (-margin, margin), analysis, seed, paths)
            ),
        ]
    )


def rounds_needed(dense: Sequence[Population], analysis: Analysis, seed: int, paths: int) -> dict[str, float]:
    """Return the median number of rounds at which sequences stopped, by how much slower the contender is, in %."""
    needed = {}
    for difference_pct in DIFFERENCES_PCT:
        truth = -procedures.margin(difference_pct, is_log=True)
        ends = [end.rounds for end in _stopped(dense, (truth,), analysis, seed, paths)]
        if ends:
            needed[f"{difference_pct:g}"] = float(median(ends))
    return needed


def _against_itself(twins: Sequence[Population], analysis: Analysis, seed: int, paths: int) -> Iterator[Verdict]:
    for twin in twins:
        random = generator(seed, "sequential twin", twin.name)
        for _ in range(paths):
            rounds = swapped(twin.sample(random, MOST_DECIDING), random)
            yield run_until_decided(rounds, twin, analysis).verdict


def _stopped(
    dense: Sequence[Population], truths: Sequence[float | None], analysis: Analysis, seed: int, paths: int
) -> Iterator[Stopped]:
    """Yield sequences of each population, moved to each of `truths`; None does not move it."""
    for population in dense:
        for truth in truths:
            moved = population if truth is None else population.moved_to(truth)
            random = generator(seed, "sequential", population.name, str(truth))
            for _ in range(paths):
                yield run_until_decided(moved.sample(random, MOST_DECIDING), moved, analysis)


def _holds(paired: Paired, truth: float) -> bool:
    near = _HAIR * max(abs(truth), 1e-3)
    above = paired.low is not None and paired.low > truth + near
    below = paired.high is not None and paired.high < truth - near
    return not (above or below)
