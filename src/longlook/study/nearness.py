"""The names that somebody may have meant: a few near ones instead of all."""

import re
from collections.abc import Iterable
from difflib import get_close_matches

_MOST = 5
_LONGEST_NAME = 200
"""Characters beyond which a text is no misspelt name, and to look for near ones would take long."""
_ALIKE, _LEAST_ALIKE = 0.7, 0.3
_LEAST_PART = 3


def near_names(name: str, known: Iterable[str]) -> list[str]:
    """Return up to five known names, the nearest first: misspelt ones, then names that share a part with it."""
    names = list(known)
    if not name.strip() or len(name) > _LONGEST_NAME:
        return []
    near = get_close_matches(name, names, n=_MOST, cutoff=_ALIKE)
    within = [each for each in names if name.lower() in each.lower()]
    parts = [part for part in re.split("[-_.]", name.lower()) if len(part) >= _LEAST_PART]
    sharing = [each for each in names if any(part in each.lower() for part in parts)]
    further = get_close_matches(name, names, n=_MOST, cutoff=_LEAST_ALIKE)
    return list(dict.fromkeys([*near, *within, *sharing, *further]))[:_MOST]
