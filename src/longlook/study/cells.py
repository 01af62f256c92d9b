"""The cells of a study: every combination of levels but the excluded ones, and their names.

A cell has several names, and whatever prints one of them, every command takes each:

    10Mbit_5KB                  its id, which is the name of files
    10Mbit,5KB   10Mbit · 5KB   the labels of its levels
    rate=10Mbit,size=5KB        with their factors, also `rate 10Mbit, size 5KB` and with dots
    size=5KB                    fewer levels, in any order, where only one cell has these
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import product

from longlook.core import Level, Study, content_hash

_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+-]{0,39}")
_LONGEST = 120  # file systems allow 255


def cells_of(study: Study) -> Iterator[dict[str, Level]]:
    """Yield all cells in the order of factors and levels."""
    for levels in product(*(factor.levels for factor in study.factors)):
        cell = {factor.name: level for factor, level in zip(study.factors, levels, strict=True)}
        if not any(_matches(cell, rule) for rule in study.exclude):
            yield cell


def labels_of(cell: Mapping[str, Level]) -> dict[str, str]:
    """Return the label of each factor's level in a cell."""
    return {name: level.label for name, level in cell.items()}


def cell_id(labels: Mapping[str, str]) -> str:
    """Return a readable name that is safe as a file name and unique in its study, e.g. `10Mbit_5KB`.

    Labels with other characters than A-Z a-z 0-9 . + - are simplified; a hash of the labels then keeps it unique.
    """
    parts = [label if _SAFE.fullmatch(label) else _simplified(label) for label in labels.values()]
    name = "_".join(parts)
    if parts == list(labels.values()) and len(name) <= _LONGEST:
        return name
    return f"{name[:_LONGEST]}_{content_hash(dict(labels), 8)}"


def cells_named(known: Mapping[str, Mapping[str, str]], name: str) -> list[str]:
    """Return the ids of the cells that a name fits; `known` are the labels of each cell by its id.

    A name that gives all levels in the order of the factors means only cells that are called exactly so.
    """
    if name in known:
        return [name]
    text = _plain(name)
    whole = [cell for cell, labels in known.items() if _is_listed(text, _spellings(labels))]
    return whole or [cell for cell, labels in known.items() if _is_made_of(text, _spellings(labels))]


_MARKS = ",·"
"""The separators of levels in a name; a label may hold them too."""


def _plain(text: str) -> str:
    return " ".join(text.split())


def _spellings(labels: Mapping[str, str]) -> list[tuple[str, ...]]:
    """Return for each level of a cell how a name may give it."""
    plain = {_plain(factor): _plain(label) for factor, label in labels.items()}
    return [(f"{factor}={label}", f"{factor} {label}", label) for factor, label in plain.items()]


def _is_listed(text: str, levels: Sequence[Collection[str]]) -> bool:
    """Return whether a text is one spelling of each level, in this order, with marks between them."""
    if not levels:
        return not text
    return any(_is_listed(rest, levels[1:]) for rest in _rests(text, levels[0], last=len(levels) == 1))


def _is_made_of(text: str, levels: Collection[Collection[str]]) -> bool:
    """Return whether a text is spellings of some levels, in any order, with marks between them."""
    spellings = {spelling for level in levels for spelling in level}
    return text in spellings or any(_is_made_of(rest, levels) for rest in _rests(text, spellings, last=False))


def _rests(text: str, spellings: Collection[str], *, last: bool) -> Iterator[str]:
    """Yield what follows one of the spellings and a mark, or "" if nothing has to follow."""
    for spelling in spellings:
        if last and text == spelling:
            yield ""
        elif not last and text.startswith(spelling):
            rest = text.removeprefix(spelling).lstrip()
            if rest[:1] and rest[0] in _MARKS:
                yield rest[1:].lstrip()


def _simplified(label: str) -> str:
    return re.sub(r"[^A-Za-z0-9.+]+", "-", label).strip("-.")[:40] or "level"


def _matches(cell: Mapping[str, Level], rule: Mapping[str, tuple[str, ...]]) -> bool:
    """Return whether a cell matches a rule: the rule lists the cell's level of every factor that the rule names."""
    return all(name in cell and cell[name].label in labels for name, labels in rule.items())
