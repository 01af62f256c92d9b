"""A file of users → its users: declared networks, measurements, or users drawn from fitted marginals."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from longlook.analysis.population.people import BLOCKED, LOSS, QUANTITIES, RATE, RTT, Users, kish
from longlook.analysis.population.places import quantities_of
from longlook.analysis.population.tables import (
    HINT,
    KEY,
    WEIGHT,
    Measured,
    plain_key,
    read_measured,
    read_users_by_key,
)
from longlook.analysis.stats.copula import Marginal, NoCopulaError, draw
from longlook.analysis.stats.procedures import Floats
from longlook.core import InputError, Population, UnitError, allowed, units
from longlook.study import FittedTable, UsersFile, read_users_file

_HUNDRED = 100.0
_LEAST_LOSS = 1e-5
"""Added to a loss before its logarithm is taken, so that no loss has one."""


def read_users(path: Path) -> Users:
    """Return the users of a TOML file, or of a CSV file of measurements whose columns say what they are."""
    if path.suffix.lower() in (".csv", ".tsv"):
        measured = read_measured(path, {})
        return _of_measured(measured, path.name, f"Measurements in {path.name}")
    file = read_users_file(path)
    table = file.table
    if file.networks:
        users = _of_networks(file)
    elif table.measurements is not None:
        users = _of_file(file)
    elif table.fitted is not None:
        users = _of_fitted(file, table.fitted)
    else:  # read_users_file lets nothing else pass
        raise InputError(f"{path}: no users", HINT)
    return _completed(users, file)


def declared_users(population: Population) -> Users:
    """Return the users of a study's own table `[population]`: the levels of one factor by their shares."""
    shares = {label: share / _HUNDRED for label, share in population.shares.items()}
    return Users("the study's own population", population.source, np.ones(1), {}, shares={population.factor: shares})


def _of_networks(file: UsersFile) -> Users:
    known = [quantities_of(each.settings) for each in file.networks]
    names = [name for name in QUANTITIES if all(each.get(name) is not None for each in known)]
    weights = np.array([each.share_pct for each in file.networks]) / _HUNDRED
    return Users(
        file.table.title,
        file.table.source,
        weights,
        {name: np.array([each[name] for each in known], np.float64) for name in names},
        labels=tuple(each.label for each in file.networks),
        sampled=file.table.sampled,
    )


def _of_file(file: UsersFile) -> Users:
    table = file.table.measurements
    if table is None:
        raise InputError(f"{file.path}: no [measurements]", HINT)
    given = {RTT: table.rtt, RATE: table.rate, LOSS: table.loss, BLOCKED: table.blocked}
    columns = {name: text for name, text in {**given, WEIGHT: table.weight, KEY: table.key}.items() if text}
    place = file.path.parent / table.file
    measured = read_measured(place, columns, table.format, table.where)
    notes = []
    if table.format == "ndt7":
        notes.append("NDT7 measures throughput, which is at most the rate of the path.")
    if file.table.weights is not None:
        by_key = read_users_by_key(
            file.path.parent / file.table.weights.file, file.table.weights.key, file.table.weights.users
        )
        measured, note = _weighted(measured, by_key, place.name)
        notes.append(note)
    users = _of_measured(measured, file.table.title, file.table.source)
    return replace(users, notes=(*users.notes, *notes), sampled=file.table.sampled or users.sampled)


def _weighted(measured: Measured, by_key: Mapping[str, float], name: str) -> tuple[Measured, str]:
    """Return the measurements with as much weight for each key as it has users, and what that left out."""
    keys = [plain_key(key) for key in measured.keys]
    own = np.ones(len(keys)) if measured.weights is None else measured.weights
    totals: dict[str, float] = {}
    for key, weight in zip(keys, own, strict=True):
        totals[key] = totals.get(key, 0.0) + float(weight)
    factors = np.array([by_key.get(key, 0.0) / totals[key] if totals[key] else 0.0 for key in keys])
    weights = own * factors
    if not weights.sum() > 0:
        raise InputError(f"{name}: no row has a key of [weights], such as {measured.keys[0]!r}", HINT)
    everybody, met = sum(by_key.values()), sum(users for key, users in by_key.items() if key in totals)
    unknown = sum(key not in by_key for key in keys)
    note = (
        f"Rows are weighted by users: {met / everybody:.1%} of the {everybody:,.0f} users are in networks with a "
        f"measurement, and {unknown} rows are of networks without users in that table, which left them out."
    )
    return replace(measured, weights=weights), note


def _of_measured(measured: Measured, title: str, source: str) -> Users:
    count = len(measured.quantities[RTT])
    own = np.ones(count) if measured.weights is None else measured.weights
    notes = [f"{measured.rows:,} rows; read as {', '.join(measured.read_as)}."]
    notes += [f"{rows:,} rows are {reason}, and count for nobody." for reason, rows in measured.left_out.items()]
    return Users(title, source, own / own.sum(), measured.quantities, sampled=kish(own[own > 0]), notes=tuple(notes))


def _of_fitted(file: UsersFile, table: FittedTable) -> Users:
    given = {RTT: table.rtt, RATE: table.rate, **({LOSS: table.loss} if table.loss else {})}
    marginals = {name: _marginal(file, name, quantiles) for name, quantiles in given.items()}
    pairs = {_pair(file, text, tuple(marginals)): rank for text, rank in table.rank_correlation.items()}
    try:
        drawn, beyond = draw(marginals, pairs, table.users, table.seed)
    except NoCopulaError as error:
        raise InputError(
            f"{file.path.name}: fitted.rank_correlation: they contradict each other",
            "no three quantities have all of these; move one of them nearer to 0",
        ) from error
    quantities = {name: np.exp(values) for name, values in drawn.items()}
    if LOSS in quantities:
        quantities[LOSS] = np.maximum(quantities[LOSS] - _LEAST_LOSS, 0.0)
    independent = [f"{one} and {other}" for one, other in _all_pairs(marginals) if not _has(pairs, one, other)]
    notes = [f"{table.users:,} users, drawn by a Gaussian copula with seed {table.seed}."]
    if beyond:
        notes.append(f"{beyond:.1%} of the drawn values lie beyond the outermost quantiles, and are taken as these.")
    if independent:
        notes.append(f"No rank correlation is given of {', '.join(independent)}: they are taken as independent.")
    weights = np.full(table.users, 1 / table.users)
    return Users(
        file.table.title, file.table.source, weights, quantities, sampled=file.table.sampled, notes=tuple(notes)
    )


def _marginal(file: UsersFile, name: str, quantiles: Mapping[str, str]) -> Marginal:
    where = f"{file.path.name}: fitted.{name}"
    found = []
    for percent, text in quantiles.items():
        try:
            probability = float(percent.rstrip("% ")) / _HUNDRED
        except ValueError:
            probability = -1.0
        if not 0 < probability < 1:
            raise InputError(f"{where}: {percent!r} is no percentile", 'write for example 50 = "36ms"')
        found.append((probability, _on_scale(where, name, percent, text)))
    found.sort()
    if fall := next((pair for pair in pairwise(found) if pair[1][1] < pair[0][1] or pair[0][0] == pair[1][0]), None):
        low, high = (each[0] * _HUNDRED for each in fall)
        raise InputError(f"{where}: the value at {high:g} % is below the value at {low:g} %", "quantiles only rise")
    return found


def _on_scale(where: str, name: str, percent: str, text: str) -> float:
    """Return the logarithm of a value, which is the scale that is interpolated."""
    try:
        if name == RTT:
            value = units.parse_time(text) / 1e9
        elif name == RATE:
            value = float(units.parse_rate(text))
        else:
            value = float(units.parse_share(text)) + _LEAST_LOSS
    except UnitError as error:
        raise InputError(f"{where}.{percent} = {text!r}: {error}", HINT) from error
    if value <= 0:
        raise InputError(f"{where}.{percent} = {text!r}: must be above 0", HINT)
    return float(np.log(value))


def _pair(file: UsersFile, text: str, names: tuple[str, ...]) -> tuple[str, str]:
    parts = text.replace(",", " ").split()
    known = [f"{one} {other}" for one, other in _all_pairs(dict.fromkeys(names))]
    if len(parts) != 2 or len({*parts}) != 2 or not {*parts} <= {*names}:
        raise InputError(f"{file.path.name}: fitted.rank_correlation.{text!r}: {allowed(text, known)}", HINT)
    return parts[0], parts[1]


def _all_pairs(names: Mapping[str, object]) -> list[tuple[str, str]]:
    known = list(names)
    return [(one, other) for at, one in enumerate(known) for other in known[at + 1 :]]


def _has(pairs: Mapping[tuple[str, str], float], one: str, other: str) -> bool:
    return (one, other) in pairs or (other, one) in pairs


def _completed(users: Users, file: UsersFile) -> Users:
    """Return the users with what holds for all of them, and what is independent of their paths."""
    quantities: dict[str, Floats] = dict(users.quantities)
    for name, text in file.everyone.items():
        if name in quantities:
            raise InputError(f"{file.path.name}: everyone.{name}: each user has one already", "leave it out")
        found = quantities_of({"network.rtt": "1ms", "network.rate": "1Mbit", f"network.{name}": text})[name]
        if found is None:
            raise InputError(f"{file.path.name}: everyone.{name} = {text}: no single value", HINT)
        quantities[name] = np.full(users.count, found)
    if file.blocked_pct is not None and BLOCKED in quantities and file.table.networks == []:
        raise InputError(f"{file.path.name}: everyone.blocked: a column has it already", "leave one of them out")
    return replace(
        users,
        quantities=quantities,
        shares={name: {label: pct / _HUNDRED for label, pct in of.items()} for name, of in file.table.factors.items()},
        blocked_share=None if file.blocked_pct is None else file.blocked_pct / _HUNDRED,
        fallback_s=None if file.table.fallback is None else file.table.fallback.after,
        keeps_outside=file.table.outside == "nearest",
    )
