"""The registries of stacks: `registries.toml` of the adapters, and of every root of plug-ins."""

import tomllib
from collections.abc import Mapping
from pathlib import Path

from longlook.core import InputError, adapters_dir, plugin_paths
from longlook.provision.registries.crates import Crates
from longlook.provision.registries.debian_archive import DebianArchive
from longlook.provision.registries.go_modules import GoModules
from longlook.provision.registries.python_index import PythonIndex
from longlook.provision.registries.registry import Registry

FILE = "registries.toml"
_KINDS: Mapping[str, type[Registry]] = {
    "go": GoModules,
    "crates": Crates,
    "pypi": PythonIndex,
    "debian": DebianArchive,
}


def registry_of(stack: str) -> Registry | None:
    """Return the registry that has the releases of a stack; None if none is named."""
    return registries().get(stack)


def registries() -> dict[str, Registry]:
    """Return the registry of each stack that has one; InputError for a file that cannot be read."""
    found: dict[str, Registry] = {}
    for folder in (adapters_dir(), *plugin_paths()):
        if (folder / FILE).is_file():
            found |= _read(folder / FILE)
    return found


def _read(file: Path) -> dict[str, Registry]:
    try:
        document = tomllib.loads(file.read_text())
        return {
            stack: _KINDS[kind](tuple(packages))
            for kind, named in document.items()
            for stack, packages in named.items()
        }
    except KeyError as error:
        raise InputError(f"{file}: there is no registry {error}", f"known: {', '.join(_KINDS)}") from error
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise InputError(f"{file} cannot be read: {error}", '[go], and below it quic-go = ["MODULE"]') from error
