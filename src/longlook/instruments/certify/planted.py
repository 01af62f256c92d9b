"""`longlook explain --certify`: cases with planted causes are run and explained blind, and what was said is counted.

The arms are called `a` and `b`; which of them has the planted cause is decided by a hash of the case's name. Nothing
that explains them knows the case.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from longlook.core import (
    InputError,
    Problems,
    RunFolder,
    Study,
    adapters_dir,
    add_plugins,
    codec,
    names_in,
    nearest,
    write_json,
)
from longlook.explain import ENDS, Answer, Conclusion, Explained, FoundBy
from longlook.instruments.certify.planted_cases import CASES, DEFAULT_CELL, PATCHED, Planted
from longlook.pipeline import ExplainRequest, Observer, RunOptions, explain_run, sample_study
from longlook.study import installed, parse_study, uniform

MATRIX = "planted.json"
ROUNDS = 10


@dataclass(frozen=True)
class PlantedOutcome:
    """The answer about a case.

    `share_pct` and its interval are of the one expected cause, by the change that `change` says. All of the gap was
    planted, but only a change that undoes just that closes 100 % of it.
    """

    case: str
    expected: tuple[str, ...]
    status: str
    gap_pct: float | None
    suspected: tuple[str, ...]
    confirmed: tuple[str, ...]
    missed: tuple[str, ...]
    wrong: tuple[str, ...]  # confirmed, and neither expected nor another name of it, or of the other end
    placed: tuple[str, ...] = ()  # said where the gap arises, or at which end
    not_placed: tuple[str, ...] = ()  # true places that were not said
    change: str = ""
    share_pct: float | None = None
    ci_low_pct: float | None = None
    ci_high_pct: float | None = None
    trials: int = 0


@dataclass(frozen=True)
class PlantedMatrix:
    """All cases. A decoy, of which no cause at an end is true, is blamed if one was confirmed that is no name of it."""

    cases: tuple[PlantedOutcome, ...]

    @property
    def planted(self) -> int:
        """How many causes were planted."""
        return sum(len(case.expected) for case in self.cases)

    @property
    def recalled(self) -> int:
        """How many of them were confirmed."""
        return self.planted - sum(len(case.missed) for case in self.cases)

    @property
    def confirmed(self) -> int:
        """How many causes were confirmed."""
        return sum(len(case.confirmed) for case in self.cases)

    @property
    def wrong(self) -> int:
        """The number of confirmed causes that were not planted."""
        return sum(len(case.wrong) for case in self.cases)

    @property
    def placed(self) -> tuple[int, int]:
        """How many true places there are, and how many of them were said."""
        true = sum(len(case.where) for case in CASES if case.name in {found.case for found in self.cases})
        return true, true - sum(len(found.not_placed) for found in self.cases)

    @property
    def decoys(self) -> tuple[int, int]:
        """How many decoys there are, and how many were blamed."""
        own = [case for case in self.cases if not case.expected]
        return len(own), sum(bool(case.wrong) for case in own)


def certify_explanations(out: Path, names: Sequence[str], options: RunOptions, observer: Observer) -> PlantedMatrix:
    """Run and explain the cases that are named, all by default, in the folder `out`; return what was said of them.

    Trials that `out` has are not run again. Raises InputError for an unknown name.
    """
    found: list[PlantedOutcome] = []
    add_plugins(*(adapters_dir() / folder for folder in PATCHED))
    for case in _chosen(names):
        observer.say(f"case: {case.name}")
        study = study_of(case)
        folder = out / "cases" / study.id
        if not (folder / "samples.parquet").exists():
            resumed = replace(options, resume=(folder / "manifest.json").exists())
            sample_study(study, folder, resumed, observer)
        answers = explain_run(RunFolder.open(folder), ExplainRequest(("all",)), options, observer)
        found.append(judged(case, answers[0]))
        write_json(out / MATRIX, codec.encode(tuple(found)))
    return PlantedMatrix(tuple(found))


def study_of(case: Planted) -> Study:
    """Return the study of a case: two arms that differ in what is planted, in one cell."""
    planted_is_a = uniform("planted", case.name) < 0.5
    ill, well = ("a", "b") if planted_is_a else ("b", "a")
    settings = {**DEFAULT_CELL, **case.cell}
    own_path = {key: value for key, value in case.planted.items() if _is_of_path(key)}
    planted = {key: value for key, value in case.planted.items() if key not in own_path}
    arms = {well: _tables(case.base), ill: _tables({**case.base, **planted})}
    document: dict[str, Any] = {
        "schema": 1,
        "title": "Two arms",
        "question": "Why is one of them worse?",
        "rounds": ROUNDS,
        "timeout": "120s",
        "metrics": ["page_load_time"],
        "arms": {name: {"label": f"arm {name}", **arms[name]} for name in ("a", "b")},
        "workload": _below(settings, "workload."),
        "network": _tables(_below(settings, "network.")),
        **{name: _tables(_below(settings, f"{name}.")) for name in names_in(settings)},
        "factors": [{"name": "rate", "sets": "network.rate", "levels": [settings["network.rate"]]}],
        "contrasts": [{"name": "b vs a", "baseline": "a", "contender": "b", "metric": "page_load_time"}],
    }
    document["network"].pop("rate")
    study = parse_study(f"case-{codec.content_hash(case.name, 8)}", document, Problems("case"), installed())
    with_path = {arm.name: replace(arm, settings={**arm.settings, **own_path}) for arm in study.arms if arm.name == ill}
    return replace(study, arms=tuple(with_path.get(arm.name, arm) for arm in study.arms))


def _is_of_path(key: str) -> bool:
    """Return whether a setting is of the path, which study files give to all arms alike; surgery they give to one."""
    return key.startswith("network.") and not key.startswith("network.surgery.")


def judged(case: Planted, answer: Answer) -> PlantedOutcome:
    """Return what an answer says of a case.

    A setting that screening found is right if it is the planted setting. Single losses that were found by delta
    debugging are left out: to forgive them closes a gap whatever the cause.
    """
    named = [item for item in answer.findings if item.found_by is not FoundBy.LOSSES]
    confirmed = tuple(item.cause for item in named if item.is_confirmed)
    placed = tuple(item.cause for item in named if item.is_placed)
    true = {*case.expected, *case.also, *case.planted}
    other_end = {item.cause for item in named if (item.is_confirmed or item.is_placed) and _other_end(case, item)}
    share = _share_of(answer.findings, case.expected)
    return PlantedOutcome(
        case=case.name,
        expected=case.expected,
        status=str(answer.status),
        gap_pct=answer.gap_pct,
        suspected=tuple(item.cause for item in named),
        confirmed=confirmed,
        missed=tuple(name for name in case.expected if name not in confirmed),
        wrong=tuple(
            name for name in (*confirmed, *placed) if name in other_end or (name in confirmed and name not in true)
        ),
        placed=placed,
        not_placed=tuple(name for name in case.where if name not in placed),
        **share,
        trials=answer.trials,
    )


def _other_end(case: Planted, item: Explained) -> bool:
    """Return whether a finding blames, or names, the end that both arms have alike."""
    names = item.is_confirmed or item.conclusion is Conclusion.WHICH_END
    return bool(case.end) and names and item.role in ENDS and item.role != case.end


def _share_of(findings: Sequence[Explained], expected: Sequence[str]) -> dict[str, Any]:
    """Return the share of the gap that the cure of the one planted cause closes, with its interval."""
    if len(expected) != 1:
        return {}
    best = next((item.best for item in findings if item.cause == expected[0]), None)
    if best is None or best.share is None:
        return {}
    return {
        "change": best.change,
        "share_pct": best.share.share_pct,
        "ci_low_pct": best.share.ci_low_pct,
        "ci_high_pct": best.share.ci_high_pct,
    }


def _chosen(names: Sequence[str]) -> list[Planted]:
    known = {case.name: case for case in CASES}
    for name in names:
        if name not in known:
            raise InputError(f"--case {name}: no such case{nearest(name, list(known))}", f"cases: {'; '.join(known)}")
    return [case for case in CASES if not names or case.name in names]


def _below(settings: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    return {key.removeprefix(prefix): value for key, value in settings.items() if key.startswith(prefix)}


def _tables(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return dotted keys as the tables of a study file."""
    tables: dict[str, Any] = {}
    for key, value in settings.items():
        first, dot, rest = key.partition(".")
        if dot:
            tables.setdefault(first, {})[rest] = value
        else:
            tables[first] = value
    return tables
