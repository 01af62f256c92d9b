"""The entries that trials of a plan have in the caches, and their way into the shared store and out of it."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from longlook.analysis import MeasureCache
from longlook.core import Engine, Job, Outcome, Plan, Run
from longlook.pipeline.preview import jobs_with_cache
from longlook.pipeline.provide import provide_for
from longlook.provision import share_all_programs
from longlook.run import TrialCache
from longlook.store import KINDS, MEASURED, TRIALS, Sharing, cache_of, cache_with_store

_AT_ONCE = 8
_SAID_EVERY = 500

Say = Callable[[str], None]
Key = tuple[str, str]
"""The kind of an entry, and its key."""


@dataclass(frozen=True)
class Exchanged:
    """The numbers of entries by kind: copied, there before, and impossible to copy."""

    copied: dict[str, int]
    there: dict[str, int]
    missing: dict[str, int]


def push_plan(plan: Plan, metrics: Sequence[str], engine: Engine, sharing: Sharing, say: Say) -> Exchanged:
    """Put all that this machine has of a plan's trials into the store: trials, measurements, programs and kernel."""
    lacking = 0
    for job, cache in jobs_with_cache(plan, engine, provide_for(plan, engine, say)):
        key = cache.key(job)
        if not cache_of(TRIALS).has(key):
            lacking += 1
            continue
        sharing.offer(TRIALS, key)
        if (measured := _measured_key(job, cache, metrics)) is not None and cache_of(MEASURED).has(measured):
            sharing.offer(MEASURED, measured)
    sharing.wait()
    return _pushed(sharing, {TRIALS: lacking} if lacking else {})


def push_all(sharing: Sharing, say: Say) -> Exchanged:
    """Put everything into the store that the caches of this machine have and another one can use."""
    share_all_programs()
    for kind in KINDS:
        keys = list(cache_of(kind).held_keys())
        if keys:
            say(f"{len(keys)} {kind}")
        for key in keys:
            sharing.offer(kind, key)
    sharing.wait()
    return _pushed(sharing, {})


def pull_plan(plan: Plan, metrics: Sequence[str], engine: Engine, sharing: Sharing, say: Say) -> Exchanged:
    """Take all that the store has of a plan's trials into the caches of this machine.

    Programs and the kernel come first, and are built if the store lacks them, because the keys of trials hold their
    digests.
    """
    jobs = list(jobs_with_cache(plan, engine, provide_for(plan, engine, say)))
    by_key = {cache.key(job): (job, cache) for job, cache in jobs}
    trials = _take(((TRIALS, key) for key in by_key), say)
    there = [entry for key, entry in by_key.items() if cache_of(TRIALS).has(key)]
    keys = (_measured_key(job, cache, metrics) for job, cache in there)
    measured = _take(((MEASURED, key) for key in keys if key is not None), say)
    return _pulled(sharing, trials + measured)


def pull_all(sharing: Sharing, say: Say) -> Exchanged:
    """Take everything that the store lists."""
    wanted = [(entry.kind, entry.key) for entry in sharing.store.entries() if entry.kind in KINDS]
    return _pulled(sharing, _take(wanted, say))


def _take(wanted: Iterable[Key], say: Say) -> Counter[tuple[str, str]]:
    """Fetch entries that are missing here; return their numbers by kind and by `there` or `missing`."""
    done: Counter[tuple[str, str]] = Counter()

    def take(key: Key) -> tuple[str, str]:
        kind, name = key
        if cache_of(kind).has(name):
            return kind, "there"
        return kind, "copied" if cache_with_store(kind).read(name, lambda _folder: True) else "missing"

    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="pull") as pool:
        for number, result in enumerate(pool.map(take, wanted), 1):
            done[result] += 1
            if number % _SAID_EVERY == 0:
                say(f"{number} entries")
    return done


def _measured_key(job: Job, cache: TrialCache, metrics: Sequence[str]) -> str | None:
    """Return the key of the measurement of a trial that is here; None if it is not, or has nothing to measure."""

    def key(folder: Path, run: Run) -> str | None:
        return MeasureCache(tuple(metrics)).key(folder, job.trial, run) if run.outcome is Outcome.OK else None

    return cache.look(job, key)


def _pushed(sharing: Sharing, missing: Mapping[str, int]) -> Exchanged:
    return Exchanged(dict(sharing.put), dict(sharing.had), dict(Counter(missing) + sharing.left))


def _pulled(sharing: Sharing, done: Mapping[tuple[str, str], int]) -> Exchanged:
    def of(state: str) -> dict[str, int]:
        return {kind: count for (kind, now), count in done.items() if now == state}

    return Exchanged(dict(sharing.taken), of("there"), of("missing"))
