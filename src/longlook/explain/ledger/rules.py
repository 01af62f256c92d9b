"""Rules as columns over elementary intervals: the first that holds decides. Pure."""

from dataclasses import dataclass, field

import numpy as np

from longlook.explain.facts.columns import Booleans, Integers
from longlook.explain.ledger.classes import LedgerClass


@dataclass
class Decisions:
    """The class and detail of each elementary interval, arrays of shape (N,), decided by rules one after the other.

    An interval that a rule has decided is left alone by those after it. `detail` holds places in `texts`.
    """

    name: Integers  # places in LedgerClass, -1 while undecided
    detail: Integers
    texts: list[str | None] = field(default_factory=lambda: [None])

    @classmethod
    def open(cls, count: int) -> "Decisions":
        """Return undecided intervals."""
        return cls(np.full(count, -1, np.int64), np.zeros(count, np.int64))

    @property
    def undecided(self) -> Booleans:
        """Which intervals no rule has decided."""
        found: Booleans = self.name < 0
        return found

    def decide(self, where: Booleans, name: LedgerClass, detail: str | None = None) -> None:
        """Give those of some intervals that are undecided a class."""
        chosen = where & self.undecided
        self.name[chosen] = PLACES[name]
        self.detail[chosen] = self.place(detail)

    def adopt(self, chosen: Integers, own: "Decisions") -> None:
        """Take over what was decided about the intervals at some places."""
        translated = np.array([self.place(text) for text in own.texts], np.int64)
        self.name[chosen] = own.name
        self.detail[chosen] = translated[own.detail]

    def place(self, detail: str | None) -> int:
        """Return the place of a detail in `texts`, where it is put if it is new."""
        if detail not in self.texts:
            self.texts.append(detail)
        return self.texts.index(detail)


PLACES = {name: place for place, name in enumerate(LedgerClass)}
"""The place of each class in the arrays of decisions."""
