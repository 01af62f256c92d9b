"""From the winning arm's mean load to the losing arm's, class of time by class of time."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from longlook.explain import Answer
from longlook.report.charts.colours import LEDGER_COLOURS

SMALLEST_SHARE = 0.01
"""Classes whose difference is less than this share of the largest stand together in one step."""


@dataclass(frozen=True)
class Step:
    """A change from one time to another, in ms; `name` is a class of the ledger, empty for several small ones."""

    name: str
    label: str
    start_ms: float
    end_ms: float

    @property
    def change_ms(self) -> float:
        """Return by how much the step is longer in the arm that lost; below 0 if it is shorter."""
        return self.end_ms - self.start_ms


@dataclass(frozen=True)
class WaterfallPart:
    """A class of a load's time: its ends in the bar of its arm, in ms from the load's beginning."""

    name: str
    start_ms: float
    end_ms: float


def class_name(name: str) -> str:
    """Return the name of a class for people: `congestion window`."""
    return name.replace("_", " ")


def ordered_classes(ledger_ms: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Return the classes in which any arm spent time, in the order in which they are drawn."""
    seen = {name for classes in ledger_ms.values() for name, spent_ms in classes.items() if spent_ms}
    order = list(LEDGER_COLOURS)
    return sorted(seen, key=order.index)


def parts(classes: Mapping[str, float]) -> list[WaterfallPart]:
    """Return the parts of an arm's bar from left to right; the last ends where the mean load ends."""
    names = ordered_classes({"": classes})
    ends = [math.fsum(classes[name] for name in names[: number + 1]) for number in range(len(names))]
    return [WaterfallPart(name, start, end) for name, start, end in zip(names, [0.0, *ends], ends, strict=False)]


def load_ms(classes: Mapping[str, float]) -> float:
    """Return the mean load of an arm, which is the sum of its classes."""
    return math.fsum(classes.values())


def differences(answer: Answer) -> dict[str, float]:
    """Return by how many ms each class is longer in the arm that lost, in the order in which classes are drawn."""
    ledger_ms = answer.ledger_ms or {}
    loser, winner = ledger_ms.get(answer.loser, {}), ledger_ms.get(answer.winner, {})
    return {name: loser.get(name, 0.0) - winner.get(name, 0.0) for name in ordered_classes(ledger_ms)}


def steps(answer: Answer) -> list[Step]:
    """Return the steps from the winner's mean load to the loser's: what is longer first, the largest before others.

    They sum to the difference of both loads. Small differences are one step, at the end.
    """
    changes = {name: change for name, change in differences(answer).items() if change}
    if not changes:
        return []
    least = SMALLEST_SHARE * max(abs(change) for change in changes.values())
    large = sorted((name for name in changes if abs(changes[name]) >= least), key=lambda name: -changes[name])
    small = [name for name in changes if abs(changes[name]) < least]
    groups = [(name, class_name(name), [name]) for name in large]
    if len(small) == 1:
        groups.append((small[0], class_name(small[0]), small))
    elif small:
        groups.append(("", f"{len(small)} other classes", small))
    at = [load_ms((answer.ledger_ms or {})[answer.winner])]
    found = []
    for name, label, members in groups:
        at += [changes[member] for member in members]
        found.append(Step(name, label, math.fsum(at[: -len(members)]), math.fsum(at)))
    return found
