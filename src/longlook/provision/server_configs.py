"""Configurations of servers that users bring, by their digest: in the cache, and in the run folders that need them.

Studies, plans and trials hold name and digest alone. A run folder has copies, so that it needs neither the user's file
nor the cache. Nothing here reads more of a configuration than its text: what it means is for the server's adapter.
"""

from pathlib import Path

from longlook.core import InputError, Plan, ServerConfig, files, kept_files, paths, server_configs_of

FOLDER = "server-configs"
"""The folder's name in the cache and in a run folder."""

LARGEST_BYTES = 64 << 10
_LONGEST_NAME = 80
_SUFFIX = ".conf"
_KEPT = "a server's configuration", "make room, or move the cache: LONGLOOK_CACHE"


class ServerConfigError(ValueError):
    """A file that can be no configuration of a server; the message says why."""


def keep(path: Path) -> ServerConfig:
    """Read a file into the cache, and return its name and digest. Raise ServerConfigError if it cannot be used."""
    if len(path.name) > _LONGEST_NAME or not path.name.isprintable():
        raise ServerConfigError(f"its name must have at most {_LONGEST_NAME} visible characters")
    try:
        data = files.read_named(path, LARGEST_BYTES)
        text = data.decode()
    except UnicodeDecodeError as error:
        raise ServerConfigError(f"it is no text in UTF-8 (byte {error.start + 1})") from error
    except InputError as error:
        raise ServerConfigError(f"{error.message}; allowed: a text of 1 byte to {LARGEST_BYTES >> 10} KiB") from error
    except OSError as error:
        raise ServerConfigError(f"{path} cannot be read: {error.strerror}") from error
    if text.startswith("\ufeff"):
        raise ServerConfigError("it begins with a byte order mark: save it as UTF-8 without one")
    if "\0" in text:
        raise ServerConfigError(f"it is no text: line {text[: text.index(chr(0))].count(chr(10)) + 1} has a zero byte")
    return ServerConfig(path.name, kept_files.keep(_cache(), data, *_KEPT, _SUFFIX))


def load(config: ServerConfig) -> str:
    """Return the text of a configuration from the cache. Raise InputError if it is missing or damaged."""
    path = kept_files.file_of(_cache(), config.digest, _SUFFIX)
    try:
        data = files.read_bytes(path, LARGEST_BYTES)
    except OSError as error:
        message = f"the configuration {config.label} is not there: {path}"
        raise InputError(message, "name its file again in the study: server_config") from error
    if kept_files.digest_of(data) != config.digest:
        raise InputError(f"the configuration {path} is damaged", "remove it, and name its file again")
    return data.decode()


def lay(plan: Plan, run: Path) -> None:
    """Copy the configurations that a plan's servers have into a run folder that lacks them."""
    named = {config.digest: config for trial in plan.trials for config in server_configs_of(trial)}
    for digest, config in sorted(named.items()):
        target = kept_files.file_of(run / FOLDER, digest, _SUFFIX)
        if not target.exists():
            kept_files.write(target, load(config).encode(), *_KEPT)


def adopt(run: Path) -> None:
    """Put the configurations of a run folder that the cache lacks into it, so that its study can be planned again."""
    kept_files.adopt(run / FOLDER, _cache(), *_KEPT, _SUFFIX)


def _cache() -> Path:
    return paths.cache_dir() / FOLDER
