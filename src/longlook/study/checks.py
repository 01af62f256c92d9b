"""Checks between the parts of a study: names exist, levels differ, combinations can run."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations

from longlook.core import (
    BESIDE_MAIN,
    DOTS,
    MATRIX,
    POPULATION,
    Arm,
    Claim,
    Level,
    Population,
    Problems,
    Scalar,
    SettingError,
    Study,
    Verdict,
    allowed,
    link_of,
    live,
    names_in,
    stop_after_s,
    watched_s,
)
from longlook.study import laws
from longlook.study.arms import resolve_arm
from longlook.study.catalogue import Catalogue
from longlook.study.cells import cell_id, cells_of, labels_of
from longlook.study.claims import check_expected
from longlook.study.contrast_filter import CONTRAST
from longlook.study.expectations import check_expectations
from longlook.study.neighbourhood import check_ends, neighbourhood
from longlook.study.releases import check_releases
from longlook.study.resolve import Cell, cell_settings, resolve_conditions
from longlook.study.schema import MOST_CELLS
from longlook.study.settings import WORKLOAD_PREFIX

_WHOLE_PCT = 100.0
_ROUNDING_PCT = 1e-6


def check_study(study: Study, catalogue: Catalogue, problems: Problems) -> None:
    """Add to `problems` all that is wrong between the parts of a study.

    A check is left out if a part that it reads was dropped from the file, because it would report what is missing
    there under another name.
    """
    _check_size(study, problems)
    checks: Sequence[tuple[Callable[[], None], set[str]]] = (
        (lambda: _check_arms(study, problems), {"arms"}),
        (lambda: _check_factors(study, problems), {"factors", "arms"}),
        (lambda: _check_exclude(study, problems), {"factors", "exclude"}),
        (lambda: _check_metrics(study, catalogue, problems), {"metrics", "arms", "analysis"}),
        (lambda: _check_contrasts(study, problems), {"contrasts", "arms", "metrics"}),
        (lambda: _check_figure(study, problems), {"figure", "factors", "metrics"}),
        (lambda: _check_claims(study, problems), {"claims", "contrasts", "factors", "exclude"}),
        (lambda: _check_hypotheses(study, problems), {"hypotheses", "contrasts", "factors", "exclude"}),
        (lambda: check_expected(study, catalogue, problems), {"claims", "arms", "metrics"}),
        (lambda: check_population(study, problems), {"population", "factors", "exclude", "claims", "figure"}),
        (lambda: check_expectations(study, problems), {"expect", "arms", "factors", "timeout", "capture"}),
    )
    for check, parts in checks:
        if not parts & problems.dropped:
            check()
    _check_combinations(study, catalogue, problems)
    if study.around and not problems.lines:
        _check_around(study, catalogue, problems)
    if not problems.touch("arms", "defaults", "factors", "figure"):
        check_releases(study, catalogue, problems)


def _check_size(study: Study, problems: Problems) -> None:
    """Raise InputError at once if the levels make more cells than can be looked at one by one."""
    combinations_of_levels = math.prod(len(factor.levels) for factor in study.factors)
    if combinations_of_levels > MOST_CELLS:
        message = f"{combinations_of_levels} combinations of levels; allowed: at most {MOST_CELLS}, before exclude"
        problems.add("factors", message)
        problems.raise_if_any()


def _check_arms(study: Study, problems: Problems) -> None:
    if len(study.arms) < 2 and (study.contrasts or not study.expectations):
        names = ", ".join(arm.name for arm in study.arms) or "none"
        message = f"a comparison needs two arms or more, here: {names}; add a table [arms.NAME]"
        problems.add("arms", f"{message}, or a table [expect] in place of contrasts")


def _check_factors(study: Study, problems: Problems) -> None:
    for name in _repeated(factor.name for factor in study.factors):
        problems.add(f"factors.{name}", "two factors have this name")
    if any(factor.name == CONTRAST for factor in study.factors):
        problems.add(f"factors.{CONTRAST}", f"--only {CONTRAST}=NAME chooses comparisons: give the factor another name")
    for factor in study.factors:
        for label in _repeated(level.label for level in factor.levels):
            problems.add_value(f"factors.{factor.name}.levels", label, "two levels have this label")
        for first, second in combinations(factor.levels, 2):
            if first.sets and first.sets == second.sets and first.label != second.label:
                problems.add(f"factors.{factor.name}.levels", f"{first.label!r} and {second.label!r} are the same")
    keys = [
        (f"factors.{factor.name}", {key for level in factor.levels for key in level.sets}) for factor in study.factors
    ]
    setters = [*keys, *((f"arms.{arm.name}", set(arm.settings)) for arm in study.arms)]
    for (one, keys_of_one), (other, keys_of_other) in combinations(setters, 2):
        if one.startswith("factors."):  # arms may well set the same keys
            for key in sorted(keys_of_one & keys_of_other):
                problems.add(other, f"sets {key}, which {one} sets too: one of them must not")


def _check_exclude(study: Study, problems: Problems) -> None:
    for number, rule in enumerate(study.exclude):
        _check_labels(study, rule, f"exclude[{number}]", problems)
    if all(factor.levels for factor in study.factors) and next(cells_of(study), None) is None:
        problems.add("exclude", "leaves no cell: weaken a rule")


def _check_labels(study: Study, rule: Mapping[str, Iterable[str]], where: str, problems: Problems) -> None:
    """Check that the factors and levels that a rule or a claim names exist."""
    known = {factor.name: [level.label for level in factor.levels] for factor in study.factors}
    for name, labels in rule.items():
        if name not in known:
            problems.add(f"{where}.{name}", f"no factor {name!r}; {allowed(name, known)}")
            continue
        for label in labels:
            if label not in known[name]:
                problems.add_value(f"{where}.{name}", label, f"no such level; {allowed(label, known[name])}")


def _check_metrics(study: Study, catalogue: Catalogue, problems: Problems) -> None:
    for name in study.metrics:
        if name not in catalogue.metrics:
            problems.add_value("metrics", name, f"unknown metric; {allowed(name, catalogue.metrics)}")
    reference, arms = study.analysis.reference, [arm.name for arm in study.arms]
    if reference is not None and reference not in arms:
        problems.add_value("analysis.reference", reference, f"no such arm; {allowed(reference, arms)}")
    comparing = [name for name in study.metrics if name in catalogue.metrics and catalogue.metrics[name].compare]
    if comparing and reference is None:
        problems.add("analysis.reference", f"missing: {comparing[0]} compares every arm with one of them")
    for name in _repeated(study.metrics):
        problems.add_value("metrics", name, "listed twice")
    kind = catalogue.workloads.get(str(study.settings.get(f"{WORKLOAD_PREFIX}kind")))
    for name in study.metrics if kind is not None and kind.uploads else ():
        if name in catalogue.metrics and catalogue.metrics[name].of_answers:
            problems.add_value("metrics", name, "is about what the client receives, and here it uploads: leave it out")


def _check_contrasts(study: Study, problems: Problems) -> None:
    arms = [arm.name for arm in study.arms]
    for name in _repeated(contrast.name for contrast in study.contrasts):
        problems.add(f"contrasts.{name}", "two contrasts have this name")
    for contrast in study.contrasts:
        where = f"contrasts.{contrast.name}"
        for role, arm in (("baseline", contrast.baseline), ("contender", contrast.contender)):
            if arm not in arms:
                problems.add_value(f"{where}.{role}", arm, f"no such arm; {allowed(arm, arms)}")
        if contrast.baseline == contrast.contender:
            problems.add_value(f"{where}.contender", contrast.contender, "is the baseline too")
        if contrast.metric not in study.metrics:
            message = f"not among this study's metrics; {allowed(contrast.metric, study.metrics)}"
            problems.add_value(f"{where}.metric", contrast.metric, message)


def _check_figure(study: Study, problems: Problems) -> None:
    factors = [factor.name for factor in study.factors]
    placed = [study.figure.columns, *study.figure.rows]
    for key, names in (("figure.columns", placed[:1]), ("figure.rows", placed[1:])):
        for name in names:
            if name not in factors:
                problems.add_value(key, name, f"no such factor; {allowed(name, factors)}")
    for name in _repeated(placed):
        problems.add_value("figure", name, "placed twice")
    metric = study.figure.metric
    if metric and study.figure.kind not in (MATRIX, DOTS, POPULATION):
        kinds = f'kind = "{MATRIX}", "{DOTS}" or "{POPULATION}"'
        problems.add_value("figure.metric", metric, f"is for {kinds}; this figure is a {study.figure.kind}")
    elif metric and metric not in study.metrics:
        problems.add_value("figure.metric", metric, f"not among this study's metrics; {allowed(metric, study.metrics)}")
    for name in factors:
        if name not in placed:
            problems.add("figure", f"factor {name!r} is neither in columns nor in rows, so cells would overlap")


def _check_claims(study: Study, problems: Problems) -> None:
    contrasts = [contrast.name for contrast in study.contrasts]
    factors = [factor.name for factor in study.factors]
    existing = [labels_of(cell) for cell in cells_of(study)]
    for name in _repeated(claim.id for claim in study.claims):
        problems.add(f"claims.{name}", "claimed twice")
    for claim in study.claims:
        where = f"claims.{claim.id}"
        if claim.expected is None and claim.contrast not in contrasts:
            problems.add_value(
                "claims.contrast", claim.contrast, f"no such contrast; {allowed(claim.contrast, contrasts)}"
            )
        before = len(problems.lines)
        _check_labels(study, {name: (label,) for name, label in claim.cell.items()}, where, problems)
        own = [name for name in factors if name not in strata_of(study, claim)]
        if missing := [name for name in own if name not in claim.cell]:
            problems.add("claims.cell", f'names no level of {", ".join(missing)}: add cell = {{ {missing[0]} = "…" }}')
        elif len(problems.lines) == before and own == factors and dict(claim.cell) not in existing:
            problems.add(where, "this cell is excluded")
        _check_clip(claim, where, problems)


def _check_hypotheses(study: Study, problems: Problems) -> None:
    contrasts = [contrast.name for contrast in study.contrasts]
    existing = [labels_of(cell) for cell in cells_of(study)]
    for name in _repeated(each.id for each in study.hypotheses):
        problems.add(f"hypotheses.{name}", "stated twice")
    for each in study.hypotheses:
        where = f"hypotheses.{each.id}"
        if each.contrast not in contrasts:
            problems.add_value(
                f"{where}.contrast", each.contrast, f"no such contrast; {allowed(each.contrast, contrasts)}"
            )
        before = len(problems.lines)
        _check_labels(study, {name: (label,) for name, label in each.cell.items()}, f"{where}.cell", problems)
        if len(problems.lines) == before and not any(each.cell.items() <= cell.items() for cell in existing):
            problems.add(f"{where}.cell", "no cell has these levels: the study excludes them")
        if each.at_least_pct is not None and each.expect is Verdict.EQUIVALENT:
            problems.add(f"{where}.at_least", "belongs to better and worse: equivalent has the margin of the metric")


def _check_clip(claim: Claim, where: str, problems: Problems) -> None:
    clip = claim.clipped_at_pct
    if clip is not None and claim.effect_pct is not None and abs(claim.effect_pct) > clip:
        problems.add_value(where, claim.effect_pct, f"lies beyond clipped_at ({clip:g}%)")


def _check_combinations(study: Study, catalogue: Catalogue, problems: Problems) -> None:
    """Check the path and workload of every cell, and every arm in it.

    Settings that are wrong already are missing here, and would only come again as a wrong combination.
    """
    if problems.touch("factors", "workload") or f"{WORKLOAD_PREFIX}kind" not in study.settings:
        return
    path_is_sound = not problems.touch("network", *BESIDE_MAIN, "timeout")
    sound = [] if problems.touch("defaults") else [arm for arm in study.arms if not problems.touch(f"arms.{arm.name}")]
    for cell in cells_of(study):
        settings = cell_settings(study, cell)
        if path_is_sound:
            _check_conditions(study, cell, settings, catalogue, problems)
        for arm in sound:
            try:
                resolve_arm(arm, settings, catalogue)
            except SettingError as error:
                _report(error, arm, cell, {**settings, **arm.settings}, problems)


def _check_conditions(
    study: Study, cell: Cell, settings: Mapping[str, Scalar], catalogue: Catalogue, problems: Problems
) -> None:
    try:
        workload = resolve_conditions(settings, catalogue).workload
        for name, lasts_s in (
            ("duration", stop_after_s(workload)),
            ("watch", watched_s(workload)),
            ("length and drain together", live.lasts_s(workload)),
        ):
            if lasts_s is not None and lasts_s >= study.timeout_s:
                problems.add("timeout", f"must be above workload.{name}, here {lasts_s:g} s")
    except SettingError as error:
        _report(error, None, cell, settings, problems)


def _check_around(study: Study, catalogue: Catalogue, problems: Problems) -> None:
    """Check that what is drawn about every cell can be, and that each law of a table of its own draws something."""
    drawn: set[str] = set()
    for cell in cells_of(study):
        around = neighbourhood(study, cell_settings(study, cell), catalogue)
        drawn |= around.drawn_settings()
        try:
            check_ends(around, catalogue, ask_router=False)  # planning asks it, for the cells that are wanted
        except SettingError as error:
            problems.add(error.key, f"cell {cell_id(labels_of(cell))}: {error.message}")
    if study.around != laws.standard_laws(names_in(study.around)):
        for setting in study.around.keys() - drawn:
            needed = "a page of several objects" if setting == laws.ORDER else "a plain number above 0 for it"
            problems.add(f"around.{setting}", f"draws nothing: no cell has {needed}; leave it out")


def _report(
    error: SettingError, arm: Arm | None, cell: Cell, settings: Mapping[str, Scalar], problems: Problems
) -> None:
    if error.absent or error.key not in settings:  # or a default or preset has set it
        problems.add(error.key if arm is None else f"arms.{arm.name}.{error.key}", error.message)
    else:
        problems.add_value(_origin(error.key, arm, cell), settings[error.key], error.message)


def _origin(key: str, arm: Arm | None, cell: Mapping[str, Level]) -> str:
    """Return the place in the file that sets a key for this arm in this cell."""
    if arm is not None and key in arm.settings:
        return f"arms.{arm.name}.{key}"
    for factor, level in cell.items():
        if key in level.sets:
            return f"factors.{factor}.levels.{level.label}.{key}"
    if key.startswith(("network.", "workload.")) or link_of(key):
        return key
    return f"defaults.{key}"


def _repeated(names: Iterable[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]


def strata_of(study: Study, claim: Claim) -> tuple[str, ...]:
    """Return the factor whose levels a claim is about all together, if it is about the population."""
    if study.population is None or claim.expected is None or claim.expected.below is None:
        return ()
    return (study.population.factor,)


def check_population(study: Study, problems: Problems) -> None:
    """Check that the shares are of all levels of a factor and together 100 %, and that nothing asks for a population
    if there is none.
    """
    population = study.population
    if population is None:
        _check_none(study, problems)
        return
    levels = {factor.name: [level.label for level in factor.levels] for factor in study.factors}
    if population.factor not in levels:
        message = f"no such factor; {allowed(population.factor, levels)}"
        problems.add_value("population.factor", population.factor, message)
        return
    _check_shares(population, levels[population.factor], problems)
    for number, rule in enumerate(study.exclude):
        if population.factor in rule:
            problems.add(f"exclude[{number}]", f"leaves out a stratum of the population ({population.factor})")
    for claim in study.claims:
        if strata_of(study, claim) and population.factor in claim.cell:
            problems.add(f"claims.{claim.id}", f"is about the whole population: name no level of {population.factor}")


def _check_none(study: Study, problems: Problems) -> None:
    if study.figure.kind == POPULATION:
        problems.add("figure.kind", f"{POPULATION!r} needs a table [population] with factor, shares and source")
    for claim in study.claims:
        if claim.expected is not None and claim.expected.below is not None:
            problems.add(f"claims.{claim.id}", "`below` is about a population: add a table [population]")


def _check_shares(population: Population, labels: Sequence[str], problems: Problems) -> None:
    for label in population.shares:
        if label not in labels:
            problems.add_value("population.shares", label, f"no such level; {allowed(label, labels)}")
    if missing := [label for label in labels if label not in population.shares]:
        problems.add("population.shares", f"lacks {', '.join(missing)}: every level of the factor has a share")
    total = sum(population.shares.values())
    if abs(total - _WHOLE_PCT) > _ROUNDING_PCT:
        problems.add("population.shares", f"are {total:g} % together; they must be 100 %")
