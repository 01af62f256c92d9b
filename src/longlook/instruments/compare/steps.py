"""The steps of a bisection: each compares one candidate with the baseline, and equal programs are compared once."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from longlook.core import InputError, MachineError
from longlook.instruments.compare.bisection import VersionFinding
from longlook.instruments.compare.gate import GateAnswer, GateVerdict
from longlook.instruments.compare.run import last_line, run_comparison
from longlook.instruments.compare.spec import ComparisonSpec, make_study
from longlook.pipeline import Observer, RunOptions
from longlook.provision import install


@dataclass(frozen=True)
class Candidate:
    """A version or commit that may be the first bad one. `name` is unique among all, `title` a commit's.

    `version` returns the name of the stack's version, after copying sources; it raises InputError if they cannot be
    built.
    """

    name: str
    label: str
    version: Callable[[], str]
    title: str = ""


@dataclass(frozen=True)
class BisectionStep:
    """A candidate that a bisection tried. `reason` says how its finding came about.

    `verdict` and the run folder belong to the comparison of this candidate, or of one with an equal program; they are
    None if there was no comparison.
    """

    candidate: Candidate
    finding: VersionFinding
    reason: str
    verdict: GateVerdict | None = None
    folder: Path | None = None


@dataclass
class Steps:
    """Compares candidates with the baseline of `spec` in run folders below `out`, and reports each step."""

    spec: ComparisonSpec
    out: Path
    options: RunOptions
    observer: Observer
    report: Callable[[BisectionStep], None]
    taken: dict[str, BisectionStep] = field(default_factory=dict)
    _by_program: dict[str, BisectionStep] = field(default_factory=dict)

    def begin(self, baseline: Candidate) -> None:
        """Build the baseline, which is good; raise what `install` raises."""
        program = install(self.spec.baseline.name, self.observer.say)
        self._by_program[program.digest] = BisectionStep(baseline, VersionFinding.GOOD, "it is the baseline")

    def take(self, candidate: Candidate) -> VersionFinding:
        """Compare a candidate, unless its program was compared before, and report the step."""
        step = self.taken[candidate.name] = self._take(candidate)
        self.report(step)
        return step.finding

    def _take(self, candidate: Candidate) -> BisectionStep:
        try:
            side = replace(self.spec.contender, version=candidate.version())
            spec = replace(self.spec, contender=side)
            program = install(side.name, self.observer.say)
            make_study(spec)
        except (InputError, MachineError) as error:
            return BisectionStep(candidate, VersionFinding.UNTESTABLE, last_line(error.message))
        if (known := self._by_program.get(program.digest)) is not None:
            reason = f"its program equals that of {known.candidate.label} byte for byte"
            return replace(known, candidate=candidate, reason=reason)
        step = self._compare(candidate, spec)
        self._by_program[program.digest] = step
        return step

    def _compare(self, candidate: Candidate, spec: ComparisonSpec) -> BisectionStep:
        folder = self.out / candidate.name
        _, judged = run_comparison(spec, folder, self.options, self.observer)
        cases = judged.verdict.cases
        worse = [case for case in cases if case.answer is GateAnswer.WORSE]
        open_ones = [case for case in cases if case.answer in (GateAnswer.UNMEASURED, GateAnswer.UNDECIDED)]
        reason = "; ".join(f"{case.name}: {case.reason}" for case in worse or open_ones or cases)
        finding = VersionFinding.UNTESTABLE if open_ones else VersionFinding.GOOD
        if worse:
            finding = VersionFinding.BAD
        return BisectionStep(candidate, finding, reason, judged.verdict, folder)
