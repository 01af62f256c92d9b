"""How often verdicts between arms that are nearly one program are wrong: they part by a rare pattern of losses. Pure.

Two versions of a program have nearly the same times in every round, whatever is lost, so that nothing but patterns that
no round drew can make a verdict wrong (`rare_losses.Apart`). Here the loads are simulated (`simulated_loads`), so that
their true means are known, and both are alike except for one timeout in the contender. Rounds go on as in `longlook
compare`, until the gate is decided.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from longlook.analysis import Paired, looks, procedures, sequential
from longlook.core import Analysis, Better
from longlook.instruments.certify.integrated_rounds import IntegratedCell, SimulatedCell
from longlook.instruments.certify.populations import Population, one_verdict
from longlook.instruments.certify.rates import Limit, Promise, Rate, found
from longlook.instruments.certify.simulated_loads import (
    DOWN,
    Packet,
    SimulatedContrast,
    SimulatedLoad,
    Tape,
    independent,
)
from longlook.study import MOST_DECIDING, rank

GATE_PCT = 5.0

_HAIR = 1e-9  # relative: beyond the gate, not on it

_TIMEOUT_US = 3_000_000
_LOST = Tape(independent(0.01), independent(0.01))
_LONG_TIMEOUTS = SimulatedLoad(usual_us=166_000, last_us=285_000)
_SHORT_TIMEOUTS = SimulatedLoad(
    usual_us=102_000, handshake=4, handshake_us=200_000, data=18, data_us=16_000, last_us=85_000
)


@dataclass(frozen=True)
class NearCell:
    """Two loads that are nearly alike. `promised` says whether verdicts keep their level there, `known` that they are
    known to miss it.
    """

    cell: SimulatedCell
    promised: bool = True
    known: bool = False


def _cell(
    name: str,
    usual: SimulatedLoad,
    other: SimulatedLoad,
    around: Sequence[SimulatedLoad] = (),
    *,
    promised: bool = True,
    known: bool = False,
) -> NearCell:
    drawn = tuple(SimulatedContrast(name, usual, load, _LOST) for load in around)
    contrast = SimulatedContrast(name, usual, other, _LOST)
    return NearCell(SimulatedCell(name, contrast, drawn, alike=True), promised, known)


def _down(first: int, count: int) -> frozenset[Packet]:
    return frozenset((DOWN, number) for number in range(first, first + count))


def _two_of(count: int, usual: SimulatedLoad) -> SimulatedLoad:
    return replace(usual, several=_down(4, count), several_us=_TIMEOUT_US)


def _one(number: int, usual: SimulatedLoad) -> SimulatedLoad:
    return replace(usual, rare_us={(DOWN, number): _TIMEOUT_US})


def _cells() -> Iterator[NearCell]:
    for name, usual in (("short timeouts", _SHORT_TIMEOUTS), ("long timeouts", _LONG_TIMEOUTS)):
        yield _cell(f"{name}, equal", usual, usual)
        yield _cell(f"{name}, 3 s if 2 packets are lost (0.01 % of loads)", usual, _two_of(2, usual))
        yield _cell(f"{name}, 3 s if 2 of 6 are lost (0.15 %)", usual, _two_of(6, usual))
        is_short = usual is _SHORT_TIMEOUTS
        yield _cell(f"{name}, 3 s if 2 of 15 are lost (1 %)", usual, _two_of(15, usual), known=is_short)
        yield _cell(f"{name}, 3 s if a packet is lost (1 %)", usual, _one(6, usual))
    several = replace(_SHORT_TIMEOUTS, data=40)
    yield _cell("63 packets, 3 s if 2 of 15 are lost (1 %)", several, _two_of(15, several), known=True)
    usual, other = _SHORT_TIMEOUTS, _one(6, _SHORT_TIMEOUTS)
    yield _cell(
        "3 s if a packet is lost in two of three rounds' conditions",
        usual,
        usual,
        (usual, other, other),
        promised=False,
    )
    many = replace(_SHORT_TIMEOUTS, data=100)
    yield _cell("153 packets, 3 s if a packet between is lost (1 %)", many, _one(31, many), promised=False)


CELLS = tuple(_cells())
"""Loads of 33 packets and more, of which 1 % are lost. The dearest loss costs 0.2 s (as QUIC's) or 1 s (as TCP's), and
3 s if it is met twice.

Two cells are known to miss their level (docs/explanation/trust.md). Their timeout of 3 s takes 15 times as long as the
dearest other loss, and is so frequent that it decides the mean. Two have no promise: nothing bounds a difference that
shows in some conditions of rounds alone, or if a packet is lost that does not part the strata.
"""


@dataclass(frozen=True)
class GateEnd:
    """The end of a gate: whether it passed, whether its interval held the true effect, and after how many rounds."""

    passed: bool
    held: bool
    rounds: int


def run_gate(rounds: Population, truth: float, analysis: Analysis) -> GateEnd:
    """Return how a gate of GATE_PCT ends. `rounds` are as many as it may have, `truth` is the true mean advantage."""
    most = len(rounds.advantages)
    for count in looks(analysis.min_rounds, most):
        _, paired = one_verdict(rounds.first(count), analysis, partial(sequential.paired, last=count == most))
        low, high = (procedures.effect_pct(end, Better.LOWER, is_log=True) for end in (paired.low, paired.high))
        passed = low is not None and low >= -GATE_PCT
        if passed or count == most or (high is not None and high < -GATE_PCT):
            return GateEnd(passed, _holds(paired, truth), count)
    raise ValueError(f"{most} rounds, {analysis.min_rounds} needed")


def _holds(paired: Paired, truth: float) -> bool:
    return (paired.low is None or paired.low <= truth) and (paired.high is None or truth <= paired.high)


def near_rates(cells: Sequence[NearCell], analysis: Analysis, seed: int, draws: int) -> list[Rate]:
    """Return the rates of `draws` samples of each cell. In the second rate the contender takes longer by a factor, so
    that the true effect is beyond the gate by a hair: passing is wrong.
    """
    rates: list[Rate | None] = []
    for near in cells:
        name, planned = near.cell.name, IntegratedCell(near.cell)
        samples = [planned.sample(rank("near", seed, name, at), MOST_DECIDING) for at in range(draws)]
        truth = near.cell.truth
        gate = -procedures.margin(GATE_PCT, is_log=True) * (1 + _HAIR)
        as_it_is = [run_gate(sample, truth, analysis) for sample in samples]
        beyond = [run_gate(sample.shifted(gate - truth), gate, analysis) for sample in samples]
        of_gate = f"gate of {GATE_PCT:g} %"

        def promise(event: str, nominal: float, limit: Limit, near: NearCell = near) -> Promise:
            unit = "gates with losses of their own"
            if not near.promised:
                return Promise("near-programs", near.cell.name, event, unit)
            return Promise("near-programs", near.cell.name, event, unit, nominal, limit, near.known)

        rates += [
            promise(f"{of_gate}: holds the true effect", analysis.confidence, Limit.NEAR).rate(
                end.held for end in as_it_is
            ),
            promise(
                f"{of_gate}: passes though the effect is beyond", (1 - analysis.confidence) / 2, Limit.AT_MOST
            ).rate(end.passed for end in beyond),
            replace(promise(f"{of_gate}: passes", 0.0, Limit.AT_MOST), nominal=None, limit=None).rate(
                end.passed for end in as_it_is
            ),
        ]
    return found(rates)
