"""Why a comparison did not pass: an explanation of each case in which the contender is worse."""

from pathlib import Path

from longlook.core.run_folder import RunFolder
from longlook.explain.answer import Answer
from longlook.instruments.compare.gate import GateAnswer, GateVerdict
from longlook.pipeline.explain import ExplainRequest, explain_run
from longlook.pipeline.options import Observer, RunOptions


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
