"""Run a comparison, judge it and explain it."""

import time
from collections.abc import Mapping
from pathlib import Path

from longlook.core import MachineError, RunFolder, registry
from longlook.explain import Answer
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
    found = registry.stack(name).version(version)
    return "" if found.of else found.released  # a commit is no release


def why_not_built(side: ComparedSide, observer: Observer) -> str:
    """Build a side of a comparison; return the last line of what went wrong, "" if it is built."""
    try:
        install(side.name, observer.say)
    except MachineError as error:
        return last_line(error.message)
    return ""


def last_line(text: str) -> str:
    """Return the last line of a text that has more than spaces."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), text)


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
