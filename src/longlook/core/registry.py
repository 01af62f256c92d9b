"""Plug-ins by folder scan: one file, one plug-in, no list to edit.

Each plug-in folder (`stacks`, `workloads`, `metrics`) is scanned; so are the folders of the same name below every root
in LONGLOOK_PLUGINS and the modules named by entry points of the group `longlook.<folder>`. A plug-in module defines one
constant (STACK, WORKLOAD, METRIC) whose `name` is its key. `studies` and `disputes` hold TOML files, and the name of a
file is its key.

Metrics are typed where they are declared: `longlook.metrics.find_metric`.
"""

import contextlib
import importlib
import importlib.util
import pkgutil
import sys
import tomllib
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from longlook.core.errors import InputError
from longlook.core.paths import plugin_paths
from longlook.core.stack import Stack
from longlook.core.workload import WorkloadKind

CONSTANTS: Mapping[str, str] = {"stacks": "STACK", "workloads": "WORKLOAD", "metrics": "METRIC", "causes": "CAUSE"}
_RENAMED_FIELDS = {"server_tells_state": "server_reports_state"}


@cache
def load(folder: str) -> Mapping[str, Any]:
    """Return all plug-ins of a folder by name, in alphabetical order."""
    return {name: plugin for name, (_, _, plugin) in _found(folder).items()}


def forget() -> None:
    """Scan again at the next call, because LONGLOOK_PLUGINS has changed in this process."""
    load.cache_clear()
    _found.cache_clear()


def source(folder: str, name: str) -> Path:
    """Return the file that defines a plug-in; InputError where there is no such plug-in."""
    get(folder, name)
    return Path(str(_found(folder)[name][1].__file__))


@cache
def _found(folder: str) -> Mapping[str, tuple[str, ModuleType, Any]]:
    constant = CONSTANTS[folder]
    found: dict[str, tuple[str, ModuleType, Any]] = {}
    for origin, module in _modules(folder):
        plugin = getattr(module, constant, None)
        if plugin is None:
            raise InputError(f"{origin}: plug-in file defines no {constant}", f"see CONTRIBUTING.md on {folder}")
        if not isinstance(getattr(plugin, "name", None), str):
            raise InputError(f"{origin}: {constant} is not a plug-in", f"see CONTRIBUTING.md on {folder}")
        if plugin.name in found:
            first = found[plugin.name][0]
            raise InputError(f"{constant.lower()} {plugin.name!r} is defined twice: {first} and {origin}")
        found[plugin.name] = (origin, module, plugin)
    return {name: found[name] for name in sorted(found)}


def stack(name: str) -> Stack:
    """Return the stack of this name; InputError with the nearest name where there is none."""
    found: Stack = get("stacks", name)
    return found


def stacks() -> Mapping[str, Stack]:
    """Return all stacks by name, in alphabetical order."""
    return load("stacks")


def workload(name: str) -> WorkloadKind:
    """Return the kind of workload of this name; InputError with the nearest name where there is none."""
    found: WorkloadKind = get("workloads", name)
    return found


def get(folder: str, name: str) -> Any:
    """Return one plug-in of a folder; InputError with the nearest name where there is none."""
    plugins = load(folder)
    if name not in plugins:
        kind = CONSTANTS[folder].lower()
        raise InputError(f"unknown {kind} {name!r}", f"known: {', '.join(plugins)}{nearest(name, plugins)}")
    return plugins[name]


def toml_files(folder: str, kind: str) -> dict[str, Path]:
    """Return the TOML files of a plug-in folder by name, of this installation and of LONGLOOK_PLUGINS, in order.

    Raises InputError where two have one name; `kind` is the noun for one of them in that message.
    """
    folders = [Path(__file__).parents[1] / folder, *(root / folder for root in plugin_paths())]
    found: dict[str, Path] = {}
    for path in (path for folder_path in folders for path in sorted(folder_path.glob("*.toml"))):
        if path.stem in found:
            raise InputError(
                f"{kind} {path.stem!r} exists twice: {found[path.stem]} and {path}", "rename one of the files"
            )
        found[path.stem] = path
    return dict(sorted(found.items()))


def toml_document(path: Path) -> dict[str, Any]:
    """Return the content of a TOML file; InputError where it cannot be read or is not TOML."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path.name}: not TOML: {error}", "https://toml.io shows the notation") from error


def nearest(name: str, known: Mapping[str, Any] | list[str]) -> str:
    """Return `; did you mean 'x'?`, or an empty text where no known name is near."""
    matches = get_close_matches(str(name), list(known), n=1, cutoff=0.5)
    return f"; did you mean {matches[0]!r}?" if matches else ""


def _modules(folder: str) -> Iterator[tuple[str, ModuleType]]:
    package = importlib.import_module(f"longlook.{folder}")
    for info in pkgutil.iter_modules(package.__path__):
        if info.name.startswith("_"):
            continue  # a program of the folder, such as `python -m longlook.metrics`
        yield f"longlook.{folder}.{info.name}", importlib.import_module(f"longlook.{folder}.{info.name}")
    for root in plugin_paths():
        for file in sorted((root / folder).glob("[!_]*.py")):
            with _renamed_fields_named(str(file)):
                module = _module_of_file(folder, file)
            yield str(file), module
    for point in entry_points(group=f"longlook.{folder}"):
        origin = f"{point.name} ({point.value})"
        with _renamed_fields_named(origin):
            module = point.load()
        yield origin, module


@contextlib.contextmanager
def _renamed_fields_named(origin: str) -> Iterator[None]:
    """Raise InputError with the new name where a plug-in passes a field by the name that it once had."""
    try:
        yield
    except TypeError as error:
        for old, new in _RENAMED_FIELDS.items():
            if f"unexpected keyword argument '{old}'" in str(error):
                raise InputError(f"{origin}: the field {old!r} has another name now", f"write {new!r}") from error
        raise
    except (ImportError, SyntaxError) as error:
        moved = "longlook" in str(error)
        hint = "modules have moved: ARCHITECTURE.md has the packages" if moved else "correct the file"
        raise InputError(f"{origin}: the plug-in cannot be imported: {error}", hint) from error


def _module_of_file(folder: str, file: Path) -> ModuleType:
    name = f"longlook_plugins.{folder}.{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise InputError(f"{file}: not a Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
