"""Run comparisons and judge them: one for `longlook compare`, several for `longlook bisect`."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from longlook.compare.bisection import Finding, Found, first_bad
from longlook.compare.gate import Answer, Verdict, judge_gate
from longlook.compare.output import Judged
from longlook.compare.spec import ComparisonSpec, Side, make_study
from longlook.core import registry
from longlook.core.errors import InputError, LonglookError, MachineError
from longlook.core.run_folder import RunFolder
from longlook.core.stack import Stack
from longlook.pipeline.analyse import Result
from longlook.pipeline.options import Observer, RunOptions
from longlook.pipeline.run import run_study
from longlook.provision.setup import install


def run_comparison(spec: ComparisonSpec, out: Path, options: RunOptions, observer: Observer) -> tuple[Result, Judged]:
    """Run the comparison in the folder `out`, judge it and report it."""
    study = make_study(spec)
    began_s = time.monotonic()
    result = run_study(study, out, options, observer)
    manifest = RunFolder.open(out).manifest
    programs: Mapping[str, str] = manifest["programs"]
    judged = Judged(
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
class Step:
    """A version that a bisection tried. `verdict` is None where it could not be tested; `reason` says why."""

    version: str
    finding: Finding
    verdict: Verdict | None
    reason: str


def run_bisection(
    spec: ComparisonSpec, out: Path, options: RunOptions, observer: Observer, report: Callable[[Step], None]
) -> tuple[Found, Step]:
    """Return the first version after the baseline's, up to the contender's, that is worse; and its step.

    Every version is compared with the good one, so that the baseline's trials come from the cache. `report` is called
    after each step. Raises InputError where the two cannot be the ends of a search, LonglookError where the bad version
    is not worse.
    """
    stack = registry.stack(spec.contender.stack)
    versions = _between(stack, spec.baseline, spec.contender)
    make_study(spec)  # a mistake in the comparison itself is no version's fault
    steps: dict[str, Step] = {}

    def test(version: str) -> Finding:
        side = replace(spec.contender, version=version)
        step = steps[version] = _try(replace(spec, contender=side), out / version, options, observer)
        report(step)
        return step.finding

    bad = spec.contender.version
    if test(bad) is not Finding.BAD:
        raise LonglookError(
            f"{spec.contender.name} is not worse than {spec.baseline.name} by more than {spec.gate_pct:g} %: "
            f"{steps[bad].reason}",
            "name a version that is worse, a network where it shows, a smaller --gate or more --rounds",
        )
    found = first_bad(versions, test)
    return found, steps[found.first_bad]


def _between(stack: Stack, good: Side, bad: Side) -> list[str]:
    if good.stack != bad.stack:
        raise InputError(f"{good.name} and {bad.name} are different stacks", "name two versions of one stack")
    if good.protocol != bad.protocol:
        raise InputError(f"GOOD speaks {good.protocol} and BAD {bad.protocol}", "bisect over versions alone")
    names = list(stack.version_names)  # with variants of a release such as 1.0+patch, which are no step of its history
    first, last = names.index(good.version), names.index(bad.version)
    if first >= last:
        raise InputError(f"{good.name} is not older than {bad.name}", f"in order of age: {', '.join(names)}")
    return [name for name in names[first : last + 1] if "+" not in name or name in (good.version, bad.version)]


def _try(spec: ComparisonSpec, out: Path, options: RunOptions, observer: Observer) -> Step:
    version = spec.contender.version
    try:
        install(spec.contender.name, observer.say)
        make_study(spec)
    except (InputError, MachineError) as error:
        return Step(version, Finding.UNTESTABLE, None, error.message)
    _, judged = run_comparison(spec, out, options, observer)
    cases = judged.verdict.cases
    worse = [case for case in cases if case.answer is Answer.WORSE]
    open_ones = [case for case in cases if case.answer in (Answer.UNMEASURED, Answer.UNDECIDED)]
    decisive = worse or open_ones or cases
    reason = "; ".join(f"{case.name}: {case.reason}" for case in decisive)
    if worse:
        return Step(version, Finding.BAD, judged.verdict, reason)
    return Step(version, Finding.UNTESTABLE if open_ones else Finding.GOOD, judged.verdict, reason)
