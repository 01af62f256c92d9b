"""The plan of the strata of a cell: which single losses are tried, which packets are inside, which patterns rounds get.

`stats.strata` has the method. Pure, except that it reads the timelines that it is given.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from longlook.analysis.stats.strata import (
    MORE,
    NONE,
    ONE,
    LossStrata,
    Packet,
    after_backoff,
    found_of,
    lost_shares,
)
from longlook.core import BEHIND, Trial, endpoints_of, registry
from longlook.network import LossLaws, loss_laws
from longlook.study import VIRTUAL, rank, uniform
from longlook.timeline import Kind, Timeline

MOST_SINGLES = 150
"""Packets of a load without loss up to which every single loss is tried at a point without other randomness."""
SOME_SINGLES = 64
"""Packets of a load without loss up to which every single loss is tried in a neighbourhood."""
_FIRST, _LAST, _BETWEEN = 7, 4, 4
"""The first and last packets of each direction of a longer load that are tried, and some between at even distances.

"""

MOST_EXPECTED = 1.5
"""Losses that a load has on average, up to which all of its packets are inside. With more of them, patterns with few
losses are rare, and only the first and the last packets are inside.
"""
MOST_AT_ALL = 30.0
"""Losses that a load has on average, above which they are sampled: they average out inside of each load."""
_EXPECTED_INSIDE = 0.5
_BEYOND = 4096
"""Packets for which losses are drawn behind four times as many as the longest load had."""

_ROUND_EXACT: Mapping[str, int] = {MORE: 2}
_ROUND: Mapping[str, int] = {NONE: 1, ONE: 1, MORE: 1}
_ROUND_LONG: Mapping[str, int] = {NONE: 2, ONE: 1, MORE: 1}
_ALIKE_SHARE = 0.1
"""If arms are nearly one program, each trial of "more" in a round counts with this share at most."""
_MOST_MORE = 5
"""As many trials of "more" does a round have at most."""
_GOLDEN = (math.sqrt(5) - 1) / 2

_PACKETS = (Kind.PACKET_DELIVERED, Kind.PACKET_DROPPED, Kind.PACKET_QUEUED)


@dataclass(frozen=True)
class CellStrata:
    """The strata of a cell (`strata.json`). A packet is written as its direction and number: `down 30`."""

    cell_id: str
    why_sampled: str = ""  # why the cell's losses are drawn at random in each round; "": they are integrated
    laws: LossLaws | None = None
    inside: Mapping[str, tuple[int, ...]] = field(default_factory=dict)  # direction → numbers
    until: Mapping[str, int] = field(default_factory=dict)  # direction → number before which losses are drawn
    arrivals: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # arm → packets of its load without loss
    alike: Mapping[str, str] = field(default_factory=dict)  # arm → what arms with nearly the same programs share
    exact: bool = False  # "none" and "one" are known from the stated point, without any trial in a round
    repeated: Mapping[str, str] = field(default_factory=dict)  # trial that ran again → what differed first; "": nothing

    @cached_property
    def strata(self) -> LossStrata:
        """The strata themselves; ValueError if the losses are not integrated."""
        if self.laws is None:
            raise ValueError(f"cell {self.cell_id} is sampled: {self.why_sampled}")
        return LossStrata(self.laws, self.inside)

    def packets(self, arm: str) -> list[Packet]:
        """Return the packets of an arm's load without loss, in order of arrival at the link."""
        return [read_packet(text) for text in self.arrivals[arm]]

    @cached_property
    def is_whole(self) -> bool:
        """Whether all packets of every arm's load without loss are inside."""
        return all(self.strata.holds(packet) for arm in self.arrivals for packet in self.packets(arm))

    def overran(self, arrived: Mapping[str, int]) -> bool:
        """Return whether a trial had more packets than losses were drawn for; `arrived` has its packets by way."""
        return any(count > self.until.get(direction, count) for direction, count in arrived.items())


def write_packet(packet: Packet) -> str:
    """Return the text of a packet."""
    return f"{packet[0]} {packet[1]}"


def read_packet(text: str) -> Packet:
    """Return the packet of a text."""
    direction, number = text.split(" ")
    return direction, int(number)


def laws_of(trials: Sequence[Trial], engine: str) -> LossLaws | str:
    """Return the laws of the random losses that all trials of a cell share, or why they cannot be integrated.

    `engine` runs the trials that name none.
    """
    found: list[LossLaws] = []
    for trial in trials:
        if (trial.engine or engine) != VIRTUAL:
            return "only trials in virtual time repeat"
        if trial.competes:
            return "several flows compete"
        if trial.has_second_path:
            return "a second path joins the ends"
        if unsteady := [end.stack for end in endpoints_of(trial) if not registry.stack(end.stack).repeats]:
            return f"trials with {unsteady[0]} do not repeat exactly"
        laws = loss_laws(trial.link, trial.further.get(BEHIND))
        if isinstance(laws, str):
            return laws
        found.append(laws)
    return found[0] if all(laws == found[0] for laws in found) else "arms or rounds have links with different losses"


@dataclass(frozen=True)
class Traffic:
    """The packets of a trial at its link, in order of arrival: shape (packets,) each."""

    packets: tuple[Packet, ...]
    arrival_ns: tuple[int, ...]
    size_bytes: tuple[int, ...]
    in_load: tuple[bool, ...]

    @classmethod
    def of(cls, timeline: Timeline) -> "Traffic | None":
        """Return the traffic of a trial; None if its load did not begin or end, or a packet has no number."""
        window = timeline.load_window_ns()
        table = timeline.select(_PACKETS, "link", priming=None)
        if window is None or table["sequence"].null_count or table.num_rows == 0:
            return None
        rows = zip(
            *(_values(table, name) for name in ("arrival_ns", "direction", "sequence", "size_bytes", "priming")),
            strict=True,
        )
        known: dict[Packet, tuple[int, int, bool]] = {}
        for arrival_ns, direction, number, size_bytes, priming in rows:
            inside = not priming and window[0] <= arrival_ns <= window[1]
            known.setdefault((direction, number), (arrival_ns, size_bytes, inside))
        ordered = sorted(known, key=lambda packet: (known[packet][0], packet))
        return cls(
            tuple(ordered),
            tuple(known[packet][0] for packet in ordered),
            tuple(known[packet][1] for packet in ordered),
            tuple(known[packet][2] for packet in ordered),
        )

    def load(self) -> list[Packet]:
        """Return the packets of the measured load."""
        return [packet for packet, inside in zip(self.packets, self.in_load, strict=True) if inside]

    def repeats_until(self, packet: Packet, other: "Traffic") -> bool:
        """Return whether another trial had the same packets at the same times up to this one, it included."""
        end = self.packets.index(packet) + 1
        return all(
            mine[:end] == theirs[:end]
            for mine, theirs in (
                (self.packets, other.packets),
                (self.arrival_ns, other.arrival_ns),
                (self.size_bytes, other.size_bytes),
            )
        )


def _values(table: pa.Table, name: str) -> list[Any]:
    values: list[Any] = table[name].to_pylist()
    return values


def program_of(trial: Trial, load: Iterable[Packet]) -> tuple[str, str, str, int, int]:
    """Return what arms share that are nearly one program: the programs, except for versions and knobs, and how many
    packets of each direction a load without loss has.
    """
    counts = Counter(direction for direction, _ in load)
    return (trial.protocol, trial.client.stack, trial.server.stack, counts["up"], counts["down"])


def is_point(trial: Trial, laws: LossLaws) -> bool:
    """Return whether rounds of a trial's cell differ in nothing but losses."""
    return not trial.drawn and not laws.also_random


def singles_to_try(load: Sequence[Packet], laws: LossLaws, *, point: bool) -> list[Packet]:
    """Return the packets of a load whose single loss is tried: all of them, or the first, the last and some between of
    each direction.
    """
    lossy = _lossy(load, laws)
    if len(lossy) <= (MOST_SINGLES if point and expected_losses(load, laws) <= MOST_EXPECTED else SOME_SINGLES):
        return lossy
    return [packet for packet in lossy if packet in _marked(lossy, _FIRST, _LAST, _BETWEEN)]


def _lossy(load: Iterable[Packet], laws: LossLaws) -> list[Packet]:
    can_be_lost = {name for name, law in (("up", laws.up), ("down", laws.down)) if any(law.lost)}
    return [packet for packet in load if packet[0] in can_be_lost]


def _marked(load: Iterable[Packet], first: int, last: int, between: int) -> set[Packet]:
    """Return the first and the last packets of each direction of a load, and some between at even distances."""
    packets = list(load)
    found: set[Packet] = set()
    for name in ("up", "down"):
        numbers = found_of(packets, name)
        if len(numbers) <= first + last + between:
            found.update((name, number) for number in numbers)
            continue
        inner = np.linspace(first, len(numbers) - last - 1, between + 2).round().astype(int)[1:-1].tolist()
        places = [*range(first), *inner, *range(len(numbers) - last, len(numbers))]
        found.update((name, numbers[place]) for place in places)
    return found


def expected_losses(load: Iterable[Packet], laws: LossLaws) -> float:
    """Return how many packets of a load are lost on average."""
    return math.fsum(lost_shares(laws, load).values())


def plan_strata(
    cell_id: str,
    laws: LossLaws,
    loads: Mapping[str, Sequence[Packet]],
    singles: Iterable[Sequence[Packet]],
    alike: Mapping[str, str] | None = None,
    *,
    point: bool,
) -> CellStrata:
    """Return the strata of a cell from its arms' loads without loss, and from the loads with a single loss.

    `alike` has a name for each arm with nearly the same programs as another: all of these have the same one.

    At a `point` with few enough losses "none" and "one" are exact if no packet comes before the load: losses in a
    connection that primes it may change it. Each single loss of each load must then have been tried, and gone well.
    """
    if not any(_lossy(load, laws) for load in loads.values()):
        return CellStrata(cell_id, "no packet of a load can be lost")
    longest = [*loads.values(), *singles]
    expected = max(expected_losses(load, laws) for load in loads.values())
    arrivals = {arm: tuple(map(write_packet, load)) for arm, load in loads.items()}
    ends = {
        name: max((found_of(load, name)[-1] + 1 for load in longest if found_of(load, name)), default=0)
        for name in ("up", "down")
    }
    until = {name: 4 * end + _BEYOND for name, end in ends.items()}
    if expected <= MOST_EXPECTED:
        first = {
            name: min((found_of(load, name)[0] for load in longest if found_of(load, name)), default=0) for name in ends
        }
        inside = {name: tuple(range(first[name], ends[name])) for name in ends}
        primed = any(numbers and numbers[0] for load in loads.values() for numbers in _numbers(load, laws))
        exact = point and not primed and all(len(load) <= MOST_SINGLES for load in loads.values())
        return CellStrata(cell_id, "", laws, inside, until, arrivals, alike or {}, exact)
    share = expected / max(map(len, loads.values()))
    count = min(_FIRST + _LAST, int(_EXPECTED_INSIDE / 2 / share))
    if count < 2:
        return CellStrata(cell_id, f"{100 * share:.0f} % of the packets are lost, too many for strata")
    critical = set().union(*(_marked(load, count - count // 3, count // 3, 0) for load in loads.values()))
    inside = {name: tuple(found_of(critical, name)) for name in ends}
    return CellStrata(cell_id, "", laws, inside, until, arrivals, alike or {})


def why_too_many(loads: Iterable[Sequence[Packet]], laws: LossLaws) -> str:
    """Return why losses of such loads are not worth integrating; "" if they are."""
    expected = max(expected_losses(load, laws) for load in loads)
    return (
        f"a load loses {expected:.0f} packets on average, so many average out inside" if expected > MOST_AT_ALL else ""
    )


def with_repeats(cell: CellStrata, leaves: Iterable[Trial], repeated: Mapping[str, str]) -> CellStrata:
    """Return the strata of a cell with what its trials `leaves` did when they ran again; if one differed, losses are
    sampled. `repeated` has by trial what differed first; "": nothing.
    """
    again: dict[str, str] = {}
    why = ""
    for trial in leaves:
        again[trial.id] = repeated[trial.id]
        if again[trial.id] and not why:
            why = f"arm {trial.arm} is not deterministic: {again[trial.id]} differed when trial {trial.id} ran again"
    return CellStrata(cell.cell_id, why, repeated=again) if why else replace(cell, repeated=again)


def _numbers(load: Iterable[Packet], laws: LossLaws) -> list[list[int]]:
    lossy = _lossy(load, laws)
    return [found_of(lossy, name) for name in ("up", "down")]


@dataclass(frozen=True)
class Pattern:
    """The losses of one trial of every arm in a round."""

    stratum: str
    lost: frozenset[Packet]


def drawn_in_round(cell: CellStrata) -> dict[str, int]:
    """Return how many patterns of each stratum a round of a cell has."""
    counts = dict(_ROUND_EXACT if cell.exact else _ROUND if cell.is_whole else _ROUND_LONG)
    if cell.alike:
        counts[MORE] = max(counts[MORE], min(_MOST_MORE, math.ceil(cell.strata.weights[MORE] / _ALIKE_SHARE)))
    return counts


def enough_of_more(cell: CellStrata, dearest: float, rounds: int, room: float, error: float) -> int:
    """Return how many patterns of "more" a round needs, or the most that a round has if these are fewer.

    With them, patterns that no round drew may part two arms that are nearly one program by no more than `room`.
    `dearest` is the largest cost of a pattern, `room` a difference, both on the scale of logarithms; `error` is as in
    `stats.rare_losses.Apart`.
    """
    distance, least = cell.strata.weights[MORE] * after_backoff(dearest), drawn_in_round(cell).get(MORE, 0)
    if distance <= room:
        return least
    needed = math.log(error) / math.log1p(-room / distance)
    return max(least, min(_MOST_MORE, math.ceil(needed / rounds)))


def patterns(
    cell: CellStrata, seed: int, key: str, number: int, counts: Mapping[str, int] | None = None
) -> Iterator[Pattern]:
    """Yield the patterns of a round of a cell; all arms get the same ones.

    `counts` has how many of each stratum (None: `drawn_in_round`). With a larger count of "none" or "more" the first
    ones are the same.

    Packets of the stratum "one" are dealt over the rounds at the golden ratio's distances, so that after any number of
    rounds each has had about its share. Each round by itself draws from the law.
    """
    strata = cell.strata
    counts = drawn_in_round(cell) if counts is None else counts
    start = uniform(seed, "losses", key)
    for stratum, count in counts.items():
        for turn in range(count):
            if strata.weights[stratum] <= 0:
                continue
            single = None
            if stratum == ONE:
                single = strata.single((start + (number * count + turn) * _GOLDEN) % 1.0)
            lost = strata.draw(stratum, rank(seed, "losses", number, key, stratum, turn), cell.until, single)
            yield Pattern(stratum, lost)
