"""Networks that stand for many users: clusters of round trip, rate and loss, in logarithms (weighted k-means).

The first centre is the user nearest to the weighted mean; each further one is the user farthest from all centres before
it (Gonzalez, Theoretical Computer Science 38, 1985). The ends of the population so get cells of their own. Lloyd's
iterations follow. Centres are rounded to two digits, as a study states networks.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from longlook.analysis.population.people import LOSS, RATE, RTT, Users
from longlook.analysis.population.places import LEAST_LOSS
from longlook.analysis.stats.procedures import Floats
from longlook.core import InputError, Scalar

_ITERATIONS = 100
_LEAST_SHOWN_LOSS = 5e-4
_SECOND_NS = 1e9
FASTEST_BPS = 200e6
"""The fastest link of a cell, as the link emulator has it (docs/reference/link.md)."""

Network = tuple[str, dict[str, Scalar]]
"""A label and settings by dotted key."""


def as_fast_as_links(users: Users) -> Users:
    """Return the users with rates that a link can have; a note says how many had more."""
    rate = users.quantities.get(RATE)
    if rate is None or not (rate > FASTEST_BPS).any():
        return users
    share = float(users.weights[rate > FASTEST_BPS].sum())
    note = f"{share:.1%} have more than {FASTEST_BPS / 1e6:g} Mbit/s, and count as if they had that."
    quantities = {**users.quantities, RATE: np.minimum(rate, FASTEST_BPS)}
    return replace(users, quantities=quantities, notes=(*users.notes, note))


def networks_for(users: Users, most: int) -> list[Network]:
    """Return at most `most` networks that stand for the users, from the least round trip to the largest.

    InputError if the users have no round trip or no rate.
    """
    if RTT not in users.quantities or RATE not in users.quantities:
        raise InputError("the users have no round trip or no rate", "name both: everyone.rtt, or a column of their own")
    loss = users.quantities.get(LOSS, np.zeros(users.count))
    points = np.log2(np.column_stack([users.quantities[RTT], users.quantities[RATE], loss + LEAST_LOSS]))
    centres = np.exp2(_centres(points, users.weights, most))
    found: dict[str, dict[str, Scalar]] = {}
    for rtt_s, rate_bps, lossy in sorted(centres.tolist()):
        lost = lossy - LEAST_LOSS
        settings: dict[str, Scalar] = {
            "network.rtt": f"{_rounded(rtt_s * _SECOND_NS / 1e6):g}ms",
            "network.rate": f"{_rounded(rate_bps / 1e3):.0f}kbit",
            "network.loss": f"{_rounded(100 * lost):g}%" if lost >= _LEAST_SHOWN_LOSS else "0%",
        }
        found.setdefault(", ".join(str(value) for value in settings.values()), settings)
    return list(found.items())


def _centres(points: Floats, weights: Floats, most: int) -> Floats:
    mean = np.average(points, axis=0, weights=weights)
    chosen: list[int] = [int(np.argmin(((points - mean) ** 2).sum(axis=1)))]
    far = ((points - points[chosen[0]]) ** 2).sum(axis=1)
    while len(chosen) < most and far.max() > 0:
        chosen.append(int(np.argmax(far)))
        far = np.minimum(far, ((points - points[chosen[-1]]) ** 2).sum(axis=1))
    centres = points[chosen]
    for _ in range(_ITERATIONS):
        nearest = np.stack([((points - centre) ** 2).sum(axis=1) for centre in centres]).argmin(axis=0)
        moved = np.stack([_mean(points, weights, nearest == at, centres[at]) for at in range(len(centres))])
        if np.array_equal(moved, centres):
            break
        centres = moved
    return centres


def _mean(points: Floats, weights: Floats, own: Sequence[bool] | np.ndarray, before: Floats) -> Floats:
    chosen = np.asarray(own)
    total = weights[chosen].sum()
    found: Floats = (weights[chosen] @ points[chosen]) / total if total > 0 else before
    return found


def _rounded(value: float) -> float:
    return float(f"{value:.2g}")
