"""The sum of a trial's links, as far as made-up results need it: delays, a rate, and whether they lose packets."""

from dataclasses import dataclass

from longlook.core import Job, Link, Stage
from longlook.network import mean, resolved, trace_store

EPOCH_NS = 1_700_000_000_000_000_000
"""When every made-up trial begins, ns since 1970."""
_FALLBACK_RATE_BPS = 100e6
_LOSES = "loss"
_NAMED_OTHERWISE = ("gilbert_elliott",)


@dataclass(frozen=True)
class FakePath:
    """One emulated link: mean delays of both directions, the mean rate towards the client, and whether it loses."""

    up_ns: int
    down_ns: int
    rate_bps: float
    loses: bool

    @property
    def rtt_ns(self) -> int:
        """The round trip time without queues."""
        return self.up_ns + self.down_ns


def path_of(job: Job, link: Link) -> FakePath:
    """Return what a link of a job's trial amounts to."""
    rates = [_mean(job, stage, "rate_bps") for stage in link.down if "rate_bps" in stage.parameters]
    return FakePath(
        up_ns=_delay_ns(job, link.up),
        down_ns=_delay_ns(job, link.down),
        rate_bps=min(rates, default=_FALLBACK_RATE_BPS),
        loses=any(_LOSES in stage.kind or stage.kind in _NAMED_OTHERWISE for stage in link.down),
    )


def _delay_ns(job: Job, stages: tuple[Stage, ...]) -> int:
    return round(sum(_mean(job, stage, "delay_ns") for stage in stages if stage.kind == "delay"))


def _mean(job: Job, stage: Stage, name: str) -> float:
    return float(mean(resolved(stage, lambda digest: trace_store.load(digest, job.traces)).parameters[name]))
