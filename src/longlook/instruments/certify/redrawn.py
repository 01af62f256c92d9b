"""Error rates if the losses of every round are drawn anew, in simulated loads whose true effect is known. Pure.

Rounds that were run can only be drawn from again, so that a loss that none of them met is in no truth. Here the truth
is a mean over all patterns of losses, with the rarest timeout in it.
"""

from collections.abc import Callable

import numpy as np

from longlook.analysis import Paired, procedures
from longlook.core import Analysis, Verdict, find_metric, margin_of
from longlook.instruments.certify.populations import generator, is_difference, one_verdict
from longlook.instruments.certify.rates import Limit, Promise, Rate, found
from longlook.instruments.certify.simulated_loads import (
    DOWN,
    SimulatedContrast,
    SimulatedLoad,
    Tape,
    independent,
    two_states,
)
from longlook.instruments.certify.trial_bank import METRIC

SIZES = (10, 20, 40)
KNOWN = ("3 % lost", "1 % lost, a rare timeout")
"""The contrasts whose levels random rounds miss, which docs/explanation/trust.md says."""
SLOWER_PCT = 5.0
"""The known difference that is to be found."""

_HAIR = 1e-9  # relative: beyond the margin, not on it

_SLOW = SimulatedLoad(usual_us=166_000, data=10, flight=5)
_QUICK = SimulatedLoad(
    usual_us=102_000, handshake=2, handshake_us=150_000, data=10, flight=5, data_us=16_000, last_us=80_000
)
_RARE = SimulatedLoad(usual_us=166_000, data=10, flight=5, rare_us={(DOWN, 6): 3_000_000})
_TAPES = {
    "1 % lost": Tape(independent(0.01), independent(0.01)),
    "3 % lost": Tape(independent(0.03), independent(0.03)),
    "1 % lost in bursts": Tape(two_states(0.01, 0.5, 0.0, 0.5), two_states(0.01, 0.5, 0.0, 0.5)),
}
CONTRASTS = (
    *(SimulatedContrast(name, _SLOW, _QUICK, tape) for name, tape in _TAPES.items()),
    SimulatedContrast("1 % lost, a rare timeout", _RARE, _QUICK, _TAPES["1 % lost"]),
)
"""Two loads of about 17 packets: timeouts of the one are long, as TCP's, and of the other short, as QUIC's."""

Conclude = Callable[[SimulatedContrast, np.random.Generator], tuple[Verdict, Paired]]
"""A procedure from its sample to its verdict. It draws what it tries by the generator."""


def random_rounds(count: int, analysis: Analysis) -> Conclude:
    """Return the procedure of a study with this number of rounds, whose losses are random."""
    return lambda contrast, random: one_verdict(contrast.rounds(random, count), analysis)


def redrawn_rates(
    procedure: str, conclude: Conclude, contrast: SimulatedContrast, analysis: Analysis, seed: int, draws: int
) -> list[Rate]:
    """Return the error rates of a procedure over `draws` samples of a contrast, and how often it finds SLOWER_PCT.

    `procedure` names it. Except for the rate of the interval, the contender is made slower or quicker by a factor, so
    that the true effect is none, the margin, or SLOWER_PCT.
    """
    margin = procedures.margin(margin_of(find_metric(METRIC), analysis).size, is_log=True) * (1 + _HAIR)
    slower = -procedures.margin(SLOWER_PCT, is_log=True)

    def concluded(name: str, truth: float | None = None) -> list[tuple[Verdict, Paired]]:
        moved = contrast if truth is None else contrast.moved_to(truth)
        return [conclude(moved, generator(seed, "redrawn", procedure, moved.name, name, at)) for at in range(draws)]

    def promise(event: str, nominal: float | None = None, limit: Limit | None = None) -> Promise:
        unit = "samples with losses of their own"
        known = contrast.name in KNOWN
        return Promise("simulated", f"{procedure}, {contrast.name}", event, unit, nominal, limit, known)

    return found(
        [
            promise("holds the true effect", analysis.confidence, Limit.NEAR).rate(
                paired.low is not None and paired.high is not None and paired.low <= contrast.truth <= paired.high
                for _, paired in concluded("coverage")
            ),
            promise("verdict better or worse without an effect", analysis.alpha, Limit.AT_MOST).rate(
                is_difference(verdict) for verdict, _ in concluded("no effect", 0.0)
            ),
            promise("verdict equivalent at the margin", 1 - analysis.confidence, Limit.AT_MOST).rate(
                verdict is Verdict.EQUIVALENT for verdict, _ in concluded("margin", margin)
            ),
            promise(f"verdict worse, {SLOWER_PCT:g} % slower").rate(
                verdict is Verdict.WORSE for verdict, _ in concluded("slower", slower)
            ),
        ]
    )
