"""Lists every stack and version for `longlook stacks list`. Nothing is installed or fetched for it."""

import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from longlook.core import EITHER, LonglookError, Stack, registry
from longlook.provision.shared_programs import also_shared
from longlook.provision.sources.releases import by_age, copied_releases
from longlook.provision.sources.resolve import parse_program

_AT_ONCE = 8
_log = logging.getLogger("longlook")


@dataclass(frozen=True)
class StackVersion:
    """A version of a stack; `knobs` has the knobs of both roles together."""

    stack: str
    version: str
    released: str
    roles: tuple[str, ...]
    protocols: tuple[str, ...]
    connections: tuple[str, ...]
    knobs: tuple[str, ...]
    installed: bool
    default: bool
    note: str
    recipe_of: str  # the known version as which sources are built, or a release that no list has; else ""

    @property
    def name(self) -> str:
        """Return NAME@VERSION."""
        return f"{self.stack}@{self.version}"


def stack_versions(names: Sequence[str] = ()) -> list[StackVersion]:
    """Return all versions of all stacks, or the named ones alone (NAME or NAME@VERSION); InputError for an unknown
    name.
    """
    return _entries(selected(names))


def versions_here(names: Sequence[str] = ()) -> list[StackVersion]:
    """Return `stack_versions`, with the releases of registries of which this machine has copies among a stack's."""
    found: dict[str, tuple[Stack, str]] = {}
    for stack, version in selected(names):
        is_whole = not names or stack.name in names
        for each in by_age(stack, copied_releases(stack)) if is_whole else (version,):
            found[f"{stack.name}@{each}"] = stack, each
    return _entries(list(found.values()))


def _entries(chosen: Sequence[tuple[Stack, str]]) -> list[StackVersion]:
    with ThreadPoolExecutor(_AT_ONCE) as pool:  # each answer takes reading a disk or starting a program
        installed = pool.map(lambda each: is_installed(*each), chosen)
        return [_entry(stack, version, ready) for (stack, version), ready in zip(chosen, installed, strict=True)]


def selected(names: Sequence[str]) -> list[tuple[Stack, str]]:
    """Return the stacks and versions that are named: NAME stands for all of its versions, no name for all stacks."""
    if not names:
        stacks = registry.stacks().values()
        return [(stack, version) for stack in stacks for version in stack.version_names]
    found = []
    for part in names:
        stack, version = parse_program(part)
        found += [(stack, each) for each in ((version,) if "@" in part else stack.version_names)]
    return list({(stack.name, version): (stack, version) for stack, version in found}.values())


def is_installed(stack: Stack, version: str) -> bool:
    """Return whether a version is installed; False if that cannot be found out. A broken plug-in is warned of."""
    try:
        with also_shared():
            return stack.is_installed(version)
    except LonglookError:
        return False
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        _log.warning("%s@%s: whether it is installed cannot be found out: %s", stack.name, version, what)
        return False


def _entry(stack: Stack, version: str, installed: bool) -> StackVersion:
    found = stack.version(version)
    knobs = sorted({name for role in stack.roles for name in stack.knobs_of(version, role)})
    return StackVersion(
        stack=stack.name,
        version=version,
        released=found.released,
        roles=stack.roles,
        protocols=(*stack.protocols_of(version), *((EITHER.name,) if stack.speaks(version, EITHER.name) else ())),
        connections=tuple(str(state) for state in stack.connections_of(version)),
        knobs=tuple(knobs),
        installed=installed,
        default=stack.is_default(version),
        note=found.note,
        recipe_of=found.of,
    )
