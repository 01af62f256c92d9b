"""Run comparisons, judge them and explain them: one for `longlook compare`, several for `longlook bisect`."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from longlook.core import InputError, LonglookError, MachineError, RunFolder, Stack, registry
from longlook.explain import Answer
from longlook.instruments.compare.bisection import BisectionResult, Candidates, VersionFinding, candidates, first_bad
from longlook.instruments.compare.gate import GateAnswer, GateVerdict, judge_gate
from longlook.instruments.compare.output import JudgedComparison
from longlook.instruments.compare.spec import ComparisonSpec, make_study
from longlook.pipeline import ExplainRequest, Observer, Result, RunOptions, explain_run, run_study
from longlook.provision import install
from longlook.study import ComparedSide


def run_comparison(
    spec: ComparisonSpec, out: Path, options: RunOptions, observer: Observer
) -> tuple[Result, JudgedComparison]:
    """Run the comparison in the folder `out`, judge it and report it."""
    study = make_study(spec)
    began_s = time.monotonic()
    result = run_study(study, out, options, observer)
    manifest = RunFolder.open(out).manifest
    programs: Mapping[str, str] = manifest["programs"]
    judged = JudgedComparison(
        spec,
        study.title,
        judge_gate(result.estimates, spec.gate_pct, study.analysis),
        programs,
        {name: _released(name) for name in programs},
        options.engine.name,
        manifest["command"],
        str(result.report),
        time.monotonic() - began_s,
    )
    return result, judged


def _released(program: str) -> str:
    name, at, version = program.partition("@")
    if not at:
        return ""
    stack = registry.stack(name)
    return stack.version(version).released


@dataclass(frozen=True)
class BisectionStep:
    """A version that a bisection tried. `verdict` is None if it could not be tested; `reason` says why."""

    version: str
    finding: VersionFinding
    verdict: GateVerdict | None
    reason: str


@dataclass(frozen=True)
class Bisection:
    """A finished bisection. `step` is about the first bad version.

    `left_out` are the versions between the ends that were not tried, because they are of another kind than the ends.
    `left_out_here` are the ones between the last good version and the first bad one. Any of these may be the first.
    """

    found: BisectionResult
    step: BisectionStep
    left_out: tuple[str, ...]
    left_out_here: tuple[str, ...]


def run_bisection(
    spec: ComparisonSpec, out: Path, options: RunOptions, observer: Observer, report: Callable[[BisectionStep], None]
) -> Bisection:
    """Find the first version after the baseline's, up to the contender's, that is worse.

    Every version is compared with the good one, so that the baseline's trials come from the cache. `report` is called
    after each step. Raises InputError if the two cannot be the ends of a search, LonglookError if the bad version
    is not worse.
    """
    stack = registry.stack(spec.contender.stack)
    searched = _between(stack, spec.baseline, spec.contender)
    make_study(spec)  # a mistake in the comparison itself is no version's fault
    steps: dict[str, BisectionStep] = {}

    def test(version: str) -> VersionFinding:
        side = replace(spec.contender, version=version)
        step = steps[version] = _try(replace(spec, contender=side), out / version, options, observer)
        report(step)
        return step.finding

    bad = spec.contender.version
    if test(bad) is not VersionFinding.BAD:
        raise LonglookError(
            f"{spec.contender.name} is not worse than {spec.baseline.name} by more than {spec.gate_pct:g} %: "
            f"{steps[bad].reason}",
            "name a version that is worse, a network where it shows, a smaller --gate or more --rounds",
        )
    if searched.left_out:
        observer.say(f"not searched, because they are of another kind than both ends: {', '.join(searched.left_out)}")
    found = first_bad(searched.versions, test)
    here = searched.left_out_between(stack.version_names, found.last_good, found.first_bad)
    return Bisection(found, steps[found.first_bad], searched.left_out, here)


def _between(stack: Stack, good: ComparedSide, bad: ComparedSide) -> Candidates:
    if good.stack != bad.stack:
        raise InputError(f"{good.name} and {bad.name} are different stacks", "name two versions of one stack")
    if good.protocol != bad.protocol:
        raise InputError(f"GOOD speaks {good.protocol} and BAD {bad.protocol}", "bisect over versions alone")
    return candidates(stack.version_names, good.version, bad.version)


def _try(spec: ComparisonSpec, out: Path, options: RunOptions, observer: Observer) -> BisectionStep:
    version = spec.contender.version
    try:
        install(spec.contender.name, observer.say)
        make_study(spec)
    except (InputError, MachineError) as error:
        return BisectionStep(version, VersionFinding.UNTESTABLE, None, error.message)
    _, judged = run_comparison(spec, out, options, observer)
    cases = judged.verdict.cases
    worse = [case for case in cases if case.answer is GateAnswer.WORSE]
    open_ones = [case for case in cases if case.answer in (GateAnswer.UNMEASURED, GateAnswer.UNDECIDED)]
    decisive = worse or open_ones or cases
    reason = "; ".join(f"{case.name}: {case.reason}" for case in decisive)
    if worse:
        return BisectionStep(version, VersionFinding.BAD, judged.verdict, reason)
    return BisectionStep(
        version, VersionFinding.UNTESTABLE if open_ones else VersionFinding.GOOD, judged.verdict, reason
    )


def explain_worse(
    verdict: GateVerdict, out: Path, budget: int | None, options: RunOptions, observer: Observer
) -> list[Answer]:
    """Explain every network and metric in which the contender of the comparison in the run folder `out` is worse.

    Raises what `explain_run` raises. A network in which the contender only fails more is explained by its outcomes.
    """
    worse: dict[str, list[str]] = {}
    for case in verdict.cases:
        if case.answer is GateAnswer.WORSE:
            cells = worse.setdefault(case.estimate.contrast, [])
            if case.estimate.cell_id not in cells:
                cells.append(case.estimate.cell_id)
    folder = RunFolder.open(out)
    return [
        answer
        for contrast, cells in worse.items()
        for answer in explain_run(folder, ExplainRequest(tuple(cells), contrast, budget), options, observer)
    ]
