"""The links of a trial's path by name, and the names of their files.

MAIN      the only link of most paths
behind    behind the middle of the path: between the middle and the server
second    a second path between the ends, beside the main link
"""

MAIN, BEHIND, SECOND = "", "behind", "second"
BESIDE_MAIN = (BEHIND, SECOND)
"""The names of further links, which are tables of a study file."""


def link_file(name: str, suffix: str) -> str:
    """Return the name of a link's file in the folder of its trial, e.g. `link.bin` or `link-behind.bin`."""
    return f"link-{name}{suffix}" if name else f"link{suffix}"


def counter_name(name: str, direction: str) -> str:
    """Return the name of a link's direction in `Run.link`: `up`, and of a further link `behind.up`."""
    return f"{name}.{direction}" if name else direction
