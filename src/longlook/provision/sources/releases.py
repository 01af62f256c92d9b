"""Releases of registries that were copied into the cache, among the known versions of their stack."""

from collections.abc import Iterable

from longlook.core import Stack, cache_dir, find_tree, is_tunable
from longlook.provision.registries.registry import numbers_of
from longlook.provision.sources.spec import parse_release


def copied_releases(stack: Stack) -> list[str]:
    """Return the names of the releases that this machine has copies of, in no order."""
    folder = cache_dir() / "sources" / stack.name
    return [path.name for path in (folder.iterdir() if folder.is_dir() else ()) if is_copied_release(stack, path.name)]


def is_copied_release(stack: Stack, version: str) -> bool:
    """Return whether a name, such as `0.64.0~recipe-0.63.0`, belongs to a copied release of a registry."""
    release = parse_release(version)
    is_release = release is not None and release.of != "" and not is_tunable(version)
    return is_release and find_tree(stack.name, version) is not None


def by_age(stack: Stack, copied: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the known versions and of copied releases, the oldest first, by their numbers."""
    found = list(stack.version_names)
    for name in sorted({*copied} - {*found}, key=numbers_of):
        newer = (at for at, other in enumerate(found) if numbers_of(other) > numbers_of(name))
        found.insert(next(newer, len(found)), name)
    return tuple(found)
