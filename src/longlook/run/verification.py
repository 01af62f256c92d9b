"""The comparison of trials with their repeats, and its sums for tables and files. Pure."""

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from longlook.core import Outcome, Trial

LINK_LOG, TIMELINE, SAMPLES = "link.bin", "timeline", "samples"
RUN_RECORD = "run.json"
WATCHED = (LINK_LOG, TIMELINE, SAMPLES)
"""Parts of a trial that tables count separately; every file of a trial counts for the verdict."""


@dataclass(frozen=True)
class TrialDigest:
    """A finished trial in digests: `files` (path → SHA-256, run.json among them), its timeline's, and its values."""

    outcome: Outcome
    files: Mapping[str, str]
    timeline: str | None  # None where the trial did not go well
    samples: Mapping[str, float | None]
    load_s: float | None  # page load time, seconds


def differences(kept: TrialDigest, again: TrialDigest) -> tuple[str, ...]:
    """Return what is not the same, nearest to the cause first; empty if everything is the same.

    The link log comes first: it is the one observer outside both programs. `run.json` comes last, because it names the
    digests of all others and so differs whenever one of them does.
    """
    names = sorted({*kept.files, *again.files} - {RUN_RECORD}, key=lambda name: (name != LINK_LOG, name))
    pairs: list[tuple[str, object, object]] = [(name, kept.files.get(name), again.files.get(name)) for name in names]
    pairs += [(TIMELINE, kept.timeline, again.timeline), (SAMPLES, kept.samples, again.samples)]
    pairs += [(RUN_RECORD, kept.files.get(RUN_RECORD), again.files.get(RUN_RECORD))]
    return tuple(name for name, before, after in pairs if before != after)


@dataclass(frozen=True)
class Repeat:
    """One time that a trial was run again. `unable`: why it could not run, and so says nothing of the trial."""

    differing: tuple[str, ...]
    outcome: Outcome
    load_s: float | None
    unable: str | None = None


@dataclass(frozen=True)
class Checked:
    """The repeats of one trial, summed up. One that is not exact (a browser's) has a spread instead of a verdict."""

    trial_id: str
    arm: str
    cell: Mapping[str, str]
    cell_id: str
    round: int  # from 0
    attempt: int
    exact: bool
    repeats: int  # that could run
    identical: int  # repeats in which every file was the same
    same: Mapping[str, int]  # of WATCHED → repeats in which it was the same
    first_difference: str | None = None  # of the first repeat that differed
    outcomes: Mapping[str, int] = field(default_factory=dict)  # of the kept attempt and its repeats
    load_median_s: float | None = None  # page load time of the kept attempt and its repeats
    load_deviation_s: float | None = None  # the largest from that median
    divergent: str | None = None  # where the first diverging repeat is, below the run folder
    unable: tuple[str, ...] = ()  # why other repeats could not run

    @property
    def diverged(self) -> bool:
        """Whether a promise was broken."""
        return self.exact and self.identical < self.repeats


def check(trial: Trial, attempt: int, kept: TrialDigest, repeats: Sequence[Repeat], *, exact: bool) -> Checked:
    """Sum up the repeats of one trial."""
    ran = [repeat for repeat in repeats if repeat.unable is None]
    loads = [load_s for load_s in (kept.load_s, *(repeat.load_s for repeat in ran)) if load_s is not None]
    median_s = statistics.median(loads) if loads else None
    return Checked(
        trial_id=trial.id,
        arm=trial.arm,
        cell=trial.cell,
        cell_id=trial.cell_id,
        round=trial.round,
        attempt=attempt,
        exact=exact,
        repeats=len(ran),
        identical=sum(not repeat.differing for repeat in ran),
        same={name: sum(name not in repeat.differing for repeat in ran) for name in WATCHED},
        first_difference=next((repeat.differing[0] for repeat in ran if repeat.differing), None),
        outcomes=dict(Counter(str(outcome) for outcome in (kept.outcome, *(repeat.outcome for repeat in repeats)))),
        load_median_s=median_s,
        load_deviation_s=None if median_s is None else max(abs(load_s - median_s) for load_s in loads),
        unable=tuple(repeat.unable for repeat in repeats if repeat.unable is not None),
    )


@dataclass(frozen=True)
class Verification:
    """All trials that were run again, in the order of the plan (`verification.json`)."""

    repeats: int  # of each trial
    trials: tuple[Checked, ...]

    @property
    def diverged(self) -> list[Checked]:
        """Return the exact trials that did not give the same again."""
        return [trial for trial in self.trials if trial.diverged]

    @property
    def unable(self) -> str:
        """Return in a sentence how many repeats could not run and why the first could not; empty if all ran."""
        reasons = [reason for trial in self.trials for reason in trial.unable]
        if not reasons:
            return ""
        return f"{len(reasons)} of {self.repeats * len(self.trials)} repeats could not run: {reasons[0]}"


@dataclass(frozen=True)
class Group:
    """The trials of one arm in one cell."""

    arm: str
    cell: Mapping[str, str]
    trials: int
    repeats: int
    identical: int
    same: Mapping[str, int]
    exact: bool
    load_median_s: float | None
    load_deviation_s: float | None  # the largest of any trial from its own median

    @property
    def diverged(self) -> bool:
        """Whether a promise was broken."""
        return self.exact and self.identical < self.repeats


def groups(trials: Iterable[Checked]) -> list[Group]:
    """Group by arm and cell, exact trials apart from others, in the order in which each first appears."""
    gathered: dict[tuple[str, str, bool], list[Checked]] = {}
    for trial in sorted(trials, key=lambda trial: trial.round):  # the first round holds every arm and cell
        gathered.setdefault((trial.cell_id, trial.arm, trial.exact), []).append(trial)
    return [_group(members) for members in gathered.values()]


def _group(members: Sequence[Checked]) -> Group:
    medians = [trial.load_median_s for trial in members if trial.load_median_s is not None]
    deviations = [trial.load_deviation_s for trial in members if trial.load_deviation_s is not None]
    return Group(
        arm=members[0].arm,
        cell=members[0].cell,
        trials=len(members),
        repeats=sum(trial.repeats for trial in members),
        identical=sum(trial.identical for trial in members),
        same={name: sum(trial.same.get(name, 0) for trial in members) for name in WATCHED},
        exact=members[0].exact,
        load_median_s=statistics.median(medians) if medians else None,
        load_deviation_s=max(deviations, default=None),
    )
