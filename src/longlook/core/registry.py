"""Plug-ins by folder scan: one file, one plug-in or one family of plug-ins, no list to edit.

Each plug-in folder (`stacks`, `workloads`, `metrics`, `causes`) is scanned; so are the folders of the same name below
every root in LONGLOOK_PLUGINS and the modules named by entry points of the group `longlook.<folder>`. A plug-in module
defines one constant (STACK, WORKLOAD, METRIC, CAUSE) whose `name` is its key, or a family of plug-ins as a tuple
(STACKS, WORKLOADS, METRICS, CAUSES). `studies`, `scenarios` and `disputes` hold TOML files, and the name of a file is
its key. A module of others that is broken is left out, with a warning; one of ours is an error.

`longlook.core.metric.find_metric` checks the type of metrics.
"""

import importlib
import importlib.util
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any

from longlook.core.errors import InputError
from longlook.core.paths import plugin_paths
from longlook.core.stack import Stack
from longlook.core.workload import WorkloadKind

CONSTANTS: Mapping[str, str] = {"stacks": "STACK", "workloads": "WORKLOAD", "metrics": "METRIC", "causes": "CAUSE"}
_LONGEST_NAME = 200
"""Characters beyond which a text is no misspelt name, and looking for a near one would take long."""
_MOVED = {
    "longlook.explain.side": "longlook.explain.pair",
    "longlook.explain.checked": "longlook.explain.pair",
    "longlook.explain.confounders": "longlook.explain.pair",
    "longlook.explain.credit": "longlook.causes.credit",
    "longlook.explain.in_force": "longlook.explain.effective_settings",
    "longlook.explain.moments": "longlook.explain.signs",
    "longlook.explain.remedies": "longlook.explain.changes",
    "longlook.explain.thresholds": "longlook.causes.retransmissions",
    "longlook.explain.versions": "longlook.causes.programs",
    "longlook.provision.cache_folder": "longlook.provision.build_cache",
    "longlook.provision.go_adapter": "longlook.provision.go",
    "longlook.timeline.cpu_time": "longlook.metrics.processors",
    "longlook.timeline.echoing": "longlook.metrics.echo",
    "longlook.timeline.first_byte": "longlook.metrics.loads",
    "longlook.timeline.state_times": "longlook.timeline.states",
    "longlook.network.further": "longlook.network.extra_links",
    "longlook.core.visible": "longlook.core.escape",
    "longlook.explain.cause.Kind": "longlook.explain.cause.Purpose",
    "longlook.explain.effective_settings.in_force": "longlook.explain.effective_settings.effective_value",
    "longlook.provision.content.content": "longlook.provision.content.make_content",
    "longlook.timeline.loss_epochs.loss_epochs": "longlook.timeline.loss_epochs.loss_epochs_of",
    "longlook.timeline.round_trips.round_trips": "longlook.timeline.round_trips.round_trips_of",
}
"""Modules that a plug-in may have imported, and names of modules, with their present names."""
_RENAMED_FIELDS = {"server_tells_state": "server_reports_state"}


_KINDS: Mapping[str, type] = {"stacks": Stack, "workloads": WorkloadKind}
"""The types of plug-ins that this module knows; the packages that declare the other types check them."""

_FOLDERS = (*CONSTANTS, "studies", "scenarios", "disputes")
_IN_ROOTS = "longlook_plugins"
"""The package of modules that come from a file below a root of LONGLOOK_PLUGINS."""
_CHOSEN: "dict[str, list[_Source]]" = {}
"""Folders of which only these plug-ins are to be known (`load_only`)."""


@dataclass(frozen=True)
class ModulePlace:
    """The place of a plug-in's module: its name, and its file if Python does not find it by that name."""

    folder: str
    module: str
    file: str | None = None


@dataclass(frozen=True)
class _Source:
    """A place that should have a plug-in. `origin` names it to people."""

    origin: str
    load: Callable[[], ModuleType]
    shipped: bool


@dataclass(frozen=True)
class _Found:
    """The plug-ins of a folder: name → (origin, module, plug-in); and those left out: origin → reason."""

    plugins: Mapping[str, tuple[str, ModuleType, Any]]
    left_out: Mapping[str, str]


@cache
def load(folder: str) -> Mapping[str, Any]:
    """Return all plug-ins of a folder by name, in alphabetical order.

    One that is broken is left out with a warning on standard error that names it; InputError if two have one name.
    """
    return {name: plugin for name, (_, _, plugin) in _found(folder).plugins.items()}


def place(folder: str, name: str) -> ModulePlace:
    """Return where a plug-in is, for `load_only` in another process; InputError if there is no such plug-in."""
    get(folder, name)
    module = _found(folder).plugins[name][1]
    in_root = module.__name__.startswith(f"{_IN_ROOTS}.")
    return ModulePlace(folder, module.__name__, str(module.__file__) if in_root else None)


def load_only(folder: str, places: Iterable[ModulePlace]) -> None:
    """Load the plug-ins at these places, and let this process know no others of the folder.

    A guest needs one or two of all stacks: to import every one, and to search what is installed for more, would take a
    sixth of the CPU time of a small trial.
    """
    chosen = [each for each in places if each.folder == folder]
    forget()
    _CHOSEN[folder] = [
        _Source(each.module, partial(_module_at, each), shipped=each.module.startswith("longlook.")) for each in chosen
    ]
    load(folder)


def add_plugins(*roots: Path) -> None:
    """Add roots of plug-ins to LONGLOOK_PLUGINS in this process and its children; roots that it has already are not
    added again.
    """
    known = plugin_paths()
    added = [str(root) for root in roots if root.absolute() not in known]
    if added:
        os.environ["LONGLOOK_PLUGINS"] = ":".join([*map(str, known), *added])
        forget()


def forget() -> None:
    """Scan again at the next call, because LONGLOOK_PLUGINS has changed in this process."""
    _CHOSEN.clear()
    load.cache_clear()
    _found.cache_clear()
    _check_root.cache_clear()


def source(folder: str, name: str) -> Path:
    """Return the file that defines a plug-in; InputError if there is no such plug-in."""
    get(folder, name)
    return Path(str(_found(folder).plugins[name][1].__file__))


@cache
def _found(folder: str) -> _Found:
    constant = CONSTANTS[folder]
    found: dict[str, tuple[str, ModuleType, Any]] = {}
    left_out: dict[str, str] = {}
    for each in _sources(folder):
        try:
            module = each.load()
            plugins = _plugins_of(module, folder)
        except (Exception, SystemExit) as error:
            if each.shipped:
                raise
            left_out[each.origin] = _reason(error)
            _warn(f"{each.origin}: this plug-in is left out: {left_out[each.origin]}")
            continue
        for plugin in plugins:
            if plugin.name in found:
                first = found[plugin.name][0]
                raise InputError(f"{constant.lower()} {plugin.name!r} is defined twice: {first} and {each.origin}")
            found[plugin.name] = (each.origin, module, plugin)
    return _Found({name: found[name] for name in sorted(found)}, left_out)


def _plugins_of(module: ModuleType, folder: str) -> tuple[Any, ...]:
    """Return the plug-in or the family of plug-ins that a module defines; InputError if it defines none, or both."""
    constant, hint = CONSTANTS[folder], f"see CONTRIBUTING.md on {folder}"
    one, family = getattr(module, constant, None), getattr(module, f"{constant}S", None)
    if one is None and family is None:
        raise InputError(f"it defines no {constant}", hint)
    if one is not None and family is not None:
        raise InputError(f"it defines both {constant} and {constant}S", f"write one of the two; {hint}")
    if one is None and not (isinstance(family, tuple) and family):
        raise InputError(f"its {constant}S is no tuple of plug-ins", hint)
    plugins = (one,) if one is not None else tuple(family or ())
    for plugin in plugins:
        if not isinstance(plugin, _KINDS.get(folder, object)) or not isinstance(getattr(plugin, "name", None), str):
            named = f"its {constant}" if one is not None else f"one of its {constant}S"
            raise InputError(f"{named} is not a plug-in", hint)
    return plugins


def _reason(error: BaseException) -> str:
    """Return in words why a plug-in cannot be used, with the line of its file and what to do."""
    if isinstance(error, InputError):
        return f"{error.message} ({error.hint})" if error.hint else error.message
    for old, new in _RENAMED_FIELDS.items():
        if f"unexpected keyword argument '{old}'" in str(error):
            return f"the field {old!r} has another name now (write {new!r})"
    import traceback

    last = traceback.extract_tb(error.__traceback__)[-1]
    is_ours = last.filename == __file__ or "importlib" in last.filename
    where = "" if is_ours else f", line {last.lineno} of {last.filename}"
    hint = "correct the file"
    if isinstance(error, ImportError) and "longlook" in str(error):
        moved_to = _MOVED.get(_not_found(error))
        hint = f"it is {moved_to} now" if moved_to else "modules have moved: ARCHITECTURE.md has the packages"
    return f"{type(error).__name__}: {error}{where} ({hint})"


def _not_found(error: ImportError) -> str:
    """Return the full name that an import did not find: of a module, or of a name in one.

    `from longlook.explain import remedies` does not find a name, whether `remedies` was a module or not.
    """
    found = re.match(r"cannot import name '(\w+)'", str(error))
    return f"{error.name}.{found[1]}" if found else error.name or ""


def _warn(text: str) -> None:
    import logging  # as elsewhere: guests import this module, and should not pay for what they do not need
    import multiprocessing

    if multiprocessing.parent_process() is None:  # workers read the same plug-ins, and need not say the same
        logging.getLogger("longlook").warning("%s", text)


def stack(name: str) -> Stack:
    """Return the stack of this name; InputError with the nearest name if there is none."""
    found: Stack = get("stacks", name)
    return found


def stacks() -> Mapping[str, Stack]:
    """Return all stacks by name, in alphabetical order."""
    return load("stacks")


def workload(name: str) -> WorkloadKind:
    """Return the kind of workload of this name; InputError with the nearest name if there is none."""
    found: WorkloadKind = get("workloads", name)
    return found


def get(folder: str, name: str) -> Any:
    """Return one plug-in of a folder; InputError with the nearest name if there is none."""
    plugins = load(folder)
    if name not in plugins:
        kind = CONSTANTS[folder].lower()
        left_out = "".join(f"; left out: {origin}: {reason}" for origin, reason in _found(folder).left_out.items())
        known = f"known: {', '.join(plugins)}{nearest(name, plugins)}"
        raise InputError(f"unknown {kind} {name!r}", f"{known}{left_out}")
    return plugins[name]


def toml_files(folder: str, kind: str) -> dict[str, Path]:
    """Return the TOML files of a plug-in folder by name, of this installation and of LONGLOOK_PLUGINS, in order.

    Raises InputError if two have one name; `kind` is the noun for one of them in that message.
    """
    folders = [Path(__file__).parents[1] / folder, *(root / folder for root in _roots())]
    found: dict[str, Path] = {}
    for path in (path for folder_path in folders for path in sorted(folder_path.glob("*.toml"))):
        if path.stem in found:
            raise InputError(
                f"{kind} {path.stem!r} exists twice: {found[path.stem]} and {path}", "rename one of the files"
            )
        found[path.stem] = path
    return dict(sorted(found.items()))


def nearest(name: str, known: Mapping[str, Any] | list[str]) -> str:
    """Return `; did you mean 'x'?`, or an empty text where no known name is near."""
    from difflib import get_close_matches

    if len(name) > _LONGEST_NAME:
        return ""
    matches = get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f"; did you mean {matches[0]!r}?" if matches else ""


def _roots() -> list[Path]:
    """Return the roots of LONGLOOK_PLUGINS, with a warning for each that has no plug-ins."""
    roots = plugin_paths()
    for root in roots:
        _check_root(root)
    return roots


@cache
def _check_root(root: Path) -> None:
    if not root.is_dir():
        _warn(f"LONGLOOK_PLUGINS: {root} is no folder, and is passed over")
    elif not any((root / folder).is_dir() for folder in _FOLDERS):
        _warn(f"LONGLOOK_PLUGINS: {root} has none of the folders {', '.join(_FOLDERS)}, and is passed over")


def _sources(folder: str) -> Iterator[_Source]:
    if folder in _CHOSEN:
        yield from _CHOSEN[folder]
        return
    import pkgutil
    from importlib.metadata import entry_points

    package = importlib.import_module(f"longlook.{folder}")
    for info in pkgutil.iter_modules(package.__path__):
        if info.name.startswith("_"):
            continue  # a program of the folder, such as `python -m longlook.metrics`
        name = f"longlook.{folder}.{info.name}"
        yield _Source(name, partial(importlib.import_module, name), shipped=True)
    for root in _roots():
        for file in sorted((root / folder).glob("[!_]*.py")):
            yield _Source(str(file), partial(_module_of_file, folder, file), shipped=False)
    for point in entry_points(group=f"longlook.{folder}"):
        yield _Source(f"{point.name} ({point.value})", point.load, shipped=False)


def _module_at(place: ModulePlace) -> ModuleType:
    if place.file is None:
        return importlib.import_module(place.module)
    return _module_of_file(place.folder, Path(place.file))


def _module_of_file(folder: str, file: Path) -> ModuleType:
    name = f"{_IN_ROOTS}.{folder}.{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise InputError("it is no Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
