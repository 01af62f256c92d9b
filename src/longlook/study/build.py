"""From the tables of a study file to a Study: settings in canonical form, levels and claims spelt out."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from longlook.core import (
    BEHIND,
    SECOND,
    Analysis,
    Arm,
    Capture,
    Contrast,
    Expectation,
    Factor,
    Figure,
    Hypothesis,
    Level,
    Population,
    Problems,
    Scalar,
    SettingError,
    Stopping,
    Study,
    Verdict,
    WorkloadKind,
    allowed,
    flatten,
    link_of,
    names_in,
)
from longlook.network import settings as network
from longlook.study import laws
from longlook.study.catalogue import Catalogue
from longlook.study.claims import claims
from longlook.study.expectations import EXPECT, expectations, split_expected
from longlook.study.flow_groups import flow_setting
from longlook.study.schema import LABEL, STRATA, ContrastTable, FactorTable, StudyTable, is_label
from longlook.study.settings import (
    ARM_CONDITIONS,
    ENDPOINT_KEYS,
    KNOB_PREFIXES,
    SERVER_CONFIG,
    WORKLOAD_PREFIX,
    endpoint_setting,
    is_flow_setting,
    network_setting,
    parse_config,
    short_name,
    workload_defaults,
    workload_setting,
)

MOST_DECIDING = 40
"""The default of `max_rounds`."""


def build_study(study_id: str, table: StudyTable, catalogue: Catalogue, problems: Problems) -> Study:
    """Return the study of a well-formed file; a value that does not fit is left out and added to `problems`."""
    kind = _workload_kind(table, catalogue, problems)
    contrasts = [] if "contrasts" in problems.dropped else table.contrasts  # dropped keys would be reported as missing
    published = [] if "claims" in problems.dropped else table.claims
    expected: list[Expectation] = [*expectations(flatten(table.expect), EXPECT, catalogue, problems)]
    factors = tuple(_factor(entry, kind, problems) for entry in table.factors) or (_only_factor(study_id),)
    figure, people = table.figure, table.population
    rounds, stopping = rounds_of(table, problems)
    arms = tuple(_arm(name, entry, kind, problems) for name, entry in table.arms.items())
    expected += _expected_of_arms(table, catalogue, problems)
    expected += _expected_of_levels(table, catalogue, problems)
    settings = _settings(table, kind, problems)
    links = names_in([*settings, *(key for factor in factors for level in factor.levels for key in level.sets)])
    return Study(
        id=study_id,
        title=table.title,
        question=table.question,
        arms=arms,
        factors=factors,
        exclude=tuple(
            {name: (labels,) if isinstance(labels, str) else tuple(labels) for name, labels in entry.items()}
            for entry in table.exclude
        ),
        settings=settings,
        rounds=rounds,
        seed=table.seed,
        timeout_s=table.timeout,
        retries_when_invalid=table.retries_when_invalid,
        metrics=tuple(table.metrics),
        contrasts=tuple(contrast for entry in contrasts for contrast in _contrasts(entry, table, problems)),
        claims=tuple(claim for entry in published for claim in claims(entry, problems)),
        hypotheses=tuple(
            Hypothesis(entry.id, entry.contrast, entry.cell, Verdict(entry.expect), entry.at_least, entry.because or "")
            for entry in table.hypotheses
        ),
        analysis=Analysis(
            alpha=table.analysis.alpha,
            confidence=table.analysis.confidence,
            equivalence_margin_pct=table.analysis.equivalence_margin,
            correction=table.analysis.correction,
            min_rounds=table.analysis.min_rounds,
            reference=table.analysis.reference,
        ),
        capture=Capture(**table.capture.model_dump()),
        figure=Figure(figure.columns, tuple(figure.rows), figure.kind, figure.metric or "")
        if figure
        else _plain_figure(factors),
        source=table.source,
        notes=table.notes,
        around=_around(table.around, links, problems),
        stopping=stopping,
        loss_strata=table.losses == STRATA,
        population=None if people is None else Population(people.factor, people.shares, people.source),
        expectations=tuple(expected),
    )


def _only_factor(study_id: str) -> Factor:
    """Return the factor of a scenario that varies nothing: its one cell has the study's name."""
    return Factor("scenario", (Level(study_id, {}),))


def _expected_of_arms(table: StudyTable, catalogue: Catalogue, problems: Problems) -> Iterator[Expectation]:
    for name, entry in table.arms.items():
        _, expected = split_expected(flatten(entry))
        yield from expectations(expected, f"arms.{name}.{EXPECT}", catalogue, problems, arm=name)


def _expected_of_levels(table: StudyTable, catalogue: Catalogue, problems: Problems) -> Iterator[Expectation]:
    for factor in table.factors:
        for number, level in enumerate(factor.levels):
            if isinstance(level, Mapping) and is_label(label := level.get("label")):
                _, expected = split_expected(flatten(level))
                where = f"factors.{factor.name}.levels[{number}].{EXPECT}"
                yield from expectations(expected, where, catalogue, problems, levels={factor.name: label.strip()})


def _around(given: Any, links: Iterable[str], problems: Problems) -> dict[str, str]:
    """Return the law of each setting that rounds draw, in the order of `laws.SETTINGS`; `links`: the further ones."""
    if given == laws.STANDARD:
        return laws.standard_laws(links)
    if given in (None, laws.NONE):
        return {}
    if not isinstance(given, Mapping):
        message = (
            f'{allowed(given, (laws.STANDARD, laws.NONE))}; or a table of laws, for example network.rtt = "uniform 5%"'
        )
        problems.add_value("around", given, message)
        return {}
    found: dict[str, str] = {}
    for setting, value in flatten(given).items():
        try:
            found[setting] = laws.law(setting, value)
        except SettingError as error:
            problems.add_value(error.key, value, error.message)
    return {setting: found[setting] for setting in laws.SETTINGS if setting in found}


def _plain_figure(factors: tuple[Factor, ...]) -> Figure:
    """Return a figure with the last factor across and the others down."""
    return Figure(factors[-1].name, tuple(factor.name for factor in factors[:-1]))


def _workload_kind(table: StudyTable, catalogue: Catalogue, problems: Problems) -> WorkloadKind | None:
    if "workload" in problems.dropped:
        return None
    if "kind" not in table.workload:
        problems.add("workload.kind", f"missing; {allowed('', catalogue.workloads)}")
        return None
    name = table.workload["kind"]
    if not isinstance(name, str) or name not in catalogue.workloads:
        problems.add_value("workload.kind", name, f"unknown workload; {allowed(name, catalogue.workloads)}")
        return None
    return catalogue.workloads[name]


def _settings(table: StudyTable, kind: WorkloadKind | None, problems: Problems) -> dict[str, Scalar]:
    settings: dict[str, Scalar] = {}  # of the network only the file's own settings: a preset comes below them
    if kind is not None:
        settings.update({f"{WORKLOAD_PREFIX}kind": kind.name, **workload_defaults(kind)})
    given = {
        **flatten(table.network, "network."),
        **flatten(table.behind, f"{BEHIND}."),
        **flatten(table.second, f"{SECOND}."),
        **{key: value for key, value in flatten(table.workload, WORKLOAD_PREFIX).items() if key != "workload.kind"},
    }
    seen: dict[str, str] = {}
    for key, value in given.items():
        _put(settings, seen, key, value, kind, problems, key)
    for key, value in flatten(table.defaults).items():
        _put(settings, seen, key, value, kind, problems, f"defaults.{key}", endpoint_only=True)
    return settings


def _arm(name: str, entry: Mapping[str, Any], kind: WorkloadKind | None, problems: Problems) -> Arm:
    label = entry.get("label", name)
    if not is_label(label):
        problems.add_value(f"arms.{name}.label", label, f"must be {LABEL}")
    settings: dict[str, Scalar] = {}
    own, _ = split_expected(flatten({key: value for key, value in entry.items() if key != "label"}))
    for key, value in own.items():
        _put(settings, {}, key, value, kind, problems, f"arms.{name}.{key}", endpoint_only=True)
    config = parse_config(settings.get(SERVER_CONFIG))
    return Arm(name, str(label) if config is None else f"{label} ({config.label})", settings)


def _factor(entry: FactorTable, kind: WorkloadKind | None, problems: Problems) -> Factor:
    levels = []
    for number, given in enumerate(entry.levels):
        where = f"factors.{entry.name}.levels[{number}]"
        if isinstance(given, Mapping):
            flat, _ = split_expected(flatten({key: value for key, value in given.items() if key != "label"}))
            label = given.get("label")
            if not flat:
                problems.add(where, 'sets nothing: write for example { label = "slow", "network.rate" = "1Mbit" }')
        elif entry.sets is None:
            problems.add_value(
                where, given, f"factors.{entry.name}.sets is missing: it names the key that the level sets"
            )
            continue
        else:
            flat, label = {entry.sets: given}, str(given).lower() if isinstance(given, bool) else str(given)
        if not is_label(label):
            problems.add(f"{where}.label", f"missing: a level that is a table needs a label: {LABEL}")
            continue
        levels.append(Level(label.strip(), _level_sets(where, flat, kind, problems)))
    return Factor(entry.name, tuple(levels))


def _level_sets(
    where: str, flat: Mapping[str, Any], kind: WorkloadKind | None, problems: Problems
) -> dict[str, Scalar]:
    sets: dict[str, Scalar] = {}
    seen: dict[str, str] = {}
    for key, value in flat.items():
        _put(sets, seen, key, value, kind, problems, f"{where}.{key}")
    return sets


def _put(
    into: dict[str, Scalar],
    seen: dict[str, str],
    key: str,
    value: object,
    kind: WorkloadKind | None,
    problems: Problems,
    where: str,
    *,
    endpoint_only: bool = False,
) -> None:
    """Add a setting in canonical form, or the problem with it; `seen` maps canonical keys to keys as written."""
    if key.startswith(WORKLOAD_PREFIX) and kind is None and not endpoint_only:
        return  # an unknown kind has been reported, and its parameters cannot be checked
    try:
        canonical_key, canonical_value = _canonical(key, value, kind, endpoint_only=endpoint_only)
    except SettingError as error:
        problems.add_value(where, value, error.message)
        return
    if canonical_key in seen:
        problems.add_value(where, value, f"sets the same as {seen[canonical_key]}")
    seen[canonical_key] = key
    into[canonical_key] = canonical_value


def _canonical(key: str, value: object, kind: WorkloadKind | None, *, endpoint_only: bool) -> tuple[str, Scalar]:
    if key in ARM_CONDITIONS:
        return key, network_setting(key, value)
    if is_flow_setting(key):
        if kind is not None and not kind.competes and not kind.plays:
            raise SettingError(key, f"workload {kind.name} has one flow; several compete in compete and video")
        return key, flow_setting(key, value)
    if endpoint_only or key in ENDPOINT_KEYS or key.startswith(KNOB_PREFIXES):
        return key, endpoint_setting(key, value)
    if key.startswith("network.") or link_of(key):
        return key, network_setting(key, value)
    if key == f"{WORKLOAD_PREFIX}kind":
        raise SettingError(key, "one study has one kind of workload: set it under [workload]")
    if kind is not None and key.startswith(WORKLOAD_PREFIX):
        return workload_setting(kind, key, value)
    parameters = [] if kind is None else [f"{WORKLOAD_PREFIX}{short_name(name)}" for name in kind.parameters]
    known = [*network.SETTINGS, *parameters, *ENDPOINT_KEYS, *(f"{prefix}NAME" for prefix in KNOB_PREFIXES)]
    raise SettingError(key, f"unknown setting; {allowed(key, known)}")


def _contrasts(entry: ContrastTable, table: StudyTable, problems: Problems) -> list[Contrast]:
    metric = table.metrics[0] if entry.metric is None else entry.metric
    if entry.neighbours is None:
        if entry.baseline is None or entry.contender is None:
            problems.add(f"contrasts.{entry.name}", "missing: baseline and contender, or neighbours")
            return []
        return [Contrast(entry.name, entry.baseline, entry.contender, metric, entry.family or "")]
    if entry.baseline is not None or entry.contender is not None:
        problems.add(f"contrasts.{entry.name}", "has neighbours, so it must not have baseline or contender")
    arms = list(table.arms) if entry.neighbours == "all" else list(entry.neighbours)
    if len(arms) < 2:
        problems.add(f"contrasts.{entry.name}.neighbours", "must name two arms or more")
    return [
        Contrast(f"{entry.name}: {before} → {after}", before, after, metric, entry.family or entry.name)
        for before, after in pairwise(arms)
    ]


def rounds_of(table: StudyTable, problems: Problems) -> tuple[int, Stopping | None]:
    """Return the largest number of rounds, and the rule that ends them earlier, if there is one."""
    if isinstance(table.rounds, int):
        if table.max_rounds is not None:
            problems.add_value("max_rounds", table.max_rounds, 'has no effect without rounds = "decide"')
        return table.rounds, None
    most = MOST_DECIDING if table.max_rounds is None else table.max_rounds
    if most < table.analysis.min_rounds:
        problems.add_value(
            "max_rounds", most, f"a verdict needs analysis.min_rounds = {table.analysis.min_rounds} or more"
        )
    return most, Stopping()
