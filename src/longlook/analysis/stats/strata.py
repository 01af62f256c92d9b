"""Strata of loss patterns: the losses of a path integrated instead of sampled. Pure.

The law of random losses is known, and a trial in virtual time is a deterministic function of the packets that are lost
in it. The patterns of losses are therefore parted by how many packets of a set `inside` are lost: none, one, or more.
The probability of each part is exact. A mean over all loads is the sum of the parts' means, each times its probability
(stratified sampling: Neyman, J. R. Stat. Soc. 97, 1934), and only the means inside a part are sampled.

Two facts make these cheap. First, if `inside` holds every packet of a load, "none" is one trial, and "one" are as many
trials as there are packets. Second, the cost of each single loss, measured once at the stated point of the cell, is a
control variate (Hammersley and Handscomb, Monte Carlo Methods, 1964, 5.5). A pattern is expected to cost as much as the
dearest of its losses, and the mean of this expectation over all patterns is known exactly. A trial contributes only
its distance from that expectation. No expectation, however wrong, biases the mean.

A packet is named by its direction and by its number in it, in order of arrival at the link, from 0.
"""

import math
import random
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np

from longlook.analysis.stats.procedures import Floats
from longlook.network import LossLaw, LossLaws

Packet = tuple[str, int]

NONE, ONE, MORE = "none", "one", "more"
STRATA = (NONE, ONE, MORE)

_NOTHING = 1e-15
"""Below this a probability is what rounding leaves of 0."""


@dataclass(frozen=True)
class _Channel:
    """One direction: its law, and the numbers of the packets that are inside, in order."""

    law: LossLaw
    inside: tuple[int, ...]

    @cached_property
    def inside_set(self) -> frozenset[int]:
        """The same numbers, to look them up."""
        return frozenset(self.inside)

    @cached_property
    def _steps(self) -> tuple[Floats, Floats, Floats]:
        return np.array(self.law.start), np.array(self.law.lost), np.array(self.law.step)

    @property
    def memoryless(self) -> bool:
        return len(self.law.lost) == 1

    def none_of(self, numbers: Iterable[int]) -> float:
        """Return the probability that none of these packets is lost."""
        chosen = set(numbers)
        if self.memoryless:
            return float((1 - self.law.lost[0]) ** len(chosen))
        start, lost, step = self._steps
        state: Floats = start
        for number in range(max(chosen, default=-1) + 1):
            state = (state * (1 - lost) if number in chosen else state) @ step
        return float(state.sum())

    def singles(self) -> dict[int, float]:
        """Return for each packet inside the probability that it is lost and no other one inside."""
        if self.memoryless:
            share = self.law.lost[0]
            return dict.fromkeys(self.inside, share * (1 - share) ** (len(self.inside) - 1))
        start, lost, step = self._steps
        end = self.inside[-1] + 1 if self.inside else 0
        before = [start]
        for number in range(end):
            before.append((before[-1] * (1 - lost) if number in self.inside_set else before[-1]) @ step)
        found: dict[int, float] = {}
        behind: Floats = np.ones(len(lost))
        for number in reversed(range(end)):
            onward = step @ behind
            if number in self.inside_set:
                found[number] = float(before[number] @ (lost * onward))
                onward = (1 - lost) * onward
            behind = onward
        return dict(sorted(found.items()))

    def lost_shares(self, count: int) -> Floats:
        """Return the probability that each of the first packets is lost, shape (count,)."""
        state, lost, step = self._steps
        if self.memoryless:
            return np.full(count, lost[0])
        found = np.empty(count)
        for number in range(count):
            found[number] = state @ lost
            state = state @ step
        return found

    def lost_beside(self, count: int) -> Floats:
        """Return the probability that each of the first packets is lost, if it is outside, and with it none, or exactly
        one, of the packets inside: shape (count, 2); 0 for packets inside.
        """
        start, lost, step = self._steps
        end = max(count, max(self.inside, default=-1) + 1)
        before = np.zeros((end + 1, 2, len(lost)))  # by losses inside among the earlier packets, and by state
        behind = np.zeros((end + 1, 2, len(lost)))  # by losses inside among the packets from this one on
        before[0, 0], behind[end, 0] = start, 1.0
        for number in range(end):
            here = before[number]
            if number in self.inside_set:
                here = np.stack([here[0] * (1 - lost), here[1] * (1 - lost) + here[0] * lost])
            before[number + 1] = here @ step
        for number in reversed(range(end)):
            onward = behind[number + 1] @ step.T
            if number in self.inside_set:
                onward = np.stack([onward[0] * (1 - lost), onward[1] * (1 - lost) + onward[0] * lost])
            behind[number] = onward
        found = np.zeros((count, 2))
        for number in range(count):
            if number not in self.inside_set:
                here, onward = before[number] * lost, behind[number + 1] @ step.T
                found[number] = here[0] @ onward[0], here[0] @ onward[1] + here[1] @ onward[0]
        return found

    def draw(self, source: random.Random, until: int, lost_inside: frozenset[int]) -> list[int]:
        """Return the lost packets before number `until`, drawn by the law; `lost_inside` are the ones inside."""
        if self.memoryless:
            return sorted({*self._draw_memoryless(source, until)} - {*self.inside} | lost_inside)
        return self._draw_chain(source, until, lost_inside)

    def _draw_memoryless(self, source: random.Random, until: int) -> list[int]:
        lost = self.law.lost[0]
        if lost <= 0:
            return []
        found: list[int] = []
        number = -1
        while True:
            gap = 0 if lost >= 1 else math.floor(math.log(1 - source.random()) / math.log1p(-lost))
            number += 1 + gap
            if number >= until:
                return found
            found.append(number)

    def _draw_chain(self, source: random.Random, until: int, lost_inside: frozenset[int]) -> list[int]:
        """Filter forward, sample backward (Carter and Kohn, Biometrika 81, 1994) as far as packets are fixed; then
        let the chain run.
        """
        state, lost, step = self._steps
        fixed = max(self.inside, default=-1) + 1
        met = []  # by packet: joint probability of what is fixed up to this packet, and of the state that it meets
        for number in range(fixed):
            fate = np.ones(len(lost))
            if number in self.inside_set:
                fate = lost if number in lost_inside else 1 - lost
            met.append(state * fate)
            state = met[-1] @ step
            state = state / state.sum()
        here = _pick(source, state)
        found, after = [], here
        for number in reversed(range(fixed)):
            earlier = _pick(source, met[number] * step[:, after])
            is_lost = number in lost_inside if number in self.inside_set else source.random() < lost[earlier]
            if is_lost:
                found.append(number)
            after = earlier
        found.reverse()
        return found + self._behind(source, here, fixed, until)

    def _behind(self, source: random.Random, state: int, start: int, until: int) -> list[int]:
        """Return the lost packets from number `start` on, the first of which meets this state."""
        found, shares = [], self.law.lost
        onward = [list(accumulate(row)) for row in self.law.step]
        for number in range(start, until):
            if source.random() < shares[state]:
                found.append(number)
            row = onward[state]
            state = min(len(row) - 1, bisect_right(row, source.random() * row[-1]))
        return found

    @cached_property
    def _counted(self) -> list[Floats]:
        """By packet up to the last one inside: the joint probability of how many packets inside were lost before it, of
        0, 1 and more, and of the state that it meets, shape (3, states).
        """
        start, lost, step = self._steps
        end = self.inside[-1] + 1 if self.inside else 0
        found = [np.stack([start, 0 * start, 0 * start])]
        for number in range(end):
            now = found[-1]
            if number in self.inside_set:
                hit = now * lost
                now = now - hit + np.stack([0 * start, hit[0], hit[1] + hit[2]])
            found.append(now @ step)
        return found

    def counts(self) -> Floats:
        """Return the probability that none, one, or more of the packets inside are lost, shape (3,)."""
        chances: Floats = self._counted[-1].sum(axis=1)
        return chances

    def draw_counted(self, source: random.Random, until: int, count: int) -> list[int]:
        """Return the lost packets before number `until` if `count` packets inside are lost: 0, 1, or 2 for more.

        Filter forward, sample backward (Carter and Kohn, Biometrika 81, 1994), over states and counts.
        """
        _, lost, step = self._steps
        here = after = _pick(source, self._counted[-1][count])
        found = []
        for number in reversed(range(len(self._counted) - 1)):
            onward = self._counted[number] * step[:, after]
            if number not in self.inside_set:
                after = _pick(source, onward[count])
                is_lost = source.random() < lost[after]
            else:  # the counts before: the same and not lost, one less and lost, or more and lost
                ways = [onward[count] * (1 - lost)]
                ways += [onward[before] * lost for before in range(3) if min(before + 1, 2) == count]
                way, after = divmod(_pick(source, np.concatenate(ways)), len(lost))
                is_lost = way > 0
                count = count if way == 0 else count - 1 if way == 1 else count
            if is_lost:
                found.append(number)
        found.reverse()
        return found + self._behind(source, here, len(self._counted) - 1, until)


def _source(seed: str) -> random.Random:
    """Return a stream that is the same on every machine and version of Python."""
    return random.Random(seed)  # noqa: S311


def _pick(source: random.Random, weights: Floats) -> int:
    return int(np.searchsorted(np.cumsum(weights), source.random() * float(weights.sum()), side="right"))


class LossStrata:
    """The strata of a cell, and draws from each of them.

    `inside` are numbers by direction. Raise ValueError if nothing is inside or no packet of these can be lost.
    """

    def __init__(self, laws: LossLaws, inside: Mapping[str, Sequence[int]]) -> None:
        self.laws = laws
        self._channels = {
            direction: _Channel(law, tuple(sorted(inside.get(direction, ()))))
            for direction, law in (("up", laws.up), ("down", laws.down))
        }
        none = {name: channel.none_of(channel.inside) for name, channel in self._channels.items()}
        all_none = math.prod(none.values())
        singles = {
            (name, number): share * math.prod(other for key, other in none.items() if key != name)
            for name, channel in self._channels.items()
            for number, share in channel.singles().items()
        }
        self.singles: Mapping[Packet, float] = {packet: share for packet, share in singles.items() if share > _NOTHING}
        """The probability of each pattern with one lost packet inside."""
        one = math.fsum(self.singles.values())
        if not one:
            raise ValueError("no packet inside can be lost")
        more = 1 - all_none - one
        self.weights: Mapping[str, float] = {NONE: all_none, ONE: one, MORE: more if more > _NOTHING else 0.0}
        """The probability of each stratum."""

    def none_of(self, packets: Iterable[Packet]) -> float:
        """Return the probability that none of these packets is lost."""
        by_direction: dict[str, list[int]] = {}
        for direction, number in packets:
            by_direction.setdefault(direction, []).append(number)
        return math.prod(self._channels[name].none_of(numbers) for name, numbers in by_direction.items())

    def single(self, place: float) -> Packet:
        """Return the packet at a place from 0 to below 1, each for as long as its share of the stratum "one"."""
        packets = list(self.singles)
        shares = np.cumsum([self.singles[packet] for packet in packets])
        return packets[min(len(packets) - 1, int(np.searchsorted(shares, place * float(shares[-1]), side="right")))]

    def draw(
        self, stratum: str, seed: int, until: Mapping[str, int], single: Packet | None = None
    ) -> frozenset[Packet]:
        """Return a pattern of a stratum: the lost packets before number `until` of each direction.

        `single` is the packet of a pattern of the stratum "one". The same seed gives the same pattern on every machine.
        """
        if stratum != MORE:
            return self._draw(seed, until, frozenset() if single is None else frozenset({single}))
        if all(channel.memoryless for channel in self._channels.values()):
            return self._draw(seed, until, self._several(_source(f"{seed} several")))
        source = _source(f"{seed} several")
        counts = [(up, down) for up in range(3) for down in range(3) if up + down > 1]
        shares = [channel.counts() for channel in self._channels.values()]
        chosen = counts[_pick(source, np.array([shares[0][up] * shares[1][down] for up, down in counts]))]
        return frozenset(
            (name, number)
            for (name, channel), count in zip(self._channels.items(), chosen, strict=True)
            for number in channel.draw_counted(_source(f"{seed} {name}"), until[name], count)
        )

    def _draw(self, seed: int, until: Mapping[str, int], inside: frozenset[Packet]) -> frozenset[Packet]:
        found: set[Packet] = set()
        for name, channel in self._channels.items():
            chosen = frozenset(number for key, number in inside if key == name)
            drawn = channel.draw(_source(f"{seed} {name}"), until[name], chosen)
            found.update((name, number) for number in drawn)
        return frozenset(found)

    def _several(self, source: random.Random) -> frozenset[Packet]:
        """Return which packets inside are lost, two or more, if losses are independent: the first one that another
        follows, the next one behind it, and any others.
        """
        packets = [(name, number) for name, channel in self._channels.items() for number in channel.inside]
        lost = np.array([self._channels[name].law.lost[0] for name, _ in packets])
        kept = np.cumprod(1 - lost)
        before = np.concatenate([[1.0], kept[:-1]])
        behind = np.concatenate([np.cumprod((1 - lost)[::-1])[::-1][1:], [1.0]])
        first = _pick(source, before * lost * -np.expm1(np.log(behind)))
        onward = lost[first + 1 :]
        second = first + 1 + _pick(source, np.concatenate([[1.0], np.cumprod(1 - onward)[:-1]]) * onward)
        others = (at for at in range(second + 1, len(packets)) if source.random() < lost[at])
        return frozenset(packets[at] for at in (first, second, *others))

    def holds(self, packet: Packet) -> bool:
        """Return whether a packet is inside."""
        return packet[1] in self._channels[packet[0]].inside_set

    def lost_shares_in(self, packets: Iterable[Packet]) -> dict[Packet, Mapping[str, float]]:
        """Return for each of these packets that is outside the probability that it is lost in a pattern of each
        stratum: together the probability that it is lost.
        """
        chosen = [packet for packet in packets if not self.holds(packet)]
        beside = {
            name: channel.lost_beside(max(found_of(chosen, name), default=-1) + 1)
            for name, channel in self._channels.items()
        }
        lost = lost_shares(self.laws, chosen)
        found: dict[Packet, Mapping[str, float]] = {}
        for name, number in chosen:
            (other,) = (channel for key, channel in self._channels.items() if key != name)
            none, one = other.none_of(other.inside), math.fsum(other.singles().values())
            own_none, own_one = map(float, beside[name][number])
            shares = {NONE: own_none * none, ONE: own_one * none + own_none * one}
            rest = lost[name, number] - math.fsum(shares.values())
            found[name, number] = {**shares, MORE: max(0.0, rest)}
        return found


def lost_shares(laws: LossLaws, packets: Iterable[Packet]) -> dict[Packet, float]:
    """Return the probability that each of these packets is lost."""
    chosen = list(packets)
    shares = {
        name: _Channel(law, ()).lost_shares(max(found_of(chosen, name), default=-1) + 1)
        for name, law in (("up", laws.up), ("down", laws.down))
    }
    return {packet: float(shares[packet[0]][packet[1]]) for packet in chosen}


def found_of(packets: Iterable[Packet], direction: str) -> list[int]:
    """Return the numbers of the packets of a direction, in order."""
    return sorted(number for name, number in packets if name == direction)


@dataclass(frozen=True)
class Control:
    """The expected cost of a pattern for one arm, on the scale of its values: the dearest of the losses inside, and the
    sum of the losses outside. `costs` has the cost of each single loss of a packet of the arm's trial without loss;
    losses of other packets cost nothing.
    """

    costs: Mapping[Packet, float]
    mean: float
    """The mean over all patterns, exact."""
    strata: LossStrata

    @classmethod
    def of(cls, strata: LossStrata, costs: Mapping[Packet, float]) -> "Control":
        """Return the expectation with its mean."""
        dearest = sorted((packet for packet in costs if strata.holds(packet)), key=lambda packet: -costs[packet])
        mean, kept = 0.0, 1.0
        for place, packet in enumerate(dearest):
            still = strata.none_of(dearest[: place + 1])
            mean += costs[packet] * (kept - still)
            kept = still
        shares = lost_shares(strata.laws, (packet for packet in costs if not strata.holds(packet)))
        mean += math.fsum(costs[packet] * share for packet, share in shares.items())
        return cls(costs, mean, strata)

    def expected(self, lost: Iterable[Packet]) -> float:
        """Return the expected cost of a pattern."""
        known = [packet for packet in lost if packet in self.costs]
        inside = [self.costs[packet] for packet in known if self.strata.holds(packet)]
        outside = math.fsum(self.costs[packet] for packet in known if not self.strata.holds(packet))
        return max(inside, default=0.0) + outside

    def means(self) -> Mapping[str, float]:
        """Return the mean over the patterns of each stratum, exact; 0 for one without any."""
        single = {packet: share for packet, share in self.strata.singles.items() if packet in self.costs}
        sums = {NONE: 0.0, ONE: math.fsum(self.costs[packet] * share for packet, share in single.items())}
        for packet, shares in self.strata.lost_shares_in(self.costs).items():
            for name in sums:
                sums[name] += self.costs[packet] * shares[name]
        sums[MORE] = self.mean - math.fsum(sums.values())
        weights = self.strata.weights
        return {name: total / weights[name] if weights[name] > 0 else 0.0 for name, total in sums.items()}


def after_backoff(cost: float) -> float:
    """Return the largest cost of several losses, a logarithm, if the largest cost that was seen is `cost`.

    It is the cost of a timeout that is met twice: the second lasts twice as long as the first (RFC 6298, 5.5; RFC 9002,
    6.2.1). Both cost three times as much.
    """
    return math.log1p(3 * math.expm1(max(0.0, cost)))


def interpolated(order: Sequence[Packet], measured: Mapping[Packet, float]) -> dict[Packet, float]:
    """Return the cost of each single loss: as measured, else between the nearest measured packets of its direction.

    `order` are all packets of a trial without loss in order of arrival. A direction without a measurement costs
    nothing.
    """
    found: dict[Packet, float] = {}
    for direction in dict.fromkeys(name for name, _ in order):
        own = [(place, packet) for place, packet in enumerate(order) if packet[0] == direction]
        known = [(place, measured[packet]) for place, packet in own if packet in measured]
        if known:
            places, costs = zip(*known, strict=True)
            values = np.interp([place for place, _ in own], places, costs)
            found.update((packet, float(value)) for (_, packet), value in zip(own, values, strict=True))
    return found | {packet: measured[packet] for packet in order if packet in measured}


def round_value(
    weights: Mapping[str, float], excess: Mapping[str, Sequence[float]], known: Mapping[str, float], mean: float
) -> float | None:
    """Return the value of a round: Σ weight × mean of a stratum's values minus their expectation, plus its exact mean.

    `excess` are, by stratum, values minus `Control.expected`; `known` are strata that need no trial in the round, with
    what each value there is minus its expectation. None if a stratum that has a probability has neither.
    """
    means = {name: math.fsum(values) / len(values) for name, values in excess.items() if values} | dict(known)
    if any(weight > 0 and name not in means for name, weight in weights.items()):
        return None
    return math.fsum(weights[name] * value for name, value in means.items()) + mean
