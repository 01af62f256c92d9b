"""Study files: find, read, check. The format is described in docs/studies.md."""

import tomllib
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

from longlook.core.errors import InputError
from longlook.core.model import Study
from longlook.core.problems import Problems, flatten
from longlook.core.registry import nearest, toml_document, toml_files
from longlook.study.build import build_study
from longlook.study.catalogue import Catalogue, installed
from longlook.study.checks import check_study
from longlook.study.schema import StudyTable, parse_table
from longlook.study.settings import ENDPOINT_KEYS, KNOB_PREFIXES
from longlook.study.traces import anchor_traces, read_traces


def read_study(
    path: Path,
    catalogue: Catalogue | None = None,
    *,
    rounds: int | None = None,
    changes: Mapping[str, str] | None = None,
    traces: Mapping[str, str] | None = None,
) -> Study:
    """The study of a file; its id is the file's stem.

    `changes` are settings by dotted key (`network.rtt`, `client`, `arms.quic.connection`) that replace the file's, as
    text; `traces` those of an earlier reading, for files that are gone. Raises InputError with all that is wrong, one
    problem a line.
    """
    document = _document(path, ())
    problems = Problems(path.name)
    for key, value in (changes or {}).items():
        _change(document, key, value, problems)
    if rounds is not None:
        document["rounds"] = rounds
    anchor_traces(document, Path.cwd())  # those of `changes`
    found = read_traces(document, traces or {})
    return replace(parse_study(path.stem, document, problems, catalogue or installed()), traces=found)


def parse_study(study_id: str, document: Mapping[str, Any], problems: Problems, catalogue: Catalogue) -> Study:
    """The study of a whole document, checked; InputError with all of `problems`."""
    table = parse_table(StudyTable, document, problems)
    study = None if table is None else build_study(study_id, table, catalogue, problems)
    if study is not None:
        check_study(study, catalogue, problems)
    problems.raise_if_any()
    if study is None:  # parse_table has said why
        raise InputError(f"{problems.file} is no study")
    return study


def find_study(
    name_or_path: str,
    catalogue: Catalogue | None = None,
    *,
    rounds: int | None = None,
    changes: Mapping[str, str] | None = None,
    traces: Mapping[str, str] | None = None,
) -> Study:
    """A study by name, or from the file at a path; the rest as for read_study."""
    return read_study(_locate(name_or_path), catalogue, rounds=rounds, changes=changes, traces=traces)


def list_studies(catalogue: Catalogue | None = None) -> list[Study]:
    """All studies of this installation and of LONGLOOK_PLUGINS, by name."""
    return [read_study(path, catalogue) for path in study_files().values()]


def study_files() -> dict[str, Path]:
    """Study files by id; InputError where two have one id."""
    return toml_files("studies", "study")


def _locate(name_or_path: str) -> Path:
    if name_or_path.endswith(".toml") or "/" in name_or_path:
        path = Path(name_or_path)
        if not path.is_file():
            raise InputError(f"no study file {name_or_path}", "longlook study list names the studies there are")
        return path
    files = study_files()
    if name_or_path not in files:
        raise InputError(
            f"unknown study {name_or_path!r}{nearest(name_or_path, list(files))}",
            f"known: {', '.join(files)}; a path must end in .toml",
        )
    return files[name_or_path]


def _document(path: Path, below: tuple[Path, ...]) -> dict[str, Any]:
    """The file's tables over those of the study it extends; arrays are replaced, not joined."""
    document = toml_document(path)
    anchor_traces(document, path.parent)
    base = document.get("extends")
    if base is None:
        return document
    if not isinstance(base, str):
        raise InputError(f"{path.name}: extends = {base!r}: must be the name of a study")
    beside = path.parent / f"{base}.toml"
    base_path = beside if beside.is_file() else _locate(base)
    if base_path in (path, *below):
        raise InputError(f"{path.name}: extends = {base!r}: goes round in a circle")
    return _merged(_document(base_path, (path, *below)), document)


def _merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = deepcopy(dict(base))
    for key, value in over.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = _merged(merged[key], value) if both else deepcopy(value)
    return merged


def _change(document: dict[str, Any], key: str, value: str, problems: Problems) -> None:
    """Put one `--set KEY=VALUE` into the document, where the file itself would have it."""
    path = f"defaults.{key}" if key in ENDPOINT_KEYS or key.startswith(KNOB_PREFIXES) else key
    setters = _setters(document, key)
    if setters:
        problems.add_value(f"--set {key}", value, f"has no effect, because {' and '.join(setters)}")
        return
    *parents, name = path.split(".")
    here = document
    for parent in parents:
        here = here.setdefault(parent, {})
        if not isinstance(here, dict):
            problems.add_value(f"--set {key}", value, f"{parent} is no table of settings")
            return
    if isinstance(here.get(name), dict | list):
        problems.add_value(f"--set {key}", value, "is a table or list: change the file, or a copy of it")
        return
    here[name] = toml_value(value)


def _setters(document: Mapping[str, Any], key: str) -> list[str]:
    """Arms and factors of the file that decide a setting themselves."""
    setters = []
    for name, arm in _tables(document.get("arms")).items():
        if isinstance(arm, Mapping) and key in flatten(arm):
            setters.append(f"arm {name} sets it: write --set arms.{name}.{key}=…")
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
    """The value as TOML would read it where it is a number or a truth value, else the text itself."""
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
    return value if isinstance(value, str | int | float | bool) else text
