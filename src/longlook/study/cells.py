"""The cells of a study: every combination of levels but the excluded ones, and their names."""

import re
from collections.abc import Iterator, Mapping
from itertools import product

from longlook.core.codec import content_hash
from longlook.core.model import Level, Study

_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+-]{0,39}")
_LONGEST = 120  # file systems allow 255


def cells(study: Study) -> Iterator[dict[str, Level]]:
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


def _simplified(label: str) -> str:
    return re.sub(r"[^A-Za-z0-9.+]+", "-", label).strip("-.")[:40] or "level"


def _matches(cell: Mapping[str, Level], rule: Mapping[str, tuple[str, ...]]) -> bool:
    """A cell matches a rule when its level of every factor named is one of those listed."""
    return all(name in cell and cell[name].label in labels for name, labels in rule.items())
