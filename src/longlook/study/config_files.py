"""Own configurations of servers that a study names: paths count from the file that names them.

Name and digest of a configuration stand in place of its path as soon as it was read, and the digest is noted with the
study. So the same study can be planned again after the file is gone: `known` is the note of an earlier reading.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from longlook.core import ServerConfig
from longlook.provision import ServerConfigError, server_configs
from longlook.study.settings import NO_CONFIG, SERVER_CONFIG, config_text, parse_config


def anchor_configs(document: dict[str, Any], folder: Path) -> None:
    """Make the paths of a document absolute; `folder` is where its file is. Labels of levels stay as written."""
    _spell_out_levels(document)
    for table, key, path in _named(document):
        table[key] = str((folder / path).absolute())


def read_configs(document: dict[str, Any], known: Mapping[str, str]) -> dict[str, str]:
    """Put names and digests in place of paths; return the digests by `server_config PATH`.

    A file that cannot be read and is not `known` stays as it is: the check of the setting reports what is wrong.
    """
    _spell_out_levels(document)
    found: dict[str, str] = {}
    for table, key, path in _named(document):
        note, file = f"{SERVER_CONFIG} {path}", Path(path)
        config = None
        if note in known and not file.exists():
            config = ServerConfig(file.name, known[note])
        else:
            with suppress(ServerConfigError):
                config = server_configs.keep(file)
        if config is not None:
            found[note] = config.digest
            table[key] = config_text(config)
    return found


def _spell_out_levels(document: Mapping[str, Any]) -> None:
    """Turn levels of a factor that sets a configuration into tables, whose label is the level as written."""
    factors = document.get("factors")
    for factor in factors if isinstance(factors, list) else []:
        if isinstance(factor, dict) and _is_key(factor.get("sets")) and isinstance(factor.get("levels"), list):
            sets = factor["sets"]
            factor["levels"] = [
                {"label": level, sets: level} if isinstance(level, str) else level for level in factor["levels"]
            ]


def _named(value: Any) -> Iterator[tuple[dict[str, Any], str, str]]:
    """Yield table, key and path of every setting that names a file which has not been read."""
    if isinstance(value, list):
        for each in value:
            yield from _named(each)
    if not isinstance(value, dict):
        return
    for key, each in list(value.items()):
        if _is_key(key) and isinstance(each, str) and each and each != NO_CONFIG and parse_config(each) is None:
            yield value, key, each
        else:
            yield from _named(each)


def _is_key(key: object) -> bool:
    return str(key).rpartition(".")[2] == SERVER_CONFIG
