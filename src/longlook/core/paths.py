"""Where things live outside a run folder; every place can be moved by an environment variable."""

import os
from pathlib import Path


def cache_dir() -> Path:
    """Built programs, workload files and certificates, keyed by digest; safe to delete (LONGLOOK_CACHE moves it)."""
    if override := os.environ.get("LONGLOOK_CACHE"):
        return Path(override).absolute()
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "longlook"


def state_dir() -> Path:
    """Records of running laboratories, so that a later start can clear what a killed one left."""
    return cache_dir() / "state"


def adapters_dir() -> Path:
    """The adapters' sources: of the checkout, or LONGLOOK_ADAPTERS."""
    if override := os.environ.get("LONGLOOK_ADAPTERS"):
        return Path(override).absolute()
    return Path(__file__).resolve().parents[3] / "adapters"


def kernel_dir() -> Path:
    """The guest kernel's patch and configuration: of the checkout, or LONGLOOK_KERNEL_RECIPE."""
    if override := os.environ.get("LONGLOOK_KERNEL_RECIPE"):
        return Path(override).absolute()
    return Path(__file__).resolve().parents[3] / "kernel"


def plugin_paths() -> list[Path]:
    """Extra plug-in roots (LONGLOOK_PLUGINS, colon separated), each with stacks/, metrics/, … as in this package."""
    return [Path(part).absolute() for part in os.environ.get("LONGLOOK_PLUGINS", "").split(":") if part]


def cache_root() -> Path:
    """The folder of all entries (LONGLOOK_TRIALS moves it)."""
    return Path(os.environ.get("LONGLOOK_TRIALS") or cache_dir() / "trials")
