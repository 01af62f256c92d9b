"""Options of a run, and functions that follow it."""

from collections.abc import Callable
from dataclasses import dataclass

from longlook.core import Engine, Plan
from longlook.outside import SiteAccess
from longlook.run import Progress
from longlook.study import MOST_TRIALS, Shard


@dataclass(frozen=True)
class RunOptions:
    """Options of a run.

    `engine` has not been entered. It runs the trials that name no other engine, up to `jobs` of them at once if it
    can. `only` are filters FACTOR=LEVEL. With `resume` the run folder holds the same plan already, and only what is
    missing runs. With `shard` only its part of the plan runs. `verify` is how many times each trial is then run again,
    without the cache, and compared. A plan of more than `most_trials` is refused.
    """

    engine: Engine
    jobs: int = 1
    use_cache: bool = True
    only: tuple[str, ...] = ()
    resume: bool = False
    verify: int = 0
    most_trials: int = MOST_TRIALS
    command: tuple[str, ...] = ()  # for the manifest
    shard: Shard | None = None
    budget_s: float | None = None  # of real time for trials; whole rounds alone run in it
    access: SiteAccess | None = None  # to sites, servers of the world outside; None: as the environment has it


@dataclass(frozen=True)
class Observer:
    """Functions that are called with what happens; each may be called often, and from several threads."""

    say: Callable[[str], None] = lambda _text: None
    planned: Callable[[Plan, int], None] = lambda _plan, _finished: None  # plan, trials finished in an earlier session
    progress: Callable[[Progress], None] = lambda _progress: None
    measuring: Callable[[int, int], None] = lambda _done, _total: None
    verifying: Callable[[int, int], None] = lambda _done, _total: None  # repeats of trials
