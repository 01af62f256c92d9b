"""Users by the paths that they have, and by levels of a study's factors. Plain data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from longlook.analysis.stats.procedures import Floats

RTT, RATE, LOSS, MTU, BLOCKED = "rtt", "rate", "loss", "mtu", "blocked"
QUANTITIES: Mapping[str, str] = {RTT: "s", RATE: "bit/s", LOSS: "share of packets", MTU: "bytes", BLOCKED: "0 or 1"}
"""Quantities of a path that users and cells have, with their units here. `blocked`: 1 if no UDP passes."""


@dataclass(frozen=True)
class Users:
    """A population. Every array has an entry for each kind of user: a row of a file, a declared network, a drawn user.

    `weights` are shares of the population, together 1. `quantities` are of QUANTITIES; what is missing is not known.
    `labels` are networks by name, which a study's own levels may have. `shares` are factors whose levels are
    independent of everything else: factor → level → share. `blocked_share` is the share in which no UDP passes, if that
    is independent, too. `sampled` is the number of users from whom the shares were found, if they are a sample: a
    weighted one counts as many as Kish's effective size (Survey Sampling, 1965). None: the shares are declared.
    """

    title: str
    source: str
    weights: Floats
    quantities: Mapping[str, Floats]
    labels: tuple[str, ...] = ()
    shares: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    blocked_share: float | None = None
    sampled: float | None = None
    fallback_s: float | None = None
    keeps_outside: bool = False
    notes: Sequence[str] = ()

    @property
    def count(self) -> int:
        """The number of kinds of users."""
        return len(self.weights)


def whose_udp_passes(users: Users) -> Users:
    """Return the users whose UDP passes, as a population of their own."""
    passes = users.quantities.get(BLOCKED, np.zeros(users.count)) == 0
    total = users.weights[passes].sum()
    if passes.all() or not total > 0:
        return replace(users, blocked_share=None)
    return replace(
        users,
        weights=users.weights[passes] / total,
        quantities={name: values[passes] for name, values in users.quantities.items()},
        labels=tuple(label for label, is_open in zip(users.labels, passes, strict=False) if is_open),
        blocked_share=None,
        sampled=None if users.sampled is None else users.sampled * float(total),
    )


def kish(weights: Floats) -> float:
    """Return the effective size of a weighted sample: (Σw)²/Σw²."""
    return float(np.sum(weights) ** 2 / np.sum(weights**2))


Numbers = NDArray[np.int64]
