"""Files of populations of users (TOML): networks by share, measurements, or fitted marginals. Shape and settings alone.

docs/guide/decide.md has the format. `longlook.analysis.population` reads the measurements themselves.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from longlook.core import InputError, Problems, Scalar, SettingError, allowed, read_toml, units
from longlook.network import settings
from longlook.study.networks import parse_network
from longlook.study.schema import Label, Percent, SchemaVersion, Seconds, Table, Text, is_label, parse_table

HINT = "docs/guide/decide.md has the format of a file of users"
WHOLE_PCT = 100.0
_TOLERANCE_PCT = 1e-6
_MOST_NETWORKS = 1_000
_MOST_USERS = 10_000_000
_LABEL, _SHARE = "label", "share"
_QUANTILES = 2
"""The least number of quantiles of a marginal."""


class MeasurementsTable(Table):
    """`[measurements]`: a CSV file, and the column of each quantity as `NAME` or `NAME:UNIT`."""

    file: Text
    format: Literal["ndt7", "columns"] | None = None
    rtt: Text | None = None
    rate: Text | None = None
    loss: Text | None = None
    blocked: Text | None = None
    weight: Text | None = None
    key: Text | None = None
    where: dict[str, str] = Field(default_factory=dict)


class WeightsTable(Table):
    """`[weights]`: a second file that says how many users stand behind each `key` of the measurements."""

    file: Text
    key: Text
    users: Text


class FittedTable(Table):
    """`[fitted]`: quantiles of each quantity by percent, and rank correlations of pairs (Spearman)."""

    users: Annotated[int, Field(ge=100, le=_MOST_USERS)] = 10_000
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1
    rtt: Annotated[dict[str, Text], Field(min_length=_QUANTILES)]
    rate: Annotated[dict[str, Text], Field(min_length=_QUANTILES)]
    loss: Annotated[dict[str, Text], Field(min_length=_QUANTILES)] | None = None
    rank_correlation: dict[str, Annotated[float, Field(gt=-1, lt=1)]] = Field(default_factory=dict)


class FallbackTable(Table):
    """`[fallback]`: how long a client waits for QUIC before it takes TCP, if the measured clients have no fallback."""

    after: Seconds


class UsersTable(Table):
    """A whole file."""

    schema_: Annotated[SchemaVersion, Field(alias="schema")]
    title: Label
    source: Text
    sampled: Annotated[int, Field(ge=1, le=_MOST_USERS)] | None = None
    networks: Annotated[list[dict[str, Any]], Field(max_length=_MOST_NETWORKS)] = Field(default_factory=list)
    measurements: MeasurementsTable | None = None
    weights: WeightsTable | None = None
    fitted: FittedTable | None = None
    everyone: dict[str, Any] = Field(default_factory=dict)
    factors: dict[str, dict[str, Percent]] = Field(default_factory=dict)
    fallback: FallbackTable | None = None
    outside: Literal["leave out", "nearest"] = "leave out"


@dataclass(frozen=True)
class NetworkShare:
    """The share of the users on one network, in %, with its settings by dotted key, in canonical form."""

    label: str
    share_pct: float
    settings: Mapping[str, Scalar]


@dataclass(frozen=True)
class UsersFile:
    """A checked file of users: `networks`, or `table.measurements`, or `table.fitted` has the paths of the users."""

    path: Path
    table: UsersTable
    networks: tuple[NetworkShare, ...]
    everyone: Mapping[str, Scalar]  # rtt, rate, loss, mtu: texts with units
    blocked_pct: float | None  # of everyone, whatever else their paths are


def read_users_file(path: Path) -> UsersFile:
    """Return a file of users; InputError with all that is wrong with it, one problem a line."""
    problems = Problems(path.name, HINT)
    table = parse_table(UsersTable, read_toml(path), problems)
    problems.raise_if_any()
    if table is None:
        raise InputError(f"{path}: no file of users", HINT)
    kinds = [name for name in ("networks", "measurements", "fitted") if getattr(table, name)]
    if len(kinds) != 1:
        found = " and ".join(f"[{name}]" for name in kinds) or "none"
        problems.add("networks", f"one of [[networks]], [measurements] and [fitted] is needed; the file has {found}")
    if table.weights is not None and (table.measurements is None or table.measurements.key is None):
        problems.add("weights", "needs a `key` in [measurements]: the column that both files have")
    networks = _networks(table, problems)
    everyone, blocked_pct = _everyone(table, problems)
    for name, shares in table.factors.items():
        _check_whole(f"factors.{name}", shares, problems)
    problems.raise_if_any()
    return UsersFile(path, table, networks, everyone, blocked_pct)


def _networks(table: UsersTable, problems: Problems) -> tuple[NetworkShare, ...]:
    found: dict[str, NetworkShare] = {}
    for number, entry in enumerate(table.networks, 1):
        label, where = entry.get(_LABEL), f"networks[{number}]"
        if not is_label(label):
            problems.add(f"{where}.label", "missing: a line of text that names the network")
            continue
        where = f"networks.{label}"
        if label in found:
            problems.add(where, "stands twice: give each network a label of its own")
        share_pct = _share(entry.get(_SHARE), where, problems)
        own = {key: value for key, value in entry.items() if key not in (_LABEL, _SHARE)}
        made = _settings(own, where, problems)
        if share_pct is not None and made is not None:
            found[label] = NetworkShare(label, share_pct, made)
    if found and len(found) == len(table.networks):
        _check_whole("networks", {label: each.share_pct for label, each in found.items()}, problems)
    return tuple(found.values())


def _share(value: object, where: str, problems: Problems) -> float | None:
    if value is None:
        problems.add(f"{where}.share", 'missing: write for example share = "12%"')
        return None
    try:
        return float(units.parse_share(value) * 100)
    except units.UnitError as error:
        problems.add_value(f"{where}.share", value, str(error))
        return None


def _settings(own: Mapping[str, Any], where: str, problems: Problems) -> dict[str, Scalar] | None:
    """Return the settings of a network by dotted key; None if one of them is wrong, or they make no path."""
    made: dict[str, Scalar] = {}
    begun = len(problems.lines)
    for name, value in own.items():
        if name == "on":
            try:
                made |= {key: settings.SETTINGS[key](item) for key, item in parse_network(str(value)).items()}
            except (InputError, KeyError, units.UnitError) as error:
                problems.add_value(f"{where}.on", value, str(getattr(error, "message", error)))
            continue
        key = f"network.{name}"
        if key not in settings.SETTINGS:
            known = [each.removeprefix("network.") for each in settings.SETTINGS]
            problems.add_value(f"{where}.{name}", value, f"no setting of a network; {allowed(name, known)}")
            continue
        try:
            made[key] = settings.SETTINGS[key](value)
        except units.UnitError as error:
            problems.add_value(f"{where}.{name}", value, str(error))
    if len(problems.lines) > begun:
        return None
    try:
        settings.unchecked_link(made)
    except SettingError as error:
        problems.add(f"{where}.{error.key.removeprefix('network.')}", error.message)
        return None
    return made


def _everyone(table: UsersTable, problems: Problems) -> tuple[dict[str, Scalar], float | None]:
    made: dict[str, Scalar] = {}
    blocked_pct = None
    for name, value in table.everyone.items():
        where = f"everyone.{name}"
        if name == "blocked":
            blocked_pct = _share(value, "everyone.blocked", problems)
        elif name not in EVERYONE:
            problems.add_value(where, value, f"unknown; {allowed(name, (*EVERYONE, 'blocked'))}")
        else:
            try:
                made[name] = settings.SETTINGS[f"network.{name}"](value)
            except units.UnitError as error:
                problems.add_value(where, value, str(error))
    return made, blocked_pct


EVERYONE = ("rtt", "rate", "loss", "mtu")
"""Quantities that may hold for every user, if the file has none for each."""


def _check_whole(where: str, shares: Mapping[str, float], problems: Problems) -> None:
    total = sum(shares.values())
    if abs(total - WHOLE_PCT) > _TOLERANCE_PCT:
        rest = WHOLE_PCT - total
        listed = ", ".join(f"{label} {share:g} %" for label, share in list(shares.items())[:12])
        fix = f"{abs(rest):g} points are {'missing' if rest > 0 else 'too many'}"
        problems.add(where, f"the shares are {total:g} % together, not 100 %: {fix} ({listed})")
