"""Study files: find, read, check. The format is described in docs/reference/studies.md."""

import tomllib
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

from longlook.core import (
    InputError,
    Problems,
    Study,
    allowed,
    check_document,
    flatten,
    nearest,
    read_toml,
    shown,
    toml_files,
)
from longlook.study import tcp
from longlook.study.build import build_study
from longlook.study.catalogue import Catalogue, installed
from longlook.study.checks import check_study
from longlook.study.config_files import anchor_configs, read_configs
from longlook.study.expectations import EXPECT
from longlook.study.laws import NONE
from longlook.study.named_files import anchor_recordings, anchor_traces, copy_sources, read_recordings, read_traces
from longlook.study.nearness import near_names
from longlook.study.schema import DECIDE, SAMPLED, ScenarioTable, StudyTable, parse_table
from longlook.study.settings import ENDPOINT_KEYS, KNOB_PREFIXES, is_flow_setting
from longlook.study.virtual_time import VIRTUAL, default_around, default_losses

_MOST_EXTENDED = 16
_LONGEST_ID = 100
"""Characters of a study's name, which names folders too."""


def read_study(
    path: Path,
    catalogue: Catalogue | None = None,
    *,
    rounds: int | str | None = None,
    changes: Mapping[str, str] | None = None,
    traces: Mapping[str, str] | None = None,
    around: str | Mapping[str, str] | None = None,
    losses: str | None = None,
    engine: str = VIRTUAL,
) -> Study:
    """Return the study of a file; its id is the file's stem.

    `changes` are settings by dotted key (`network.rtt`, `client`, `arms.quic.connection`) that replace the file's, as
    text; `traces` are digests of an earlier reading, for files that are gone. `around` and `losses` replace the
    file's. If neither states them, `engine` decides: in virtual time the standard neighbourhood and integrated losses,
    in real time no neighbourhood and losses at random. A scenario has its one path and random losses. Raises InputError
    with all that is wrong, one problem a line.
    """
    problems = Problems(path.name)
    document = changed_document(
        _document(path, ()), problems, rounds=rounds, changes=changes, around=around, losses=losses
    )
    return study_of_document(path.stem, document, problems, catalogue, traces=traces, engine=engine)


def find_document(name_or_path: str) -> tuple[str, dict[str, Any]]:
    """Return the id of a study by name, or of the file at a path, and its document with all that it extends.

    Nothing in it is checked. Files that it names have absolute paths.
    """
    path = _locate(name_or_path)
    document = _document(path, ())
    document.pop("extends", None)
    return path.stem, document


def changed_document(
    document: Mapping[str, Any],
    problems: Problems,
    *,
    rounds: int | str | None = None,
    changes: Mapping[str, str] | None = None,
    around: str | Mapping[str, str] | None = None,
    losses: str | None = None,
) -> dict[str, Any]:
    """Return a document with other settings, as for `read_study`; a change without an effect is added to `problems`."""
    changed = deepcopy(dict(document))
    for key, value in (changes or {}).items():
        _change(changed, key, value, problems)
    if rounds is not None:
        changed["rounds"] = rounds
        if rounds != DECIDE:
            changed.pop("max_rounds", None)
    if around is not None:
        changed["around"] = around
    if losses is not None:
        changed["losses"] = losses
    return changed


def study_of_document(
    study_id: str,
    document: Mapping[str, Any],
    problems: Problems,
    catalogue: Catalogue | None = None,
    *,
    traces: Mapping[str, str] | None = None,
    engine: str = VIRTUAL,
) -> Study:
    """Return the study of a whole document; `traces`, `engine` and errors are as for `read_study`.

    Files that it names are sought from the current folder.
    """
    whole = deepcopy(dict(document))
    whole.setdefault("around", NONE if is_scenario(whole) else default_around(engine))
    whole.setdefault("losses", SAMPLED if is_scenario(whole) else default_losses(engine))
    check_document(whole, problems.file)  # again, with what `extends` and the changes have put together
    anchor_traces(whole, Path.cwd())  # those of `changes`
    anchor_recordings(whole, Path.cwd())
    anchor_configs(whole, Path.cwd())
    copy_sources(whole, Path.cwd())
    known = traces or {}
    found = read_traces(whole, known) | read_recordings(whole, known, problems) | read_configs(whole, known)
    return replace(parse_study(study_id, whole, problems, catalogue or installed()), traces=found)


def parse_study(study_id: str, document: Mapping[str, Any], problems: Problems, catalogue: Catalogue) -> Study:
    """Return the study of a whole document, checked; raise InputError with all of `problems`."""
    table = parse_table(ScenarioTable if is_scenario(document) else StudyTable, document, problems)
    if table is None:
        raise RuntimeError("a study has stand-ins, so there is always a table")
    study = build_study(study_id, table, catalogue, problems)
    check_study(study, catalogue, problems)
    problems.raise_if_any()
    return study


def is_scenario(document: Mapping[str, Any]) -> bool:
    """Return whether a document has one arm and compares nothing, but says what it expects of its trials."""
    arms, factors = _tables(document.get("arms")), document.get("factors")
    levels = [level for factor in (factors if isinstance(factors, list) else []) for level in _levels(factor)]
    expected = any(
        key.partition(".")[0] == EXPECT for table in (document, *map(_tables, arms.values()), *levels) for key in table
    )
    return len(arms) == 1 and "contrasts" not in document and expected


def _levels(factor: object) -> list[Mapping[str, Any]]:
    levels = _tables(factor).get("levels")
    return [level for level in levels if isinstance(level, Mapping)] if isinstance(levels, list) else []


def find_study(
    name_or_path: str,
    catalogue: Catalogue | None = None,
    *,
    rounds: int | str | None = None,
    changes: Mapping[str, str] | None = None,
    traces: Mapping[str, str] | None = None,
    around: str | Mapping[str, str] | None = None,
    losses: str | None = None,
    engine: str = VIRTUAL,
) -> Study:
    """Return a study by name, or from the file at a path; the rest is as for `read_study`."""
    return read_study(
        _locate(name_or_path),
        catalogue,
        rounds=rounds,
        changes=changes,
        traces=traces,
        around=around,
        losses=losses,
        engine=engine,
    )


def list_studies(catalogue: Catalogue | None = None) -> list[Study]:
    """Return all studies of this installation and of LONGLOOK_PLUGINS, by name."""
    return [read_study(path, catalogue) for path in study_files().values()]


def list_scenarios(catalogue: Catalogue | None = None) -> list[Study]:
    """Return all scenarios of this installation and of LONGLOOK_PLUGINS, by name."""
    return [read_study(path, catalogue) for path in scenario_files().values()]


def study_files() -> dict[str, Path]:
    """Return study files by id; InputError if two have one id."""
    return toml_files("studies", "study")


def scenario_files() -> dict[str, Path]:
    """Return files of scenarios by id; InputError if two have one id, or one has the id of a study."""
    found, studies = toml_files("scenarios", "scenario"), study_files()
    for name in found.keys() & studies.keys():
        raise InputError(f"{name!r} exists twice: {studies[name]} and {found[name]}", "rename one of the files")
    return found


def _locate(name_or_path: str) -> Path:
    if name_or_path.endswith(".toml") or "/" in name_or_path:
        path = Path(name_or_path)
        if not _is_file(path):
            raise InputError(f"no study file {name_or_path}", "longlook study list names the studies there are")
        if len(path.stem) > _LONGEST_ID or not path.stem.isprintable():
            message = f"the study file {name_or_path} names the study: allowed: up to {_LONGEST_ID} visible characters"
            raise InputError(message, "rename the file")
        return path
    files = study_files() | scenario_files()
    if name_or_path not in files:
        near = near_names(name_or_path, files)
        nearest_ones = f"the nearest: {', '.join(near)}; " if near else ""
        raise InputError(
            f"unknown study {name_or_path!r}{nearest(name_or_path, list(files))}",
            f"{nearest_ones}longlook study list names all {len(files)}; a path must end in .toml",
        )
    return files[name_or_path]


def _is_file(path: Path) -> bool:
    """Whether a path is a file; False also if it can be none, as with names that are too long."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _document(path: Path, below: tuple[Path, ...]) -> dict[str, Any]:
    """Return the tables of the study that the file extends, overlaid by the file's own; arrays are replaced, not
    joined.
    """
    document = read_toml(path)
    anchor_traces(document, path.parent)
    anchor_recordings(document, path.parent)
    anchor_configs(document, path.parent)
    copy_sources(document, path.parent)
    base = document.get("extends")
    if base is None:
        return document
    chain = (*below, path.resolve())
    base_path = _extended(path, base, chain)
    return _merged(_document(base_path, chain), document)


def _extended(path: Path, base: object, chain: Sequence[Path]) -> Path:
    """Return the file that a file extends; InputError if there is none, or if it is in the chain already."""
    where, hint = f"{path.name}: extends = {shown(base)}", "name a study, or a path without .toml from this file on"
    if not isinstance(base, str) or not base:
        raise InputError(f"{where}: must be the name of a study", hint)
    beside = path.parent / f"{base}.toml"
    try:
        found = beside if _is_file(beside) else _locate(base)
    except InputError as error:
        raise InputError(f"{where}: {error.message}", error.hint) from error
    if found.resolve() in chain:
        raise InputError(f"{where}: the studies extend each other in a circle", hint)
    if len(chain) >= _MOST_EXTENDED:
        raise InputError(f"{where}: allowed: at most {_MOST_EXTENDED} studies in a row", hint)
    return found


def _merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = deepcopy(dict(base))
    for key, value in over.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = _merged(merged[key], value) if both else deepcopy(value)
    return merged


def _change(document: dict[str, Any], key: str, value: str, problems: Problems) -> None:
    """Put one `--set KEY=VALUE` into the document, where the file itself would have it."""
    common = key in ENDPOINT_KEYS or key.startswith(KNOB_PREFIXES) or is_flow_setting(key)
    path = (f"defaults.{key}" if common else key).split(".")
    if problem := _refused(document, key, path):
        problems.add_value(f"--set {key}", value, problem)
        return
    *parents, name = path
    here = document
    for parent in parents:
        here = here.setdefault(parent, {})
        if not isinstance(here, dict):
            problems.add_value(f"--set {key}", value, f"{parent} is not a table of settings")
            return
    if isinstance(here.get(name), dict | list):
        problems.add_value(f"--set {key}", value, "is a table or list: change the file, or a copy of it")
        return
    here[name] = toml_value(value)


def _refused(document: Mapping[str, Any], key: str, path: Sequence[str]) -> str | None:
    """Return why a change would have no effect, or would add an arm or a group of flows; None if it may be made.

    Misspelt keys of any other table are found when the study is checked, since those tables have known keys.
    """
    if setters := _setters(document, key):
        return f"has no effect, because {' and '.join(setters)}"
    if path[0] == "extends":
        return "has no effect, because it decides which file is read: change it in a copy of the file"
    arms = _tables(document.get("arms"))
    if path[0] == "arms" and len(path) > 1 and path[1] not in arms:
        return f"no arm {path[1]!r}, and --set adds none; {allowed(path[1], arms)}"
    if path[0] == "arms" and len(path) > 3 and path[2] == "flows":
        groups = {*_groups(_tables(arms[path[1]])), *_common_groups(document)}
        if path[3] not in groups:
            return f"arm {path[1]} has no flows {path[3]!r}, and --set adds none; {allowed(path[3], sorted(groups))}"
    if path[:2] == ["defaults", "flows"] and len(path) > 3:
        groups = {group for arm in arms.values() for group in _groups(_tables(arm))} | _common_groups(document)
        if path[2] not in groups:
            return f"no arm has flows {path[2]!r}, and --set adds none; {allowed(path[2], sorted(groups))}"
    return None


def _common_groups(document: Mapping[str, Any]) -> set[str]:
    """Return the groups of flows that [defaults] and the levels of factors name."""
    groups = _groups(_tables(document.get("defaults")))
    factors = document.get("factors")
    for factor in factors if isinstance(factors, list) else []:
        levels = _tables(factor).get("levels")
        groups |= _groups({str(_tables(factor).get("sets")): None})
        for level in levels if isinstance(levels, list) else []:
            groups |= _groups(_tables(level))
    return groups


def _groups(table: Mapping[str, Any]) -> set[str]:
    """Return the groups of flows that the settings of a table name."""
    return {key.split(".")[1] for key in flatten(table) if is_flow_setting(key)}


def _setters(document: Mapping[str, Any], key: str) -> list[str]:
    """Return the arms and factors of the file that decide a setting themselves."""
    setters = []
    for name, arm in _tables(document.get("arms")).items():
        if isinstance(arm, Mapping) and key in flatten(arm):
            setters.append(f"arm {name} sets it: write --set arms.{name}.{key}=…")
        elif isinstance(arm, Mapping) and key in tcp.PRESETS.get(str(arm.get(tcp.PRESET)), {}):
            setters.append(f'arm {name} sets it by tcp = "{arm[tcp.PRESET]}": write --set arms.{name}.{key}=…')
    factors = document.get("factors")
    for factor in factors if isinstance(factors, list) else []:
        if isinstance(factor, Mapping) and (factor.get("sets") == key or _in_levels(factor.get("levels"), key)):
            setters.append(f"factor {factor.get('name')} varies it: choose with --only {factor.get('name')}=LEVEL")
    return setters


def _in_levels(levels: object, key: str) -> bool:
    return isinstance(levels, list) and any(isinstance(level, Mapping) and key in flatten(level) for level in levels)


def _tables(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def toml_value(text: str) -> str | int | float | bool:
    """Return the value as TOML would read it if it is a number or a truth value, else the text itself."""
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):  # not TOML, a whole number of thousands of digits, or hundreds of brackets
        return text
    return value if isinstance(value, str | int | float | bool) else text
