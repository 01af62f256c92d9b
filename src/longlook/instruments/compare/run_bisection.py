"""Run bisections: over the versions of a stack, and over the commits of a repository."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from longlook.core import InputError, LonglookError, Stack, registry
from longlook.instruments.compare.bisection import (
    BisectionResult,
    Candidates,
    Row,
    VersionFinding,
    candidates,
    first_bad,
)
from longlook.instruments.compare.spec import ComparisonSpec, make_study
from longlook.instruments.compare.steps import BisectionStep, Candidate, Steps
from longlook.pipeline import Observer, RunOptions
from longlook.provision import Commit, History, by_age, is_copied_release, read_history, stack_at, version_of
from longlook.study import ComparedSide

Report = Callable[[BisectionStep], None]
SHORT = 7
"""Digits by which people see a commit."""

_FOLDER = 12
"""Digits of a commit in the name of its run folder."""


@dataclass(frozen=True)
class Bisection:
    """A finished bisection. `step` is about the first bad version or commit.

    `left_out` are the versions between the ends that were not tried, because they are of another kind than the ends.
    `left_out_here` are the ones between the last good version and the first bad one. Any of these may be the first.
    """

    found: BisectionResult
    step: BisectionStep
    left_out: tuple[str, ...] = ()
    left_out_here: tuple[str, ...] = ()


def run_bisection(
    spec: ComparisonSpec, out: Path, options: RunOptions, observer: Observer, report: Report
) -> Bisection:
    """Find the first version after the baseline's, up to the contender's, that is worse.

    Every version is compared with the good one, so that the baseline's trials come from the cache. `report` is called
    after each step. Raises InputError if the two cannot be the ends of a search, LonglookError if the bad version
    is not worse.
    """
    stack = registry.stack(spec.contender.stack)
    searched = _between(stack, spec.baseline, spec.contender)
    make_study(spec)  # a mistake in the comparison itself is no version's fault
    steps = Steps(spec, out, options, observer, report)
    steps.begin(_of_version(spec.baseline.version))

    def test(version: str) -> VersionFinding:
        return steps.take(_of_version(version))

    _expect_worse(steps, _of_version(spec.contender.version))
    if searched.left_out:
        observer.say(f"not searched, because they are of another kind than both ends: {', '.join(searched.left_out)}")
    found = first_bad(Row(searched.versions), test)
    known = _by_age(stack, spec.baseline, spec.contender)
    here = searched.left_out_between(known, found.last_good, found.first_bad)
    return Bisection(found, steps.taken[found.first_bad], searched.left_out, here)


def _of_version(version: str) -> Candidate:
    return Candidate(version, version, lambda: version)


def _between(stack: Stack, good: ComparedSide, bad: ComparedSide) -> Candidates:
    if good.stack != bad.stack:
        raise InputError(f"{good.name} and {bad.name} are different stacks", "name two versions of one stack")
    if good.protocol != bad.protocol:
        raise InputError(f"GOOD speaks {good.protocol} and BAD {bad.protocol}", "bisect over versions alone")
    return candidates(_by_age(stack, good, bad), good.version, bad.version)


def _by_age(stack: Stack, *ends: ComparedSide) -> tuple[str, ...]:
    """Return the known versions with the ends, the oldest first; InputError if an end has no place among them."""
    for end in ends:
        if end.version not in stack.version_names and not is_copied_release(stack, end.version):
            raise InputError(
                f"{end.name} has no place among the releases of {stack.name}",
                "name two releases, or two commits with --git PATH",
            )
    return by_age(stack, [end.version for end in ends])


def _expect_worse(steps: Steps, bad: Candidate) -> None:
    if steps.take(bad) is not VersionFinding.BAD:
        stack = steps.spec.contender.stack
        raise LonglookError(
            f"{stack}@{bad.label} is not worse than {steps.spec.baseline.name} by more than "
            f"{steps.spec.gate_pct:g} %: {steps.taken[bad.name].reason}",
            "name a version that is worse, a network where it shows, a smaller --gate or more --rounds",
        )


@dataclass(frozen=True)
class CommitRange:
    """The commits that a bisection searches, and the stack whose sources they have."""

    history: History
    stack: Stack

    @property
    def ends(self) -> tuple[str, str]:
        """The good and the bad end as sides of a comparison, such as `quic-go@git:PATH#COMMIT`."""
        history, name = self.history, self.stack.name
        return f"{name}@{self._sources(history.good)}", f"{name}@{self._sources(history.bad)}"

    def candidate(self, commit: str) -> Candidate:
        """Return a commit, by its full name, as a candidate."""
        title = self.history.commit(commit).title
        return Candidate(commit[:_FOLDER], commit[:SHORT], lambda: version_of(self.stack, self._sources(commit)), title)

    def _sources(self, commit: str) -> str:
        return f"git:{self.history.repository}#{commit}"


def find_range(repository: Path, good: str, bad: str, stack: str | None) -> CommitRange:
    """Return the commits between two revisions of a repository; `stack` is None if their sources are to tell.

    InputError if the revisions cannot be the ends of a search, or have the sources of no stack or of several.
    """
    history = read_history(repository.expanduser().absolute(), good, bad)
    found = stack_at(history.repository, history.bad) if stack is None else registry.stack(stack)
    return CommitRange(history, found)


@dataclass(frozen=True)
class CommitBisection:
    """A finished bisection over commits. `commits` has the commits of `found`, by their full names; see `Bisection`."""

    found: BisectionResult
    step: BisectionStep
    commits: Mapping[str, Commit]
    is_merge: bool
    """Whether the first bad commit has several parents."""


def run_commit_bisection(
    spec: ComparisonSpec, searched: CommitRange, out: Path, options: RunOptions, observer: Observer, report: Report
) -> CommitBisection:
    """Find the first commit that is worse than the good one, in the order of `git bisect`.

    `spec` compares the good and the bad end of `searched`. If the good one is no ancestor of the bad one, their merge
    bases are compared with it first. `report` is called after each step. Raises LonglookError if the bad end is not
    worse or a merge base is.
    """
    history = searched.history
    make_study(spec)  # a mistake in the comparison itself is no commit's fault
    steps = Steps(spec, out, options, observer, report)
    steps.begin(searched.candidate(history.good))

    def test(name: str) -> VersionFinding:
        return steps.take(searched.candidate(name))

    _expect_worse(steps, searched.candidate(history.bad))
    _try_merge_bases(searched, steps, observer)
    between = len(history.names) - 1
    observer.say(f"{between} {'commit' if between == 1 else 'commits'} between, about {between.bit_length()} to try")
    found = first_bad(history, test)
    named = (found.last_good, found.first_bad, *found.between)
    return CommitBisection(
        found,
        steps.taken[found.first_bad[:_FOLDER]],
        {name: history.commit(name) for name in named},
        history.is_merge(found.first_bad),
    )


def _try_merge_bases(searched: CommitRange, steps: Steps, observer: Observer) -> None:
    """Compare the merge bases with the good end; LonglookError if one is worse: then no search between makes sense."""
    good, history = searched.history.good, searched.history
    for name in history.merge_bases:
        base = searched.candidate(name)
        observer.say(f"{good[:SHORT]} is no ancestor of BAD, so their merge base {base.label} is tried first")
        finding = steps.take(base)
        if finding is VersionFinding.BAD:
            raise LonglookError(
                f"the merge base {base.label} is worse, too: {steps.taken[base.name].reason}",
                f"the change for the worse is older, and {good[:SHORT]} lacks it: name an ancestor of BAD as GOOD",
            )
        if finding is VersionFinding.UNTESTABLE:
            observer.say(f"{base.label} cannot be tested; the search assumes that it is not worse")
