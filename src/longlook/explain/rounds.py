"""Choose the cell and the round that are looked into. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from longlook.analysis import Cells, compared
from longlook.core import Contrast, InputError, Outcome, Study, Trial, find_metric
from longlook.study import cells_named

ALL = "all"


@dataclass(frozen=True)
class Wanted:
    """A request to look into cells by name (`all` for every one), and into a round from 0, or None for the median
    round.
    """

    cells: tuple[str, ...]
    round: int | None = None


@dataclass(frozen=True)
class Round:
    """A round, from 0. `contrast` and `effect`, in `unit`, show how it was chosen; None if the user named it."""

    number: int
    of: int  # rounds with a value on both arms, or with any trial that went well
    contrast: Contrast | None = None
    effect: float | None = None
    unit: str = ""


def wanted(cells: Sequence[str], round_number: int | None) -> Wanted | None:
    """Return what `--inside` and `--round` (from 1) ask for, or None if they ask for nothing."""
    if not cells:
        if round_number is not None:
            raise InputError("--round chooses the round that --inside draws", "add --inside CELL, or --inside all")
        return None
    return Wanted(tuple(cells), None if round_number is None else round_number - 1)


def find_cells(trials: Iterable[Trial], names: Sequence[str]) -> list[str]:
    """Return the ids of the cells with these names, in any form that `study.cells` lists; `all` for every one.

    InputError for a name that fits none or several.
    """
    cells = {trial.cell_id: trial.cell for trial in trials}
    found = [cell_id for name in names for cell_id in (list(cells) if name == ALL else [_find(cells, name)])]
    return list(dict.fromkeys(found))


def choose_round(samples: pd.DataFrame, study: Study, cell_id: str) -> Round:
    """Return the round whose effect is the median of the cell's rounds on the study's first contrast that has one.

    With an even number of rounds it is the lower of the two in the middle. If no contrast has a pair, it is the first
    round in which a trial went well.
    """
    cells = Cells(samples[samples["cell"] == cell_id], study, (contrast.metric for contrast in study.contrasts))
    for contrast in study.contrasts:
        for cell in cells.of(contrast):
            if not (rounds := sorted(cell.baseline.values.keys() & cell.contender.values.keys())):
                continue
            advantages, scale = compared(*cell.pairs, find_metric(contrast.metric), study.analysis)
            ranked = sorted(zip(advantages.tolist(), rounds, strict=True))
            advantage, number = ranked[(len(ranked) - 1) // 2]
            return Round(number, len(rounds), contrast, scale.effect(advantage), scale.unit)
    good = samples[(samples["cell"] == cell_id) & (samples["outcome"] == str(Outcome.OK))]["round"]
    if good.empty:
        raise InputError(f"no trial of cell {cell_id} went well", "its outcomes in the report say why")
    return Round(int(good.min()), int(good.nunique()))


def _find(cells: Mapping[str, Mapping[str, str]], name: str) -> str:
    matching = cells_named(cells, name)
    if len(matching) == 1:
        return matching[0]
    what = "fits several cells" if matching else "is not a cell of this run"
    known = ", ".join(matching or list(cells))
    raise InputError(f"cell {name} {what}", f"name one of {known}, or all")
