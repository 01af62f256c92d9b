"""Places outside a run folder; every one can be moved by an environment variable."""

import os
from pathlib import Path


def cache_dir() -> Path:
    """Return the folder of built programs, workload files and certificates, keyed by digest.

    It is safe to delete; LONGLOOK_CACHE moves it.
    """
    if override := os.environ.get("LONGLOOK_CACHE"):
        return Path(override).absolute()
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "longlook"


def state_dir() -> Path:
    """Return the folder of records of running laboratories, by which a later start cleans up after a killed one."""
    return cache_dir() / "state"


def adapters_dir() -> Path:
    """Return the folder of the adapters' sources: in the checkout, or LONGLOOK_ADAPTERS."""
    if override := os.environ.get("LONGLOOK_ADAPTERS"):
        return Path(override).absolute()
    return Path(__file__).resolve().parents[3] / "adapters"


def kernel_dir() -> Path:
    """Return the folder of the guest kernel's patch and configuration: in the checkout, or LONGLOOK_KERNEL_RECIPE."""
    if override := os.environ.get("LONGLOOK_KERNEL_RECIPE"):
        return Path(override).absolute()
    return Path(__file__).resolve().parents[3] / "kernel"


def plugin_paths() -> list[Path]:
    """Return the extra plug-in roots of LONGLOOK_PLUGINS (colon separated), each with stacks/, metrics/, … as here."""
    return [Path(part).absolute() for part in os.environ.get("LONGLOOK_PLUGINS", "").split(":") if part]


def cache_root() -> Path:
    """Return the folder of the cache of trials (LONGLOOK_TRIALS moves it)."""
    return Path(os.environ.get("LONGLOOK_TRIALS") or cache_dir() / "trials")
