"""The links of a trial's path: their names, their files, and the keys of their settings.

The only link of most paths is the main link. Link `behind` leads from the middle of a path to the server; link `second`
belongs to a second path between the ends. Keys of the main link's settings begin with `network.`, keys of a further
link's settings with its name: `behind.rate`.
"""

from collections.abc import Iterable

MAIN, BEHIND, SECOND = "", "behind", "second"
BESIDE_MAIN = (BEHIND, SECOND)
"""The names of further links, which are tables of a study file."""

RATE = "rate"
BOTTLENECKS = (RATE, "codel", "fq_codel", "red", "dualpi2", "step")
"""Kinds of stages that have a rate and a queue: a drop-tail queue is the stage `rate`."""

MAIN_SETTINGS = "network."
"""The beginning of the keys of the main link's settings."""


def link_file(name: str, suffix: str) -> str:
    """Return the name of a link's file in the folder of its trial, e.g. `link.bin` or `link-behind.bin`."""
    return f"link-{name}{suffix}" if name else f"link{suffix}"


def counter_name(name: str, direction: str) -> str:
    """Return the name of a link's direction in `Run.link`: `up`, and of a further link `behind.up`."""
    return f"{name}.{direction}" if name else direction


def link_of(key: str) -> str:
    """Return the name of the further link that a setting belongs to, "" if it belongs to none."""
    name, dot, _ = key.partition(".")
    return name if dot and name in BESIDE_MAIN else ""


def names_in(keys: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the further links to which any of these settings belongs, in the order of BESIDE_MAIN."""
    found = {link_of(key) for key in keys}
    return tuple(name for name in BESIDE_MAIN if name in found)


def as_main(key: str) -> str:
    """Return the key of the main link's setting that a further link's is like: `network.rate` for `behind.rate`."""
    name = link_of(key)
    return MAIN_SETTINGS + key.removeprefix(f"{name}.") if name else key


def as_further(name: str, key: str) -> str:
    """Return the key of a further link's setting that is like the main link's; other keys stay."""
    return f"{name}.{key.removeprefix(MAIN_SETTINGS)}" if name and key.startswith(MAIN_SETTINGS) else key
