"""The trials of a plan by the engine that runs them."""

from collections.abc import Iterator

from longlook.core import Plan, Trial
from longlook.engines import Engine, make_engine
from longlook.study import VIRTUAL


def trials_by_engine(plan: Plan, engine: Engine) -> Iterator[tuple[Engine, list[Trial]]]:
    """Yield each engine with its trials in the plan's order; live ones last, when nothing else runs here.

    `engine` runs the trials that name none. The engines have not been entered.
    """
    names = sorted({trial.engine or engine.name for trial in plan.trials}, key=lambda name: (name == "live", name))
    for name in names:
        trials = [trial for trial in plan.trials if (trial.engine or engine.name) == name]
        yield (engine if name == engine.name else make_engine(name)), trials


def runs_in_guests(plan: Plan, engine: Engine) -> bool:
    """Whether any trial needs the guest kernel."""
    return any((trial.engine or engine.name) == VIRTUAL for trial in plan.trials)
