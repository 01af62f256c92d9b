"""Answers of a finished run over a population of users: from its samples and estimates alone, no trial runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from longlook.analysis import (
    AnswerOfUsers,
    Cells,
    Placing,
    Users,
    answer,
    cells_with_quantities,
    declared_users,
    estimates_from_table,
    mean_over_users,
    place,
    read_users,
)
from longlook.core import SAMPLES, Contrast, Estimate, InputError, RunFolder, allowed, files
from longlook.pipeline.result_files import ESTIMATES


@dataclass(frozen=True)
class UsersAnswered:
    """The answers of a run over users: each contrast's two arms by each metric that was asked for, every combination of
    levels of factors that stay apart by itself. `means` are of single arms: (arm, metric, combination) → mean.
    """

    users: Users
    run: Path
    placings: Sequence[Placing]
    answers: Sequence[AnswerOfUsers]
    means: dict[tuple[str, str, int], float | None]
    arms: dict[str, tuple[str, str]]  # contrast → arms
    without: Sequence[str]  # metrics of which no cell has a value of both arms


def users_of(folder: RunFolder, users_file: Path | None) -> Users:
    """Return the users of a file, or of a run's own population; InputError if there is neither."""
    if users_file is not None:
        return read_users(users_file)
    if folder.study.population is None:
        raise InputError(f"{folder.study.id} has no population of its own", "name a file of users: --users users.toml")
    return declared_users(folder.study.population)


def answer_users(folder: RunFolder, users: Users, metrics: Sequence[str] = ()) -> UsersAnswered:
    """Return the answers of a run over users.

    `metrics` defaults to all of the study's. Raise InputError if there are no samples, or if the run has no such
    metric.
    """
    study = folder.study
    if unknown := [name for name in metrics if name not in study.metrics]:
        raise InputError(f"--metric {unknown[0]}: not measured in this run", allowed(unknown[0], study.metrics))
    if not study.contrasts:
        raise InputError(f"{study.id} compares nothing", "a population is about contrasts of a study")
    samples, estimates = _tables(folder)
    asked = [name for name in study.metrics if name in metrics] if metrics else list(study.metrics)
    by_cell = Cells(samples, study, asked)
    ran = list(dict.fromkeys(samples["cell"].astype(str)))
    placings = place(users, study, cells_with_quantities(study, ran))
    pairs = {(each.baseline, each.contender): each for each in reversed(study.contrasts)}
    answers: list[AnswerOfUsers] = []
    arms: dict[str, tuple[str, str]] = {}
    without = []
    for metric in asked:
        before = len(answers)
        for (baseline, contender), each in reversed(pairs.items()):
            name = each.name if each.metric == metric else f"{contender} vs {baseline}"
            contrast = Contrast(name, baseline, contender, metric)
            known = {
                item.cell_id: item
                for item in estimates
                if (item.baseline, item.contender, item.metric) == (baseline, contender, metric)
            }
            arms[name] = (baseline, contender)
            found = (answer(users, placing, by_cell, contrast, study, known) for placing in placings)
            answers += [item for item in found if item is not None]
        without += [metric] if len(answers) == before else []
    if not answers:
        placed = sum(placing.weights.sum() for placing in placings)
        why = "no cell stands for any of them" if placed == 0 else "their cells have no load of both arms"
        reasons = "; ".join(f"{share:.0%}: {reason}" for item in placings for reason, share in item.reasons.items())
        raise InputError(
            f"nothing can be said of these users: {why}{f' ({reasons})' if reasons else ''}",
            'run a study whose cells are nearer, or write outside = "nearest" in the file of users',
        )
    means = {
        (arm.name, metric, at): mean_over_users(placing, by_cell, arm.name, metric)
        for arm in study.arms
        for metric in asked
        for at, placing in enumerate(placings)
    }
    return UsersAnswered(users, folder.path, placings, answers, means, arms, without)


def _tables(folder: RunFolder) -> tuple[pd.DataFrame, list[Estimate]]:
    again = f"longlook report {folder.path}"
    try:
        samples = pd.read_parquet(files.regular(folder.path / SAMPLES))
        return samples, list(estimates_from_table(pd.read_parquet(files.regular(folder.path / ESTIMATES))))
    except OSError as error:
        raise InputError(f"{folder.path} was not measured yet: {error}", again) from error
    except (ValueError, KeyError, TypeError) as error:  # ValueError of pyarrow, too
        raise InputError(f"the tables of {folder.path} are damaged: {error}", again) from error
