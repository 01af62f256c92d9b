"""Simulated loads under random loss, whose true means are known to ten digits: the measure of a procedure. Pure.

A trial in virtual time is a deterministic function of the packets that are lost in it, and so is a simulated load. It
takes microseconds instead of half a second, and its mean over all patterns of losses is computed exactly. So a
procedure can be tried on thousands of samples, each with losses that are drawn anew; rounds that were run can only be
drawn again and again.

Costs have the shape that trials of 30 KB showed. The loss of a packet of the handshake waits for a timeout, and so does
the loss of one of the last packets. The loss of any other packet costs little.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from longlook.analysis import Floats
from longlook.instruments.certify.populations import Population

UP, DOWN = "up", "down"

Packet = tuple[str, int]
"""A direction, and a number in it in order of arrival at the link, from 0."""

Losses = frozenset[Packet]

_UNLIKELY = 1e-14
"""Courses of a load with a smaller probability have no part in its distribution."""


class LossLaw(Protocol):
    """The losses of one direction, a chain of states: `start[s]` is the probability that the first packet meets state
    s, `lost[s]` that a packet is lost in it, and `step[s][t]` that state t follows.
    """

    @property
    def start(self) -> Sequence[float]:
        """Shape (states,)."""

    @property
    def lost(self) -> Sequence[float]:
        """Shape (states,)."""

    @property
    def step(self) -> Sequence[Sequence[float]]:
        """Shape (states, states)."""


@dataclass(frozen=True)
class Chain:
    """A law of losses."""

    start: tuple[float, ...]
    lost: tuple[float, ...]
    step: tuple[tuple[float, ...], ...]


def independent(share: float) -> Chain:
    """Return the law by which each packet is lost with the probability `share`, whatever happened to others."""
    return Chain((1.0,), (share,), ((1.0,),))


def two_states(to_bad: float, to_good: float, lost_good: float, lost_bad: float) -> Chain:
    """Return the law of Gilbert (1960) and Elliott (1963), from its stationary state on."""
    bad = to_bad / (to_bad + to_good)
    return Chain((1 - bad, bad), (lost_good, lost_bad), ((1 - to_bad, to_bad), (to_good, 1 - to_good)))


@dataclass(frozen=True)
class Tape:
    """The losses of both directions, which are independent of each other."""

    up: LossLaw
    down: LossLaw

    def draw(self, random: np.random.Generator, until: int) -> Losses:
        """Return the packets before number `until` of each direction that are lost, drawn by the law."""
        return frozenset(
            (direction, number)
            for direction, law in ((UP, self.up), (DOWN, self.down))
            for number in _drawn(law, random, until)
        )


def _drawn(law: LossLaw, random: np.random.Generator, until: int) -> Iterable[int]:
    fates = random.random(until)
    if len(law.lost) == 1:
        lost: list[int] = np.flatnonzero(fates < law.lost[0]).tolist()
        return lost
    return _drawn_from_chain(law, random, fates)


def _drawn_from_chain(law: LossLaw, random: np.random.Generator, fates: Floats) -> Iterator[int]:
    moves, states = random.random(len(fates) + 1), len(law.lost)
    towards = np.cumsum([law.start, *law.step], axis=1)
    state = -1  # before the first packet
    for number, fate in enumerate(fates):
        state = min(states - 1, int(np.searchsorted(towards[state + 1], moves[number], side="right")))
        if fate < law.lost[state]:
            yield number


@dataclass(frozen=True)
class LoadResult:
    """The outcome of a load: its value, s, and the packets that reached the link before it ended, lost ones too."""

    value: float
    up: int
    down: int
    order: tuple[Packet, ...]


Load = Callable[[Losses], LoadResult]
"""A load: lost packets → its outcome. Up to the first packet whose fate differs, two patterns give the same packets."""


class _State(NamedTuple):
    """How far a load has come. All that happens later depends on it alone, and on the fates of later packets."""

    place: int = 0  # in the handshake
    left: int = 0  # packets of data that have not arrived, when the flight began
    sent: int = 0  # packets of this flight
    arrived: int = 0  # of them
    behind: int = -1  # packets of this flight that were sent behind the last lost one; -1: none was lost
    answers: bool = False  # the next packet is an acknowledgement
    tries: int = 0  # timeouts in a row
    several: int = 0  # lost packets of the set `several`; 2: two or more
    extra_us: int = 0


@dataclass(frozen=True)
class SimulatedLoad:
    """A load with a handshake, data in flights of a fixed window, and an acknowledgement for each second packet.

    The packets of the handshake go up and down by turns, each once the one before has arrived; a lost one waits for
    `handshake_us`, and twice as long each time that it is lost again. A lost packet of data is sent again in the next
    flight. The losses of one flight cost `data_us` together. If fewer than `last` packets were sent behind the last
    lost one, and no other data is left to send, they wait for `last_us` instead, and twice as long each further time.
    Lost acknowledgements cost nothing. `rare_us` are costs that single losses have besides, such as a rare timeout.
    `several_us` is a cost besides if two packets or more of the set `several` are lost. The value is `factor` times as
    long as all that.
    """

    usual_us: int = 150_000
    handshake: int = 3  # packets
    handshake_us: int = 1_000_000
    data: int = 20  # packets
    flight: int = 10  # packets
    data_us: int = 20_000
    last: int = 2  # packets
    last_us: int = 250_000
    rare_us: Mapping[Packet, int] = field(default_factory=dict)
    several: frozenset[Packet] = frozenset()
    several_us: int = 0
    factor: float = 1.0

    def __call__(self, lost: Losses) -> LoadResult:
        """Return what comes of the load if these packets are lost."""
        state, counts, order = self._begin(), {UP: 0, DOWN: 0}, []
        while (direction := self._next(state)) is not None:
            packet = (direction, counts[direction])
            counts[direction] += 1
            order.append(packet)
            state = self._after(state, packet, arrives=packet not in lost)
        return LoadResult(self._value(state), counts[UP], counts[DOWN], tuple(order))

    def distribution(self, tape: Tape) -> dict[float, float]:
        """Return the probability of each value, s, except for courses that are as good as impossible.

        Courses that have come equally far are one from there on, so that their number stays small.
        """
        joint = {(up, down): tape.up.start[up] * tape.down.start[down] for up, down in _states(tape)}
        now: dict[tuple[_State, int, int], dict[tuple[int, int], float]] = {(self._begin(), 0, 0): joint}
        found: defaultdict[float, float] = defaultdict(float)
        named = {*self.rare_us, *self.several}
        known = {name: max((number + 1 for at, number in named if at == name), default=0) for name in (UP, DOWN)}
        while now:
            later: dict[tuple[_State, int, int], dict[tuple[int, int], float]] = {}
            for (state, up, down), weights in now.items():
                direction = self._next(state)
                if direction is None:
                    found[self._value(state)] += sum(weights.values())
                    continue
                packet = (direction, up if direction == UP else down)
                counts = (min(up + (direction == UP), known[UP]), min(down + (direction == DOWN), known[DOWN]))
                for arrives in (True, False):
                    onward = _onward(tape, weights, direction, arrives=arrives)
                    if sum(onward.values()) >= _UNLIKELY:
                        into = later.setdefault((self._after(state, packet, arrives=arrives), *counts), {})
                        for key, weight in onward.items():
                            into[key] = into.get(key, 0.0) + weight
            now = later
        return dict(found)

    def mean_log(self, tape: Tape) -> float:
        """Return the true mean of the logarithm of the value in s, over all patterns of losses."""
        return math.fsum(weight * math.log(value) for value, weight in self.distribution(tape).items())

    def _begin(self) -> _State:
        return _State(left=self.data)

    def _value(self, state: _State) -> float:
        return self.factor * (self.usual_us + state.extra_us) / 1e6

    def _next(self, state: _State) -> str | None:
        """Return the direction of the next packet; None if the load is over."""
        if state.place < self.handshake:
            return UP if state.place % 2 == 0 else DOWN
        if state.answers:
            return UP
        return DOWN if state.left else None

    def _after(self, state: _State, packet: Packet, *, arrives: bool) -> _State:
        """Return how far the load has come once the fate of its next packet is known."""
        if not arrives and packet in self.rare_us:
            state = state._replace(extra_us=state.extra_us + self.rare_us[packet])
        if not arrives and packet in self.several and state.several < 2:
            extra_us = state.extra_us + (self.several_us if state.several == 1 else 0)
            state = state._replace(several=state.several + 1, extra_us=extra_us)
        if state.place < self.handshake:
            if arrives:
                return state._replace(place=state.place + 1, tries=0)
            return self._waited(state, self.handshake_us)
        if state.answers:
            state = state._replace(answers=False)
        elif arrives:
            behind = state.behind if state.behind < 0 else state.behind + 1
            arrived = state.arrived + 1
            state = state._replace(sent=state.sent + 1, arrived=arrived, behind=behind, answers=arrived % 2 == 0)
        else:
            state = state._replace(sent=state.sent + 1, behind=0)
        flies = state.answers or state.sent < min(state.left, self.flight)
        return state if flies else self._landed(state)

    def _landed(self, state: _State) -> _State:
        """Return the state once the fate of a whole flight is known."""
        if state.behind >= 0:
            is_last = state.left <= self.flight and state.behind < self.last
            state = (
                self._waited(state, self.last_us) if is_last else state._replace(extra_us=state.extra_us + self.data_us)
            )
        return state._replace(left=state.left - state.arrived, sent=0, arrived=0, behind=-1)

    def _waited(self, state: _State, timeout_us: int) -> _State:
        return state._replace(extra_us=state.extra_us + (timeout_us << state.tries), tries=state.tries + 1)


def _states(tape: Tape) -> list[tuple[int, int]]:
    return [(up, down) for up in range(len(tape.up.lost)) for down in range(len(tape.down.lost))]


def _onward(
    tape: Tape, weights: Mapping[tuple[int, int], float], direction: str, *, arrives: bool
) -> dict[tuple[int, int], float]:
    """Return the joint weights of both chains' states after a packet of one direction had this fate."""
    law = tape.up if direction == UP else tape.down
    found: dict[tuple[int, int], float] = {}
    for (up, down), weight in weights.items():
        here = up if direction == UP else down
        met = weight * (1 - law.lost[here] if arrives else law.lost[here])
        for to, share in enumerate(law.step[here]):
            key = (to, down) if direction == UP else (up, to)
            found[key] = found.get(key, 0.0) + met * share
    return found


@dataclass(frozen=True)
class SimulatedContrast:
    """Two loads over one path. Both arms of a round have the same lost packets, as trials with the same seed."""

    name: str
    baseline: SimulatedLoad
    contender: SimulatedLoad
    tape: Tape

    @cached_property
    def truth(self) -> float:
        """The true mean advantage of the contender (`procedures.advantages`): by how much its logarithm is less."""
        return self.baseline.mean_log(self.tape) - self.contender.mean_log(self.tape)

    def moved_to(self, truth: float) -> "SimulatedContrast":
        """Return the contrast with a contender that takes longer or less long by a factor, so that this is true."""
        factor = self.contender.factor * math.exp(self.truth - truth)
        return replace(self, contender=replace(self.contender, factor=factor))

    def rounds(self, random: np.random.Generator, count: int, until: int = 400) -> Population:
        """Return the advantages of new rounds, with the losses of the arm that lost fewer.

        `until` is the number of packets of each direction for which losses are drawn: more than any load has. Raise
        ValueError if a load has more.
        """
        advantages, losses = np.empty(count), np.empty(count)
        for number in range(count):
            lost = self.tape.draw(random, until)
            results = self.baseline(lost), self.contender(lost)
            if max(max(result.up, result.down) for result in results) > until:
                raise ValueError(f"{self.name}: a load has more than {until} packets in a direction")
            advantages[number] = math.log(results[0].value / results[1].value)
            losses[number] = min(len(lost.intersection(result.order)) for result in results)
        return Population(self.name, "simulated", advantages, losses)
