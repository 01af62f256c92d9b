"""The checks of `[population]`, and of what is about it. Pure."""

from collections.abc import Sequence

from longlook.core.model import POPULATION, Claim, Population, Study
from longlook.core.problems import Problems, allowed

_WHOLE_PCT = 100.0
_ROUNDING_PCT = 1e-6


def strata_of(study: Study, claim: Claim) -> tuple[str, ...]:
    """Return the factor whose levels a claim is about all together, where it is about the population."""
    if study.population is None or claim.expected is None or claim.expected.below is None:
        return ()
    return (study.population.factor,)


def check_population(study: Study, problems: Problems) -> None:
    """Check that the shares are of all levels of a factor and together 100 %, and that nothing asks for a population
    where there is none.
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
