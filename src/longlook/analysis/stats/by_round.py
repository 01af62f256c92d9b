"""The effect of each single round of a cell, beside what the round drew."""

from collections.abc import Mapping
from dataclasses import dataclass

from longlook.analysis.stats.cells import Cells
from longlook.analysis.stats.procedures import advantages, effect_pct
from longlook.core.metric import find_metric
from longlook.core.model import Contrast


@dataclass(frozen=True)
class RoundEffects:
    """The rounds of a cell in which both arms have a value, from 0, in order; all sequences are as long as `rounds`."""

    rounds: tuple[int, ...]
    effects_pct: tuple[float | None, ...]  # as `Estimate.effect_pct`, of one round
    drawn: Mapping[str, tuple[float, ...]]  # of each setting that all of these rounds drew


def effects_by_round(cells: Cells, contrast: Contrast) -> dict[str, RoundEffects]:
    """Return the effects of a contrast by the cell's id; a cell without such rounds, or without draws, has none."""
    better = find_metric(contrast.metric).better
    found = {}
    for cell in cells.of(contrast):
        drawn = {name: tuple(values.tolist()) for name, values in cell.drawn_in_pairs.items() if len(values)}
        if drawn:
            found_advantages, is_log = advantages(*cell.pairs, better)
            effects = tuple(effect_pct(advantage, better, is_log) for advantage in found_advantages.tolist())
            found[cell.cell_id] = RoundEffects(tuple(cell.rounds), effects, drawn)
    return found
