"""Compares the newest declared version of each stack with the newest one that its registry has."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from longlook.core import InputError, MachineError, Stack, is_build, registry
from longlook.provision.registries.declared import registries
from longlook.provision.registries.registry import Registry, numbers_of, releases

_AT_ONCE = 4


@dataclass(frozen=True)
class Standing:
    """The newest declared version of a stack beside the newest one of its registry, with ISO dates."""

    stack: str
    registry: str
    declared: str
    declared_date: str  # "" if the stack states none
    newest: str  # "" if the registry could not be asked, or has none
    newest_date: str  # "" if the registry states none
    newer: int | None  # releases beyond the declared one; None if the registry lists only its newest
    can_be_named: bool  # STACK@NEWEST is built by the recipe of a declared version
    failure: str  # why the registry could not be asked; else ""

    @property
    def is_outdated(self) -> bool:
        """Whether the registry has a newer version than is declared."""
        return numbers_of(self.newest) > numbers_of(self.declared)


def standings(names: Sequence[str] = ()) -> list[Standing]:
    """Return how each stack with a registry stands, or each of the named ones; InputError for one without."""
    known = registries()
    stacks = registry.stacks()
    for name in names:
        if registry.stack(name).name not in known:
            raise InputError(f"no registry of {name} is known", f"known: {', '.join(sorted(known))}")
    chosen = [(stacks[name], known[name]) for name in names or sorted(known.keys() & stacks.keys())]
    with ThreadPoolExecutor(_AT_ONCE) as pool:  # each answer is that of a program which waits for the network
        return list(pool.map(lambda each: _standing(*each), chosen))


def _standing(stack: Stack, source: Registry) -> Standing:
    declared = max((each for each in stack.versions if not is_build(each.name)), key=lambda each: numbers_of(each.name))
    newest, date, newer, failure = "", "", None, ""
    try:
        found = releases(source.versions())
        beyond = [version for version in found if numbers_of(version) > numbers_of(declared.name)]
        newest = found[-1] if found else ""
        newer = len(beyond) if source.lists_all or not beyond else None
        published = source.find(newest) if newest else None
        date = published.date if published is not None else ""
    except MachineError as error:
        failure = error.message
    can_be_named = source.has_sources and stack.from_sources is not None
    return Standing(
        stack.name, source.title, declared.name, declared.released, newest, date, newer, can_be_named, failure
    )
