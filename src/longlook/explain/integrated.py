"""Values of single loads with planned losses → a value of each round and arm, as `analysis.integrated` has it. Pure.

A changed arm has the losses of the arm that it replaces, and is read as an arm of the run is: its load without loss,
its single losses, and the patterns of the rounds. Surgery leaves most loads as they were, so that these are the
replaced arm's own.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from longlook.analysis import MORE, NONE, ONE, Apart, Drawn, Packet, StatedArm, by_ratios, write_packet
from longlook.core import STATED, Metric, codec
from longlook.explain.tape import Tape


@dataclass(frozen=True)
class ArmLoads:
    """An arm of a cell or a changed one. `values` and `traffic` are by the number of the load; None: it went wrong.

    `packets` are the packets of its load without loss, None if it is not known. `program` is what arms share that are
    nearly one program (`analysis.program_of`). `replaces` is the arm of which it is a variant, and `same_settings` says
    that nothing but packets of single loads is changed. An arm that `loses` nothing at random has one trial a round.
    """

    values: Mapping[int, float | None]
    traffic: Mapping[int, str] = field(default_factory=dict)
    packets: Sequence[Packet] | None = None
    program: object = None
    replaces: str = ""
    same_settings: bool = False
    loses: bool = True


@dataclass(frozen=True)
class IntegratedRounds:
    """The rounds of an arm: values in the metric's unit, digests of the traffic, and room for what was not seen."""

    values: Mapping[int, float]
    traffic: Mapping[int, str]
    unseen_pct: float | None  # None without a round


class IntegratedReading:
    """All arms of a cell by the loads that ran, and the loads that are still to run.

    If it is `brief`, changed arms try no single losses themselves, and rounds have the patterns of the run alone.
    """

    def __init__(self, tape: Tape, metric: Metric, arms: Mapping[str, ArmLoads], *, brief: bool = False) -> None:
        if tape.cell is None:
            raise ValueError("losses are not integrated")
        self._tape, self._cell, self._arms, self._brief = tape, tape.cell, arms, brief
        values = [value for arm in arms.values() for value in arm.values.values() if value is not None]
        self._is_log = by_ratios(metric, values)
        self._stated: dict[str, StatedArm | None] = {}

    def stated_loads(self, arm: str, *, assumed: bool = False) -> list[int]:
        """Return the loads at the stated point that an arm takes.

        A changed arm tries the single losses of its load without loss, which must have run. If they are `assumed`, it
        tries the same single losses as the arm that it replaces until then.
        """
        own = self._arms[arm]
        if not own.loses:
            return []
        packets: Sequence[Packet] = self._tape.tried.get(own.replaces or arm, ())
        if own.replaces and not own.same_settings:
            if self._brief:
                packets = ()
            elif own.packets is not None:
                packets = self._tape.singles_of(own.packets)
            elif not assumed:
                packets = ()
        return [self._tape.calm, *map(self._tape.single, packets)]

    def round_loads(self, arm: str, number: int) -> list[int]:
        """Return the loads of a round that an arm takes, if its loads at the stated point ran, or did what is usual."""
        taken = self._tape.in_round(number)
        if not self._arms[arm].loses:
            return taken[:1]
        stated = self.stated(arm) if self._cell.exact else None
        if stated is not None and not {NONE, ONE} <= stated.known.keys():
            taken = self._tape.in_round(number, *(name for name in (NONE, ONE, MORE) if name not in stated.known))
        if not self._brief:
            return taken
        return [at for at in taken if self._tape.loads[at].is_of_run or self._tape.loads[at].stratum != MORE]

    def stated(self, arm: str) -> StatedArm | None:
        """Return an arm by its loads at the stated point; None if these say too little."""
        if arm not in self._stated:
            self._stated[arm] = self._as_stated(arm)
        return self._stated[arm]

    def _as_stated(self, arm: str) -> StatedArm | None:
        own = self._arms[arm]
        if own.packets is None:
            return None
        values = {
            self._tape.loads[at].lost: self._scaled(value)
            for at, value in own.values.items()
            if value is not None and self._tape.loads[at].round == STATED
        }
        replaced = self.stated(own.replaces) if own.replaces else None
        arrivals = {**self._cell.arrivals, arm: tuple(map(write_packet, own.packets))}
        others = None if replaced is None else replaced.measured
        return StatedArm.of(replace(self._cell, arrivals=arrivals), arm, values, others)

    def rounds(self, arm: str, numbers: Sequence[int]) -> IntegratedRounds:
        """Return what is known of an arm in these rounds; a round is missing if a load that it takes is."""
        own, stated = self._arms[arm], self.stated(arm)
        values, unseen, digests = {}, [], {}
        for number in numbers:
            if (drawn := self._drawn(arm, number)) is None:
                continue
            compared = self._tape.in_round(number) if own.loses else self.round_loads(arm, number)
            if all(at in own.traffic for at in compared):
                digests[number] = codec.content_hash([own.traffic[at] for at in compared])
            if not own.loses:
                values[number] = self._in_unit(drawn[0].value)
                continue
            value = None if stated is None else stated.round_value(drawn)
            if stated is None or value is None:
                continue
            values[number] = self._in_unit(value)
            unseen.append(stated.unseen_pct(drawn, value, is_log=self._is_log))
        return IntegratedRounds(values, digests, sum(unseen) / len(unseen) if unseen else None)

    def apart(self, arm: str, other: str, numbers: Sequence[int]) -> tuple[Apart, ...]:
        """Return, for each of two arms that are nearly one program, how far patterns may part them that these rounds
        did not draw; nothing if the arms are not.
        """
        arms = (arm, other)
        if not self._is_log or not self._are_nearly_one(arm, other):
            return ()
        stated = {name: known for name in arms if (known := self.stated(name)) is not None}
        if len(stated) < len(arms):
            return ()
        dearest = max(
            self._scaled(value) - known.base
            for name, known in stated.items()
            for value in self._arms[name].values.values()
            if value is not None
        )
        drawn = {name: [found for number in numbers if (found := self._drawn(name, number))] for name in arms}
        return tuple(stated[name].apart(found[-1], dearest) for name, found in drawn.items() if found)

    def _are_nearly_one(self, arm: str, other: str) -> bool:
        own, others = self._arms[arm], self._arms[other]
        return own.loses and others.loses and own.program is not None and own.program == others.program

    def _drawn(self, arm: str, number: int) -> list[Drawn] | None:
        """Return the loads of a round that an arm takes; None if one of them did not run or went wrong."""
        found = []
        for at in self.round_loads(arm, number):
            if (value := self._arms[arm].values.get(at)) is None:
                return None
            found.append(Drawn(self._tape.loads[at].stratum, self._tape.loads[at].lost, self._scaled(value)))
        return found

    def _scaled(self, value: float) -> float:
        return math.log(value) if self._is_log else value

    def _in_unit(self, scaled: float) -> float:
        return math.exp(scaled) if self._is_log else scaled
