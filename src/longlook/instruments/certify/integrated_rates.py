"""Error rates and power of rounds of integrated losses, beside random rounds of as many trials. Pure.

Each sample is a study of its own, with losses that no other sample has; the truth is a mean over all patterns of losses
(`simulated_loads`). A contender is made slower by a factor, which moves each advantage by its logarithm, so that one
sample serves every known difference.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from longlook.analysis import procedures
from longlook.core import Analysis, Verdict
from longlook.instruments.certify import redrawn
from longlook.instruments.certify.fixed_rounds import finds_worse
from longlook.instruments.certify.integrated_rounds import IntegratedCell, SimulatedCell
from longlook.instruments.certify.populations import Population, generator, is_difference, one_verdict
from longlook.instruments.certify.rates import Limit, Promise, Rate, found
from longlook.instruments.certify.simulated_loads import (
    DOWN,
    SimulatedContrast,
    SimulatedLoad,
    Tape,
    independent,
    two_states,
)
from longlook.study import rank

TRIALS = (100, 200)
"""Trials an arm, those at the stated point included."""

RANDOM_TRIALS = (10, 40, 100, 200)
SLOWER_PCT = (2.0, 5.0, 10.0)

_HAIR = 1e-9  # relative: beyond the margin, not on it

_SLOW = SimulatedLoad(usual_us=166_000, last_us=285_000)
_QUICK = SimulatedLoad(usual_us=102_000, handshake=4, handshake_us=200_000, data=18, data_us=16_000, last_us=85_000)


def _tape(share: float) -> Tape:
    return Tape(independent(share), independent(share))


def _contrast(name: str, share: float = 0.01, data: int = 20, dear_us: int = 0) -> SimulatedContrast:
    quick = replace(_QUICK, data=data - 2, last_us=dear_us or _QUICK.last_us)
    return SimulatedContrast(name, replace(_SLOW, data=data), quick, _tape(share))


def _around(contrast: SimulatedContrast) -> Iterator[SimulatedContrast]:
    """Yield points at which loads take more or less long, and flights have other sizes, for each arm its own."""
    for factor, flights in ((0.95, (9, 11)), (1.0, (10, 10)), (1.05, (11, 9))):
        loads = [
            replace(load, usual_us=round(load.usual_us * factor), data_us=round(load.data_us / factor), flight=flight)
            for load, flight in zip((contrast.baseline, contrast.contender), flights, strict=True)
        ]
        yield replace(contrast, baseline=loads[0], contender=loads[1])


def _short(name: str, tape: Tape, rare_us: int = 0) -> SimulatedContrast:
    slow, quick = replace(_SLOW, data=10, flight=5), replace(_QUICK, data=10, flight=5)
    return SimulatedContrast(name, replace(slow, rare_us={(DOWN, 6): rare_us} if rare_us else {}), quick, tape)


_ONE = _contrast("1 % lost")
_BURSTS = Tape(two_states(0.01, 0.5, 0.0, 0.5), two_states(0.01, 0.5, 0.0, 0.5))
CELLS = (
    SimulatedCell("0.1 % lost", _contrast("0.1 % lost", 0.001)),
    SimulatedCell("1 % lost", _ONE),
    SimulatedCell("1 % lost, rounds differ", _ONE, tuple(_around(_ONE))),
    SimulatedCell("1 % lost, a rare timeout", _short("1 % lost, a rare timeout", _tape(0.01), 3_000_000)),
    SimulatedCell("1 % lost, two losses are dear", _contrast("1 % lost, two losses are dear", dear_us=3_000_000)),
    SimulatedCell("1 % lost, 63 packets", _contrast("1 % lost, 63 packets", data=40)),
    SimulatedCell("1 % lost, 153 packets", _contrast("1 % lost, 153 packets", data=100)),
    SimulatedCell("3 % lost", _contrast("3 % lost", 0.03)),
    SimulatedCell("1 % lost in bursts", _short("1 % lost in bursts", _BURSTS)),
)
"""Two loads of 17 to 153 packets, mostly 33: timeouts of the one are long, as TCP's, and of the other short, as QUIC's.

In "a rare timeout" one packet costs 3 s. In "two losses are dear" a retransmission that is lost does, too, which no
single loss shows.
"""
SAMPLED = ("1 % lost", "3 % lost")
"""The cells in which random rounds are tried, too."""


def integrated_rates(cells: Sequence[SimulatedCell], analysis: Analysis, seed: int, draws: int) -> list[Rate]:
    """Return the rates of `draws` samples of each cell, for each number of trials an arm."""
    rates: list[Rate] = []
    for cell in cells:
        planned = IntegratedCell(cell)
        for trials in TRIALS:
            rounds = planned.rounds_of(trials)
            samples = [planned.sample(rank("integrated", seed, cell.name, at), rounds) for at in range(draws)]
            rates += _rates(f"{cell.name}, strata, {trials} trials an arm", samples, cell.truth, analysis)
        for trials in RANDOM_TRIALS if cell.name in SAMPLED else ():
            sources = [generator(seed, "random rounds", cell.name, trials, at) for at in range(draws)]
            samples = [cell.stated.rounds(source, trials) for source in sources]
            name, known = f"{cell.name}, random rounds, {trials} trials an arm", cell.name in redrawn.KNOWN
            rates += _rates(name, samples, cell.truth, analysis, known=known)
    return rates


def _rates(
    procedure: str, samples: Sequence[Population], truth: float, analysis: Analysis, *, known: bool = False
) -> list[Rate]:
    margin = procedures.margin(analysis.margin_pct, is_log=True) * (1 + _HAIR)

    def verdicts_at(effect: float) -> Iterator[Verdict]:
        return (one_verdict(sample.shifted(effect - truth), analysis)[0] for sample in samples)

    def promise(event: str, nominal: float | None = None, limit: Limit | None = None) -> Promise:
        return Promise("strata", procedure, event, "samples with losses of their own", nominal, limit, known)

    ends = [one_verdict(sample, analysis)[1] for sample in samples]
    rates = [
        promise("holds the true effect", analysis.confidence, Limit.NEAR).rate(
            paired.low is not None and paired.high is not None and paired.low <= truth <= paired.high for paired in ends
        ),
        promise("verdict better or worse without an effect", analysis.alpha, Limit.AT_MOST).rate(
            map(is_difference, verdicts_at(0.0))
        ),
        promise("verdict equivalent at the margin", 1 - analysis.confidence, Limit.AT_MOST).rate(
            verdict is Verdict.EQUIVALENT for verdict in verdicts_at(margin)
        ),
    ]
    rates += [
        promise(f"difference found, {slower:g} % slower").rate(
            finds_worse(sample.shifted(-procedures.margin(slower, is_log=True) - truth), analysis) for sample in samples
        )
        for slower in SLOWER_PCT
    ]
    return found(rates)
