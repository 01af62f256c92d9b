"""Name the resource that the host lacked if results in real and virtual time disagree. Pure."""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from longlook.core import Estimate, Outcome, Run, Study, Trial, Verdict

_LIVE = "live"
_PROGRAMS = ("client", "server")
_AGREEING = (Verdict.EQUIVALENT, Verdict.INCONCLUSIVE)


@dataclass(frozen=True)
class _Used:
    """The medians over the live trials of an arm in a cell."""

    cpu_s: float  # client and server
    late_s: float  # the link's latest packet


def attribute_bottlenecks(
    estimates: Sequence[Estimate], study: Study, attempts: Iterable[tuple[Trial, Run]], engine: str
) -> list[Estimate]:
    """Return the estimates, with a reason for each that compares engines and disagrees. `engine` is the run's own.

    The processors can explain a difference only if the programs used at least as much CPU time as the difference is
    long, and the link only if its packets were that late.
    """
    good = [(trial, run) for trial, run in attempts if run.outcome is Outcome.OK and run.engine == _LIVE]
    engines = {arm.name: str(arm.settings.get("engine", study.settings.get("engine", engine))) for arm in study.arms}
    return [_explained(estimate, engines, good) for estimate in estimates]


def _explained(estimate: Estimate, engines: dict[str, str], live: list[tuple[Trial, Run]]) -> Estimate:
    arms = (estimate.baseline, estimate.contender)
    real = [arm for arm in arms if engines.get(arm) == _LIVE]
    if len(real) != 1 or estimate.verdict in _AGREEING or estimate.unit != "s":
        return estimate
    runs = [run for trial, run in live if trial.arm == real[0] and trial.cell_id == estimate.cell_id]
    if not runs or estimate.baseline_median is None or estimate.contender_median is None:
        return estimate
    used = _Used(
        cpu_s=statistics.median(sum(run.cpu_s.get(name, 0.0) for name in _PROGRAMS) for run in runs),
        late_s=statistics.median(run.guard.get("max_late_ms", 0.0) for run in runs) / 1e3,
    )
    difference_s = abs(estimate.baseline_median - estimate.contender_median)
    sentence = _sentence(used, difference_s)
    return replace(estimate, reason=sentence if estimate.reason is None else f"{estimate.reason}; {sentence}")


def _sentence(used: _Used, difference_s: float) -> str:
    facts = (
        f"the engines differ by {difference_s * 1e3:.1f} ms; on the host client and server used "
        f"{used.cpu_s * 1e3:.1f} ms of CPU, and the link's latest packet was {used.late_s * 1e3:.2f} ms late"
    )
    if used.cpu_s >= difference_s:
        return f"{facts}: the host's processors can account for it"
    if used.late_s >= difference_s:
        return f"{facts}: the link's lateness can account for it"
    return f"{facts}: neither accounts for it"
