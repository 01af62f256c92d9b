"""The types of causes: plug-ins that recognise themselves in traces and say which change of a trial would remove them.

`longlook.causes` has them in families; docs/guide/explain.md explains the words. Nothing here runs a trial: a finding
stays *suspected* until `attribution` has read the trials in which its change was made.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from longlook.core import Scalar, registry, units
from longlook.explain.ledger.classes import LedgerClass

if TYPE_CHECKING:
    from longlook.explain.pair import Pair


_DOSE = re.compile(r"\{(dose|size)(:[^}]*)?\}")


class Target(StrEnum):
    """The arms that an intervention changes."""

    LOSER = "loser"
    WINNER = "winner"
    BOTH = "both"  # the path is the same for both arms, so a change of it is made for both


class Purpose(StrEnum):
    """The purpose of an intervention."""

    CURE = "cure"  # removes the cause: the gap closes if it is one
    TRANSPLANT = "transplant"  # gives the cause to the winner: the gap closes from the other side
    DOSE = "dose"  # one of several values of the cure, in order: the gap must follow


class Touches(StrEnum):
    """The part of a cause that an intervention touches: what it can show (docs/explanation/proof-of-causes.md)."""

    MECHANISM = "mechanism"  # the rule or value that the cause names: it can show why, and its share is the cause's
    OCCASION = "occasion"  # what sets the mechanism going, or the time that it takes: it shows where the gap arises
    PROGRAM = "program"  # a whole program or version: it shows at which end the difference is


class Says(StrEnum):
    """The most that a cause can say."""

    WHY = "why"  # there is a change of its mechanism
    WHERE = "where"  # nothing here changes its mechanism alone: it names a place, an event or an end


@dataclass(frozen=True)
class Surgery:
    """Operations on single packets of a trial's link, as `network.surgery.up` and `.down` state them
    (docs/reference/link.md)."""

    up: str = ""
    down: str = ""


@dataclass(frozen=True)
class Change:
    """An edit of an arm: settings of a study file that are laid over its own, and surgery by round (from 0).

    `label` says it in words that go on after "with": "an initial window of 100 packets".
    """

    label: str
    settings: Mapping[str, Scalar] = field(default_factory=dict)
    surgery: Mapping[int, Surgery] = field(default_factory=dict)


@dataclass(frozen=True)
class Intervention:
    """One change made for one purpose. `dose` orders interventions of kind DOSE, and the cure that is one of them."""

    kind: Purpose
    target: Target
    touches: Touches
    change: Change
    dose: float | None = None


@dataclass(frozen=True)
class Untestable:
    """An intervention that cannot be made here, and why: "untestable: quiche@0.28.0 has no knob packet_threshold"."""

    kind: Purpose
    reason: str
    touches: Touches = Touches.MECHANISM


@dataclass(frozen=True)
class Evidence:
    """An observation of a detector in words, at a time in ns since the load began; `packets` are a trace's numbers."""

    time_ns: int
    text: str
    packets: tuple[int, ...] = ()


@dataclass(frozen=True)
class Sign:
    """The finding of a detector in one round of the losing arm.

    `strength_ns` is the time of the load that the cause could have cost at most. `dose` is the value that matters (a
    window in bytes, a threshold in packets, a timer in ms). `packets` are the link's numbers of packets that surgery
    could spare. `cure` is surgery that would undo the cause in this round, if sparing packets does not. `transplant` is
    surgery that would do to the winner, in the same round, what the cause did to the loser.
    """

    strength_ns: int
    evidence: tuple[Evidence, ...] = ()
    dose: float | None = None
    packets: tuple[int, ...] = ()
    direction: str = "down"  # of `packets`
    cure: Surgery | None = None
    transplant: Surgery | None = None


@dataclass(frozen=True)
class Finding:
    """A suspected cause: the signs of all loads that had one, by the load's number (`Tape`).

    `loads` is how many were looked at. `shares` has the share of all loads that each of them stands for; empty: they
    count alike. `is_alike`: both arms have the end, whose doing it is, alike, so that it cannot be what differs between
    them.
    """

    cause: str
    arm: str
    role: str  # server, client or path
    signs: Mapping[int, Sign]
    loads: int
    is_alike: bool = False
    shares: Mapping[int, float] = field(default_factory=dict)

    @property
    def strength_ns(self) -> int:
        """Return the mean strength over all loads, loads without a sign counting as 0."""
        if self.shares:
            return int(sum(self.shares[number] * sign.strength_ns for number, sign in self.signs.items()))
        return sum(sign.strength_ns for sign in self.signs.values()) // max(self.loads, 1)

    @property
    def seen_pct(self) -> float:
        """Return in which share of loads it was seen, in %."""
        if self.shares:
            return 100 * sum(self.shares[number] for number in self.signs)
        return 100 * len(self.signs) / max(self.loads, 1)

    @property
    def dose(self) -> float | None:
        """Return the median dose of the rounds that have one; of two in the middle the lower."""
        doses = sorted(sign.dose for sign in self.signs.values() if sign.dose is not None)
        return doses[(len(doses) - 1) // 2] if doses else None


@dataclass(frozen=True)
class Cause:
    """A cause that a detector can suspect and an intervention can confirm.

    `sentence` completes "The load takes longer, because …" and may hold the dose: `{dose:.0f}`, or `{size}` if it is in
    bytes. If the cause says WHERE, `sentence` completes "The gap arises …"; `where` does so for a cause that says WHY
    and has changes of its occasion as well. `detect` is pure and sees one round; it must not look at the names of arms,
    so that it cannot be tuned to one. `interventions` gets the finding and the first pair of trials that shows it, and
    returns what can be changed and what cannot.
    """

    name: str
    title: str
    sentence: str
    source: str  # a paper, a standard, a public report of the fault
    role: str  # server, client or path: whose doing it is
    classes: tuple[LedgerClass, ...]  # of the ledger, which removing the cause can shrink
    needs: tuple[str, ...]  # kinds of events without which the detector is silent; empty: the link's log is enough
    detect: Callable[["Pair"], Sign | None]
    interventions: Callable[[Finding, "Pair"], Sequence[Intervention | Untestable]]
    cured_by: str = ""  # the cure in words, for the list of causes
    says: Says = Says.WHY
    where: str = ""  # without a dose

    def said_of(self, finding: Finding) -> str:
        """Return the sentence with the dose of a finding, or with "…" if it has none."""
        if finding.dose is None:
            return _DOSE.sub("…", self.sentence)
        return self.sentence.format(dose=finding.dose, size=units.print_bytes(round(finding.dose)))

    def placed_at(self, finding: Finding) -> str:
        """Return what completes "The gap arises …"; empty of a cause that says why and has no such words."""
        return self.said_of(finding) if self.says is Says.WHERE else self.where


def causes() -> Mapping[str, Cause]:
    """Return all causes by name, in alphabetical order."""
    return registry.load("causes")
