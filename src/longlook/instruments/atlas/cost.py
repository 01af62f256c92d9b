"""How long a study takes: by what its trials took before, else by their number and size."""

from longlook.core.flows import stop_after_s
from longlook.core.model import Plan, Trial
from longlook.instruments.atlas.claims.entry import Entry
from longlook.network.stages import largest_rate_bps
from longlook.pipeline.preview import LIVE

_S_PER_TRIAL, _S_PER_MB = 0.6, 0.2
"""CPU seconds in virtual time (docs/explanation/virtual-time.md, what it costs)."""

_PAGE_MB = 2.0
"""Taken for pages whose parameters do not say how large they are."""


def minutes(plan: Plan, left: int, jobs: int, entry: Entry | None) -> float:
    """Return an estimate of the minutes that `left` trials of a plan take, `jobs` at once, without their analysis.

    In virtual time they take as long as they compute, where nothing else does; in real time as long as they last.
    """
    if entry is not None and entry.effort is not None:
        effort = entry.effort
        each_s = (effort.job_s if entry.engine == LIVE else effort.cpu_s) / effort.trials
    else:
        each_s = sum(_S_PER_TRIAL + _S_PER_MB * megabytes(trial) for trial in plan.trials) / max(len(plan.trials), 1)
    return each_s * left / jobs / 60


def megabytes(trial: Trial) -> float:
    """Return about how many MB a trial carries, at most what its bottleneck lets through where flows run for a time."""
    parameters = trial.workload.parameters
    lasts_s = stop_after_s(trial.workload)
    if lasts_s is not None:
        rates_bps = [largest_rate_bps(stage) for stage in trial.link.down if stage.kind == "rate"]
        return min(rates_bps, default=0.0) * lasts_s / 8e6
    if trial.competes:
        return sum(flow.object_bytes or 0 for flow in trial.flows) / 1e6
    if "object_bytes" not in parameters:
        return _PAGE_MB
    objects, connections = (int(parameters.get(name, 1)) for name in ("objects", "connections"))
    return int(parameters["object_bytes"]) * objects * connections / 1e6
