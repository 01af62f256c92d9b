"""Which cell and which round is looked into. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from longlook.analysis.stats.cells import cells_of
from longlook.analysis.stats.procedures import advantages, effect_pct
from longlook.core.errors import InputError
from longlook.core.model import Better, Contrast, Outcome, Study, Trial

ALL = "all"


@dataclass(frozen=True)
class Wanted:
    """What somebody asks to look into: cells by name (`all` for every one), and a round from 0 or None for ours."""

    cells: tuple[str, ...]
    round: int | None = None


@dataclass(frozen=True)
class Round:
    """A round, from 0. `contrast` and `effect_pct` say how it was chosen; both None where somebody named it."""

    number: int
    of: int  # rounds with a value on both arms, or with any trial that went well
    contrast: Contrast | None = None
    effect_pct: float | None = None


def wanted(cells: Sequence[str], round_number: int | None) -> Wanted | None:
    """What `--inside` and `--round` (from 1) ask for; None where they ask for nothing."""
    if not cells:
        if round_number is not None:
            raise InputError("--round says which round --inside draws", "add --inside CELL, or --inside all")
        return None
    return Wanted(tuple(cells), None if round_number is None else round_number - 1)


def find_cells(trials: Iterable[Trial], names: Sequence[str]) -> list[str]:
    """Ids of the cells that were named by id, by level labels joined with commas, or FACTOR=LEVEL pairs."""
    cells = {trial.cell_id: trial.cell for trial in trials}
    found = [cell_id for name in names for cell_id in (list(cells) if name == ALL else [_find(cells, name)])]
    return list(dict.fromkeys(found))


def choose_round(samples: pd.DataFrame, study: Study, better: Mapping[str, Better], cell_id: str) -> Round:
    """The round whose effect is the median of the cell's rounds on the study's first contrast that has one.

    Of an even number of rounds, the lower of the two in the middle. Where no contrast has a pair, the first round in
    which a trial went well.
    """
    for contrast in study.contrasts:
        for cell in cells_of(samples, study, contrast):
            if cell.cell_id != cell_id or not (
                rounds := sorted(cell.baseline.values.keys() & cell.contender.values.keys())
            ):
                continue
            effects, is_log = advantages(*cell.pairs, better[contrast.metric])
            ranked = sorted(zip(effects.tolist(), rounds, strict=True))
            advantage, number = ranked[(len(ranked) - 1) // 2]
            return Round(number, len(rounds), contrast, effect_pct(advantage, better[contrast.metric], is_log))
    good = samples[(samples["cell"] == cell_id) & (samples["outcome"] == str(Outcome.OK))]["round"]
    if good.empty:
        raise InputError(f"no trial of cell {cell_id} went well", "its outcomes in the report say why")
    return Round(int(good.min()), int(good.nunique()))


def _find(cells: Mapping[str, Mapping[str, str]], name: str) -> str:
    if name in cells:
        return name
    parts = [part.strip() for part in name.replace("·", ",").split(",")]
    matching = [cell_id for cell_id, labels in cells.items() if _names(labels, parts)]
    if len(matching) == 1:
        return matching[0]
    what = "fits several cells" if matching else "is no cell of this run"
    known = ", ".join(matching or list(cells))
    raise InputError(f"--inside {name} {what}", f"name one of {known}, or all")


def _names(labels: Mapping[str, str], parts: Sequence[str]) -> bool:
    """Whether every part is a level of the cell, as LEVEL or FACTOR=LEVEL."""
    pairs = {f"{factor}={label}" for factor, label in labels.items()}
    return all(part in pairs or part in labels.values() for part in parts)
