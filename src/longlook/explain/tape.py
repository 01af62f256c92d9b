"""The loads of a cell that are explained, by number: the same for all arms, with the same losses. Pure.

If losses are drawn at random, a round is one load, and the load has the round's number. If losses are integrated
(`analysis.strata_plan`), a round is several loads, one for each pattern of losses. At the stated point of the cell
there is one more load without loss, and one for each single loss. Detectors see loads, surgery is of loads, and a
change is judged by rounds (`explain.integrated`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from longlook.analysis import MORE, NONE, ONE, CellStrata, Packet, drawn_in_round, patterns, singles_to_try
from longlook.core import STATED, Trial
from longlook.network import loses_at_random
from longlook.study import with_lost

_AT_A_POINT = {NONE: 2, ONE: 1}
"""Further patterns of a round if "none" and "one" are known of the cell's own arms, and perhaps not of changed ones."""


@dataclass(frozen=True)
class Load:
    """A load of every arm: its round, or STATED, its stratum, and its losses.

    `is_of_run`: the run has it, too. `is_usual`: the cell's own arms take it; others are for changed arms of which less
    is known.
    """

    round: int
    stratum: str
    lost: frozenset[Packet]
    is_of_run: bool = True
    is_usual: bool = True


@dataclass(frozen=True)
class Tape:
    """The loads of a cell; without `cell` losses are drawn at random in each round, and `loads` is empty.

    `tried` are the packets whose single loss the run tried, by arm. `traced` are the loads at the stated point that
    detectors see beside the loads of all rounds. `is_point`: rounds differ in nothing but losses. `why_sampled` says
    why losses that there are were not integrated.
    """

    why_sampled: str = ""
    cell: CellStrata | None = None
    loads: Mapping[int, Load] = field(default_factory=dict)
    tried: Mapping[str, Sequence[Packet]] = field(default_factory=dict)
    traced: tuple[int, ...] = ()
    is_point: bool = False

    @classmethod
    def integrated(
        cls,
        cell: CellStrata,
        seed: int,
        rounds: Iterable[int],
        tried: Mapping[str, Sequence[Packet]],
        traced: Iterable[Packet] = (),
        *,
        is_point: bool = False,
        more: int = 0,
    ) -> "Tape":
        """Return the loads of these rounds of a cell whose losses are integrated, then the loads at its stated point.

        A round has at least `more` patterns of the stratum "more". Detectors see the losses of the packets `traced` at
        the stated point. If rounds have neither loads without loss nor with single losses, they see all of these there.
        """
        own = drawn_in_round(cell)
        usual = {**own, MORE: max(more, own.get(MORE, 0))}
        planned = {**_AT_A_POINT, **usual} if cell.exact else usual
        found = []
        for number in rounds:
            turns = dict.fromkeys(planned, 0)
            for pattern in patterns(cell, seed, cell.cell_id, number, planned):
                stratum = pattern.stratum
                turns[stratum] += 1
                of_run, is_usual = (turns[stratum] <= counts.get(stratum, 0) for counts in (own, usual))
                found.append(Load(number, stratum, pattern.lost, of_run, is_usual))
        of_run_singles = dict.fromkeys(packet for packets in tried.values() for packet in packets)
        found.append(Load(STATED, NONE, frozenset()))
        found += [
            Load(STATED, ONE, frozenset({packet}), packet in of_run_singles)
            for packet in dict.fromkeys([*of_run_singles, *cell.strata.singles])
        ]
        made = cls("", cell, dict(enumerate(found)), tried, is_point=is_point)
        seen = of_run_singles if cell.exact else [packet for packet in traced if packet in of_run_singles]
        return replace(made, traced=(*([made.calm] if cell.exact else []), *map(made.single, seen)))

    @property
    def is_integrated(self) -> bool:
        """Return whether losses are integrated."""
        return self.cell is not None

    def singles_of(self, load: Sequence[Packet]) -> list[Packet]:
        """Return the packets of a load whose single losses a changed arm tries, as an arm of the run does."""
        if self.cell is None or self.cell.laws is None:
            return []
        chosen = singles_to_try(load, self.cell.laws, point=self.is_point)
        return [packet for packet in chosen if frozenset({packet}) in self._stated]

    def single(self, packet: Packet) -> int:
        """Return the number of the load that loses this packet alone."""
        return self._stated[frozenset({packet})]

    @property
    def calm(self) -> int:
        """Return the number of the load at the stated point without loss."""
        return self._stated[frozenset()]

    @cached_property
    def _stated(self) -> Mapping[frozenset[Packet], int]:
        return {self.loads[at].lost: at for at in self._by_round[STATED]}

    @cached_property
    def _by_round(self) -> Mapping[int, Sequence[int]]:
        found: dict[int, list[int]] = {}
        for at, load in self.loads.items():
            found.setdefault(load.round, []).append(at)
        return found

    def in_round(self, number: int, *strata: str) -> list[int]:
        """Return the numbers of a round's loads: all that the cell's own arms take, or all of some strata."""
        if not self.is_integrated:
            return [number]
        return [
            at
            for at in self._by_round.get(number, ())
            if (self.loads[at].stratum in strata if strata else self.loads[at].is_usual)
        ]

    def of_run(self, numbers: Iterable[int]) -> list[int]:
        """Return the loads among these that the run has."""
        return [at for at in numbers if not self.is_integrated or self.loads[at].is_of_run]

    def of(self, trials: Iterable[Trial]) -> dict[str, dict[int, Trial]]:
        """Return the loads of planned trials, with random losses as the study has them, by arm and number.

        A trial whose path loses nothing at random is the same in all patterns of its round.
        """
        found: dict[str, dict[int, Trial]] = {}
        for trial in trials:
            own = found.setdefault(trial.arm, {})
            loses = any(loses_at_random(link) for link in trial.links.values())
            for number in self._by_round.get(trial.round, ()) if self.is_integrated else (trial.round,):
                own[number] = self._load(trial, number) if self.is_integrated and loses else trial
        return {arm: dict(sorted(loads.items())) for arm, loads in found.items()}

    def _load(self, trial: Trial, number: int) -> Trial:
        load = self.loads[number]
        lost = {way: [at for name, at in load.lost if name == way] for way in ("up", "down")}
        return with_lost(trial, load.stratum, lost["up"], lost["down"])

    def shares(self, numbers: Iterable[int]) -> dict[int, float]:
        """Return the share of all loads that each of these stands for, in sum 1.

        A load without loss or with several losses stands for its stratum in equal parts with the others. A single loss
        at the stated point has its exact probability. Single losses of rounds share what such loads leave.
        """
        chosen = list(numbers)
        if self.cell is None:
            return {number: 1 / len(chosen) for number in chosen}
        strata, found = self.cell.strata, dict.fromkeys(chosen, 0.0)
        exact = {at: strata.singles.get(packet, 0.0) for at in chosen for packet in self._alone(at)}
        known = {packet for at in exact for packet in self._alone(at)}
        for stratum, weight in strata.weights.items():
            own = [at for at in chosen if self.loads[at].stratum == stratum and at not in exact]
            if stratum == ONE:
                own = [at for at in own if not known & self.loads[at].lost]
            left = weight - sum(exact.values()) if stratum == ONE else weight
            found |= {at: left / len(own) for at in own}
        found |= exact
        whole = sum(found.values())
        return {at: share / whole for at, share in found.items()}

    def _alone(self, number: int) -> frozenset[Packet]:
        """Return the one packet that a load at the stated point loses; none of any other load."""
        load = self.loads[number]
        return load.lost if load.round == STATED and load.stratum == ONE else frozenset()
