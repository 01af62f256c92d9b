"""The cost of traces in the trials of a run, what could not be recorded, and what is in doubt. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from longlook.core import Run
from longlook.timeline.doubts import Doubt

RECORDER = "kernel TCP"
"""The collector with a process of its own; others are written by the programs that they are about."""
_RECORDERS_ROLE = "tracer"  # in a run's cpu_s


@dataclass(frozen=True)
class Collected:
    """The traces of one trial of an arm: bytes by collector, and what the traces contradict of themselves."""

    arm: str
    run: Run
    sizes: Mapping[str, int]
    doubts: tuple[Doubt, ...] = ()


@dataclass(frozen=True)
class CollectorCost:
    """One collector in the trials of an arm: means over the trials that have its traces.

    `cpu_s` is None in virtual time, and if the collector has no process of its own; `core_share` is the same as a share
    of one core while the client ran.
    """

    arm: str
    collector: str
    trials: int
    size_bytes: float
    cpu_s: float | None
    core_share: float | None


@dataclass(frozen=True)
class NotRecorded:
    """Something that a collector of an arm's trials could not record, the reason, and the number of trials."""

    arm: str
    collector: str
    reason: str
    trials: int


def collector_costs(collected: Iterable[Collected], arms: Sequence[str]) -> list[CollectorCost]:
    """Return the costs by arm in the order of `arms`, then by collector."""
    found: dict[tuple[str, str], list[Collected]] = {}
    for one in collected:
        for collector in one.sizes:
            found.setdefault((one.arm, collector), []).append(one)
    keys = sorted(found, key=lambda key: (arms.index(key[0]), key[1]))
    return [_cost(arm, collector, found[arm, collector]) for arm, collector in keys]


def _cost(arm: str, collector: str, of: Sequence[Collected]) -> CollectorCost:
    size_bytes = sum(one.sizes[collector] for one in of) / len(of)
    runs = [one.run for one in of if collector == RECORDER and _RECORDERS_ROLE in one.run.cpu_s]
    if not runs:
        return CollectorCost(arm, collector, len(of), size_bytes, None, None)
    cpu_s = sum(run.cpu_s[_RECORDERS_ROLE] for run in runs)
    measure_s = sum(run.measure_s for run in runs)
    share = cpu_s / measure_s if measure_s else None
    return CollectorCost(arm, collector, len(of), size_bytes, cpu_s / len(runs), share)


def not_recorded(collected: Iterable[Collected], arms: Sequence[str]) -> list[NotRecorded]:
    """Return every reason with its count, by arm."""
    counts: dict[tuple[str, str, str], int] = {}
    for one in collected:
        for collector, reason in one.run.collectors.items():
            if reason:
                key = (one.arm, collector.replace("_", " "), reason)
                counts[key] = counts.get(key, 0) + 1
    ordered = sorted(counts.items(), key=lambda item: (arms.index(item[0][0]), item[0]))
    return [NotRecorded(*key, count) for key, count in ordered]


@dataclass(frozen=True)
class InDoubt:
    """Something that traces of one end contradict of themselves in an arm's trials, so that it is not counted.

    `sentence` is the first trial's.
    """

    arm: str
    vantage: str
    check: str
    sentence: str
    trials: int


def in_doubt(collected: Iterable[Collected], arms: Sequence[str]) -> list[InDoubt]:
    """Return every contradiction with the number of its trials, by arm, end and check."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for one in collected:
        first = {(one.arm, doubt.vantage, doubt.check): doubt.sentence for doubt in reversed(one.doubts)}
        for key, sentence in first.items():
            found.setdefault(key, []).append(sentence)
    ordered = sorted(found.items(), key=lambda item: (arms.index(item[0][0]), item[0]))
    return [InDoubt(*key, sentences[0], len(sentences)) for key, sentences in ordered]
