"""The cells of a study that stand for users: each user's nearest one, and the users whom no cell stands for.

A factor is met in one of four ways, in this order. Its levels have the labels of declared networks: by label. The users
have shares of its levels: by these, independent of all else. Its levels differ from each other in quantities that are
known of the users: by the nearest. None of these: it stays apart, with an answer for each of its levels.

Nearness is Euclidean, of logarithms of round trip, rate, MTU and loss; a loss has LEAST_LOSS added, below which losses
differ by little. UDP is blocked in both or in neither. A user is outside if a quantity lies beyond all cells that could
stand for the user by more than the factor BEYOND, or a loss by LOSS_BEYOND too.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from longlook.analysis.population.people import BLOCKED, LOSS, MTU, QUANTITIES, RATE, RTT, Numbers, Users
from longlook.analysis.stats.procedures import Floats
from longlook.core import InputError, Link, Scalar, SettingError, Study, allowed, trace_of
from longlook.network import DROPPING_AT_RANDOM, mean, settings
from longlook.study import cell_id, cells_of, labels_of

BEYOND = 2.0
LEAST_LOSS = 1e-3
LOSS_BEYOND = 5e-3
_USUAL_MTU = 1500.0
_OFF = "off"
_BLOCKS_UDP = frozenset({"udp", "any"})
_WORDS: Mapping[str, str] = {RTT: "the round trip", RATE: "the rate", LOSS: "the loss", MTU: "the MTU"}


@dataclass(frozen=True)
class Cell:
    """A cell with its levels, and the quantities of its path that are known."""

    cell_id: str
    labels: Mapping[str, str]
    quantities: Mapping[str, float | None]


@dataclass(frozen=True)
class Placing:
    """Users in the cells of one combination of the levels of factors that stay apart.

    `groups` are shares of the population, shape (groups,), together 1; `parts[g, c]` is the share of group g that cell
    c stands for, and the last column the share that is outside. Users of one group are placed alike.
    """

    apart: Mapping[str, str]
    cells: tuple[Cell, ...]
    groups: Floats
    parts: Floats  # (groups, cells + 1)
    reasons: Mapping[str, float]  # why users are outside → share of the population
    ratios: Mapping[str, tuple[float, float]]  # quantity → median and 95th percentile of the factor to the user's cell
    by: Mapping[str, str]  # factor → how it was met

    @property
    def weights(self) -> Floats:
        """The share of the population that each cell stands for, shape (cells,)."""
        found: Floats = (self.groups @ self.parts)[:-1]
        return found

    @property
    def outside(self) -> float:
        """The share of the population that no cell stands for."""
        return float((self.groups @ self.parts)[-1])


def quantities_of(path: Mapping[str, Scalar]) -> dict[str, float | None]:
    """Return the quantities of a path of settings in canonical form, each the mean over time, towards the client.

    A quantity is None if it has no single value: it is a trace, or a law without a single value.
    """
    link = settings.unchecked_link(path)
    down = link.down
    rate = next(
        (stage.parameters["rate_bps"] for stage in down if "rate_bps" in stage.parameters and stage.kind != "police"),
        None,
    )
    delays = [stage.parameters["delay_ns"] for side in (link.up, down) for stage in side if stage.kind == "delay"]
    known = [_mean(value) for value in delays]
    rtt = None if None in known else sum(each for each in known if each is not None) / 1e9
    mtu = next((stage.parameters["mtu_bytes"] for stage in down if stage.kind == "mtu"), _USUAL_MTU)
    blocked = any(
        stage.kind == "block" and stage.parameters["protocol"] in _BLOCKS_UDP
        for side in (link.up, down)
        for stage in side
    )
    return {RTT: rtt, RATE: _mean(rate), LOSS: _loss(link), MTU: _mean(mtu), BLOCKED: float(blocked)}


def _mean(value: object) -> float | None:
    return None if value is None or trace_of(value) is not None else float(mean(value))


def _loss(link: Link) -> float | None:
    """Return the mean share of packets that are lost at random towards the client."""
    passed = 1.0
    for stage in link.down:
        if stage.kind not in DROPPING_AT_RANDOM:
            continue
        given = stage.parameters
        if stage.kind == "gilbert_elliott":
            to_bad, to_good = float(given["good_to_bad"]), float(given["bad_to_good"])
            bad = to_bad / (to_bad + to_good)
            lost: float | None = (1 - bad) * float(given.get("loss_good", 0.0)) + bad * float(given.get("loss_bad", 1))
        else:
            lost = _mean(given["probability"])
            if lost is not None and stage.kind == "burst_loss":
                packets = int(given["packets"])
                lost = lost * packets / (1 + lost * (packets - 1))
        if lost is None:
            return None
        passed *= 1 - lost
    return 1 - passed


def cells_with_quantities(study: Study, ran: Sequence[str]) -> list[Cell]:
    """Return the cells of a study that are in `ran`, in the study's order."""
    found = []
    for levels in cells_of(study):
        labels = labels_of(levels)
        if (name := cell_id(labels)) not in ran:
            continue
        path = {key: value for key, value in study.settings.items() if key.startswith("network.")}
        for level in levels.values():
            path |= {key: value for key, value in level.sets.items() if key.startswith("network.")}
        try:
            quantities: Mapping[str, float | None] = quantities_of(path)
        except SettingError:  # the arms set the rest of the path
            quantities = dict.fromkeys(QUANTITIES)
        found.append(Cell(name, labels, quantities))
    return found


def place(users: Users, study: Study, cells: Sequence[Cell]) -> list[Placing]:
    """Return the users in the cells of a study, for each combination of levels of factors that stay apart.

    Raise InputError if the users have shares of what the study does not have, or if no factor meets them.
    """
    by = _ways(users, study, cells)
    if not any(way != "apart" for way in by.values()):
        known = ", ".join(by) or "none"
        raise InputError(
            f"{study.id} has nothing by which users differ (its factors: {known})",
            "run a study whose levels set network.rtt, network.rate or network.loss, or give shares: [factors.NAME]",
        )
    apart = [name for name, way in by.items() if way == "apart"]
    combinations = dict.fromkeys(tuple(cell.labels[name] for name in apart) for cell in cells)
    return [
        _placed(
            users,
            by,
            dict(zip(apart, labels, strict=True)),
            [cell for cell in cells if tuple(cell.labels[name] for name in apart) == labels],
        )
        for labels in combinations
    ]


def _ways(users: Users, study: Study, cells: Sequence[Cell]) -> dict[str, str]:
    levels = {factor.name: [level.label for level in factor.levels] for factor in study.factors}
    for name, shares in users.shares.items():
        if name not in levels:
            raise InputError(
                f"factors.{name}: no factor of {study.id}; {allowed(name, levels)}",
                "name a factor of the study, or leave it out",
            )
        if wrong := [label for label in shares if label not in levels[name]]:
            raise InputError(
                f"factors.{name}: {wrong[0]!r} is no level of it; {allowed(wrong[0], levels[name])}",
                f"the shares are of the levels of {name}",
            )
    known = [*(name for name in users.quantities), *([] if BLOCKED in users.quantities else [BLOCKED])]
    found = {}
    for name, labels in levels.items():
        if users.labels and {*users.labels} <= {*labels}:
            found[name] = "by name"
        elif name in users.shares:
            found[name] = "by its shares"
        elif _differs(name, cells, known):
            found[name] = "by the nearest"
        else:
            found[name] = "apart"
    return found


def _differs(name: str, cells: Sequence[Cell], known: Sequence[str]) -> bool:
    """Return whether the levels of a factor differ from each other in known quantities, all else alike."""
    groups: dict[tuple[str, ...], list[tuple[float | None, ...]]] = {}
    for cell in cells:
        others = tuple(label for factor, label in cell.labels.items() if factor != name)
        groups.setdefault(others, []).append(tuple(cell.quantities[quantity] for quantity in known))
    return all(
        len({*found}) == len(found) and not any(None in each for each in found) for found in groups.values()
    ) and any(len(found) > 1 for found in groups.values())


def _placed(users: Users, by: Mapping[str, str], apart: Mapping[str, str], cells: Sequence[Cell]) -> Placing:
    options = list(_options(users, by))
    reasons: dict[str, float] = {}
    chosen = np.empty((users.count, len(options)), np.int64)
    for at, (labels, blocks, share) in enumerate(options):
        chosen[:, at], why = _nearest(users, by, cells, labels, blocks=blocks)
        for reason, kinds in why.items():
            reasons[reason] = reasons.get(reason, 0.0) + share * float(users.weights[kinds].sum())
    alike, group = np.unique(chosen, axis=0, return_inverse=True)
    groups: Floats = np.bincount(group.ravel(), weights=users.weights, minlength=len(alike)).astype(np.float64)
    parts = np.zeros((len(alike), len(cells) + 1))
    for at, (_, _, share) in enumerate(options):
        np.add.at(parts, (np.arange(len(alike)), alike[:, at]), share)
    first = chosen[:, 0]
    return Placing(apart, tuple(cells), groups, parts, reasons, _ratios(users, cells, first), by)


def _options(users: Users, by: Mapping[str, str]) -> Iterator[tuple[dict[str, str], bool, float]]:
    """Yield each combination of what is users' paths do not decide: levels, whether UDP is blocked, its share."""
    names = [name for name, way in by.items() if way == "by its shares"]
    blocked = users.blocked_share or 0.0
    for blocks, share in ((False, 1 - blocked), (True, blocked)):
        if share == 0:
            continue
        for labels in product(*(users.shares[name].items() for name in names)):
            part = share
            for _, own in labels:
                part *= own
            yield {name: label for name, (label, _) in zip(names, labels, strict=True)}, blocks, part


def _nearest(
    users: Users, by: Mapping[str, str], cells: Sequence[Cell], labels: Mapping[str, str], *, blocks: bool
) -> tuple[Numbers, dict[str, NDArray[np.bool_]]]:
    """Return the number of each user's cell, `len(cells)` for those outside, and who is outside for each reason."""
    distances = np.zeros((users.count, len(cells)))
    fits = np.array([all(cell.labels[name] == label for name, label in labels.items()) for cell in cells])
    possible = np.broadcast_to(fits, distances.shape).copy()
    for name in (name for name, way in by.items() if way == "by name"):
        own = np.array([cell.labels[name] for cell in cells])
        possible &= np.array(users.labels)[:, None] == own[None, :]
    blocked = np.maximum(users.quantities.get(BLOCKED, np.zeros(users.count)), float(blocks))
    known_blocked = [cell.quantities[BLOCKED] for cell in cells]
    if None not in known_blocked and not _only_by_name(by):
        possible &= np.array(known_blocked, np.float64)[None, :] == blocked[:, None]
    why: dict[str, NDArray[np.bool_]] = {}
    lost: NDArray[np.bool_] = np.asarray(~possible.any(axis=1), np.bool_)
    if lost.any():
        why["no cell has UDP blocked" if (lost & (blocked > 0)).any() else "no cell has their levels"] = lost
    outside: NDArray[np.bool_] = np.asarray(lost, np.bool_).copy()
    for name in () if users.labels and "by name" in by.values() else (RTT, RATE, LOSS, MTU):
        values = users.quantities.get(name)
        places = [cell.quantities[name] for cell in cells]
        if values is None or any(each is None for each in places):
            continue
        own = np.array(places, np.float64)
        distances += (_scaled(name, values)[:, None] - _scaled(name, own)[None, :]) ** 2
        if not users.keeps_outside and name != MTU:
            for side, beyond in _beyond(name, values, own, possible):
                newly = np.asarray(beyond & ~outside, np.bool_)
                if newly.any():
                    why[f"{_WORDS[name]} is {side} every cell's"] = newly
                outside = np.asarray(outside | beyond, np.bool_)
    chosen: Numbers = np.where(possible, distances, np.inf).argmin(axis=1)
    chosen[outside] = len(cells)
    return chosen, why


def _only_by_name(by: Mapping[str, str]) -> bool:
    """Return whether declared networks alone decide: whether UDP is blocked is then a part of the network."""
    return "by name" in by.values() and not any(way == "by the nearest" for way in by.values())


def _scaled(name: str, values: Floats) -> Floats:
    found: Floats = np.log2(values + LEAST_LOSS if name == LOSS else np.maximum(values, 1e-9))
    return found


def _beyond(
    name: str, values: Floats, own: Floats, possible: NDArray[np.bool_]
) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Yield who lies below and who above all cells that could stand for them."""
    lowest = np.where(possible, own[None, :], np.inf).min(axis=1)
    highest = np.where(possible, own[None, :], -np.inf).max(axis=1)
    more = LOSS_BEYOND if name == LOSS else 0.0
    some = possible.any(axis=1)
    if name != LOSS:
        yield "below", some & (values * BEYOND < lowest)
    yield "above", some & (values > highest * BEYOND + more)


def _ratios(users: Users, cells: Sequence[Cell], chosen: Numbers) -> dict[str, tuple[float, float]]:
    """Return by which factor users' round trips and rates differ from their cells'."""
    inside = chosen < len(cells)
    found = {}
    for name in (RTT, RATE):
        values = users.quantities.get(name)
        own = np.array([cell.quantities[name] for cell in cells], np.float64)
        if values is None or not inside.any() or not np.isfinite(own).all():
            continue
        apart = np.exp(np.abs(np.log(values[inside] / own[chosen[inside]])))
        order = np.argsort(apart)
        shares = np.cumsum(users.weights[inside][order])
        at = [int(np.searchsorted(shares, level * shares[-1])) for level in (0.5, 0.95)]
        middle, far = (float(apart[order][min(number, len(order) - 1)]) for number in at)
        found[name] = (middle, far)
    return found
