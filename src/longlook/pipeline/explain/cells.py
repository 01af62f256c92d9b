"""Which cells of a run are explained, and what their verdicts say. Pure, except that they read the run folder."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from longlook.analysis import CellData, Cells, estimate
from longlook.core import (
    SAMPLES,
    Contrast,
    Estimate,
    InputError,
    RunFolder,
    Study,
    Verdict,
    files,
    find_metric,
    nearest,
)
from longlook.explain import find_cells


@dataclass(frozen=True)
class CellGap:
    """A contrast in a cell: its estimate, the rounds that both arms have a value for, and the random losses of a load.

    `random_losses` is the mean over these rounds; None if the path loses nothing at random.
    """

    contrast: Contrast
    estimate: Estimate
    rounds: tuple[int, ...]
    random_losses: float | None = None

    @property
    def loser(self) -> str:
        """Return the arm that the effect says is worse."""
        effect = self.estimate.effect
        return self.contrast.contender if effect is not None and effect.value < 0 else self.contrast.baseline

    @property
    def winner(self) -> str:
        """Return the other arm."""
        return self.contrast.baseline if self.loser == self.contrast.contender else self.contrast.contender

    @property
    def has_verdict(self) -> bool:
        """Return whether a verdict says that an arm lost."""
        return self.estimate.verdict in (Verdict.BETTER, Verdict.WORSE)


def gaps(folder: RunFolder, names: Sequence[str], contrast: str | None) -> list[CellGap]:
    """Return the cells that are asked for, in the order of the plan: by default all with a verdict that an arm lost.

    `contrast` is the name of one; by default it is the study's first.
    """
    study = folder.study
    chosen = _contrast(study, contrast)
    _expect_one_path(folder, chosen)
    samples = read_analysed(folder, SAMPLES)
    estimates = {item.cell_id: item for item in estimate(samples, study) if item.contrast == chosen.name}
    cells = {data.cell_id: data for data in Cells(samples, study, [chosen.metric]).of(chosen)}
    found = [
        CellGap(chosen, estimates[cell_id], tuple(cells[cell_id].rounds), _losses(cells[cell_id]))
        for cell_id in find_cells(folder.plan.trials, names or ("all",))
        if cell_id in estimates
    ]
    return found if names else [gap for gap in found if gap.has_verdict]


def read_analysed(folder: RunFolder, name: str) -> pd.DataFrame:
    """Return a table that the analysis of a run wrote; InputError if it is missing or cannot be read."""
    path = folder.path / name
    if not path.exists():
        raise InputError(f"{folder.path} has no {name}", f"longlook report {folder.path} makes it")
    try:
        return pd.read_parquet(files.regular(path))
    except (OSError, ValueError) as error:
        hint = f"longlook report {folder.path} makes it again"
        raise InputError(f"{path} cannot be read: {error}", hint) from error


def _expect_one_path(folder: RunFolder, chosen: Contrast) -> None:
    """Raise InputError if an arm has a second path: the ledger reads one, and would blame that for both."""
    arms = (chosen.baseline, chosen.contender)
    if any(trial.has_second_path for trial in folder.plan.trials if trial.arm in arms):
        raise InputError(
            f"contrast {chosen.name!r}: there is a second path, and the ledger reads the first alone: it does not see "
            "what went over the other",
            "change one thing in a study instead, such as when the client moves (docs/results/moving.md)",
        )


def _losses(cell: CellData) -> float | None:
    """Return how many packets a load lost at random on average; None if the path loses none."""
    losses = cell.random_losses
    return None if losses is None or len(losses) == 0 else float(np.mean(losses))


def _contrast(study: Study, name: str | None) -> Contrast:
    known = {item.name: item for item in study.contrasts}
    if name is not None and name not in known:
        raise InputError(
            f"--contrast {name}: study {study.id} has no such contrast{nearest(name, list(known))}",
            f"its contrasts: {'; '.join(known)}",
        )
    chosen = known[name] if name is not None else study.first_contrast
    if chosen is None:
        raise InputError(
            f"study {study.id} is a scenario: it has one arm and compares nothing, so there is no gap to explain",
            "longlook report RUN --inside CELL draws what happened in its trials",
        )
    if find_metric(chosen.metric).compare is not None:
        raise InputError(
            f"contrast {chosen.name!r}: {chosen.metric} compares arms, so that a change of one arm changes all",
            "name a contrast of another metric by --contrast",
        )
    return chosen
