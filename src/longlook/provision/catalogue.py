"""Every stack and version as `longlook stacks list` shows them. Nothing is installed or fetched for it."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from longlook.core import registry
from longlook.core.errors import InputError, LonglookError
from longlook.core.stack import Stack

_AT_ONCE = 8


@dataclass(frozen=True)
class Entry:
    """A version of a stack; `knobs` are those of both roles together."""

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

    @property
    def name(self) -> str:
        """NAME@VERSION."""
        return f"{self.stack}@{self.version}"


def catalogue(names: Sequence[str] = ()) -> list[Entry]:
    """All versions of all stacks, or of those named (NAME or NAME@VERSION)."""
    chosen = selected(names)
    with ThreadPoolExecutor(_AT_ONCE) as pool:  # what is installed is asked of disks and programs
        there = pool.map(lambda each: is_installed(*each), chosen)
        return [_entry(stack, version, installed) for (stack, version), installed in zip(chosen, there, strict=True)]


def selected(names: Sequence[str]) -> list[tuple[Stack, str]]:
    """Stacks and versions: NAME means all of its versions, nothing means all there are."""
    if not names:
        stacks = registry.stacks().values()
        return [(stack, version) for stack in stacks for version in stack.version_names]
    found = []
    for part in names:
        name, at, version = part.partition("@")
        stack = registry.stack(name)
        if at and not version:
            raise InputError(f"{part}: no version behind @", f"known: {', '.join(stack.version_names)}")
        found += [(stack, each) for each in ([stack.version(version).name] if at else stack.version_names)]
    return list({(stack.name, version): (stack, version) for stack, version in found}.values())


def is_installed(stack: Stack, version: str) -> bool:
    """Whether it is there; what cannot be told is not."""
    try:
        return stack.installed(version)
    except LonglookError:
        return False


def _entry(stack: Stack, version: str, installed: bool) -> Entry:
    found = stack.version(version)
    knobs = sorted({name for role in stack.roles for name in stack.knobs_of(version, role)})
    return Entry(
        stack=stack.name,
        version=version,
        released=found.released,
        roles=stack.roles,
        protocols=stack.protocols_of(version),
        connections=tuple(str(state) for state in stack.connections_of(version)),
        knobs=tuple(knobs),
        installed=installed,
        default=version == stack.default_version,
        note=found.note,
    )
