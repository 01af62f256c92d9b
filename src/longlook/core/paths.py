"""Places outside a run folder; every one can be moved by an environment variable."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType

from longlook.core.errors import MachineError

_NO_HOME = "set HOME to a folder that exists, or LONGLOOK_CACHE to one that may be made"


def cache_dir() -> Path:
    """Return the folder of built programs, workload files and certificates, keyed by digest.

    It is safe to delete; LONGLOOK_CACHE moves it. MachineError if neither that nor a home folder exists.
    """
    if override := os.environ.get("LONGLOOK_CACHE"):
        return Path(override).absolute()
    if base := os.environ.get("XDG_CACHE_HOME"):
        return Path(base) / "longlook"
    return _home() / ".cache" / "longlook"


def _home() -> Path:
    """Return the home folder; MachineError if there is none, since a new cache would be filled for minutes."""
    try:
        home = Path.home()
    except RuntimeError as error:
        raise MachineError("nobody knows the home folder, and the cache belongs into it", _NO_HOME) from error
    if not home.is_dir():
        raise MachineError(f"the home folder {home} does not exist, and the cache belongs into it", _NO_HOME)
    return home


def state_dir() -> Path:
    """Return the folder of records of running laboratories, by which a later start cleans up after a killed one."""
    return cache_dir() / "state"


def adapters_dir() -> Path:
    """Return the folder of the adapters' sources: in the wheel or the checkout, or LONGLOOK_ADAPTERS."""
    return _made_of("adapters", "LONGLOOK_ADAPTERS")


def _made_of(name: str, variable: str) -> Path:
    """Return a folder that programs are made of: an installed wheel has a copy in the package, a checkout the folder
    itself.
    """
    if override := os.environ.get(variable):
        return Path(override).absolute()
    packed = packed_file(name)
    return packed if packed.is_dir() else Path(__file__).resolve().parents[3] / name


_INSTEAD: ContextVar[Mapping[str, Path]] = ContextVar("_INSTEAD", default=MappingProxyType({}))


def adapter_dir(name: str) -> Path:
    """Return the folder of one adapter's sources: NAME in `adapters_dir`, or what `adapter_from` put in its place."""
    return _INSTEAD.get().get(name, adapters_dir() / name)


@contextmanager
def adapter_from(name: str, folder: Path) -> Iterator[None]:
    """Let a folder stand in for the sources of one adapter, for what this thread builds in the block."""
    token = _INSTEAD.set({**_INSTEAD.get(), name: folder})
    try:
        yield
    finally:
        _INSTEAD.reset(token)


def kernel_dir() -> Path:
    """Return the folder of the guest kernel's patch and configuration: as `adapters_dir`, or LONGLOOK_KERNEL_RECIPE."""
    return _made_of("kernel", "LONGLOOK_KERNEL_RECIPE")


def packed_file(name: str) -> Path:
    """Return the place of a file or a folder that an installed wheel has in the package, and a checkout has not."""
    return Path(__file__).resolve().parents[1] / "share" / name


def plugin_paths() -> list[Path]:
    """Return the extra plug-in roots of LONGLOOK_PLUGINS (colon separated), each with stacks/, metrics/, … as here."""
    return [Path(part).absolute() for part in os.environ.get("LONGLOOK_PLUGINS", "").split(":") if part]


class DerivedCache(StrEnum):
    """A cache whose entries are made of trials and can be made again; the name of its folder in the cache of trials."""

    MEASURED = "measured"
    STATISTICS = "statistics"
    DRAWN = "drawn"

    def root(self) -> Path:
        """Return the folder of all its entries."""
        return cache_root() / self


def cache_root() -> Path:
    """Return the folder of the cache of trials (LONGLOOK_TRIALS moves it)."""
    return Path(os.environ.get("LONGLOOK_TRIALS") or cache_dir() / "trials")


def outermost_new(folder: Path) -> Path:
    """Return the outermost folder that would be made with a folder; the folder itself if it is there."""
    missing = [each for each in (folder.absolute(), *folder.absolute().parents) if not each.exists()]
    return missing[-1] if missing else folder


def ignore_in_git(folder: Path) -> None:
    """Let git take nothing in a folder for files of the checkout that it may be in."""
    (folder / ".gitignore").write_text("*\n")
