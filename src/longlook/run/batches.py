"""The grouping of trials into calls of an engine. Pure."""

from collections.abc import Iterable

from longlook.core import registry
from longlook.core.model import Trial


def batches(trials: Iterable[Trial], *, in_batches: bool) -> list[tuple[Trial, ...]]:
    """Return the calls in the order of the plan, a trial each.

    `in_batches`: the trials of a round that share a session client come in one call.
    """
    gathered: dict[object, list[Trial]] = {}
    for trial in trials:
        client = registry.stack(trial.client.stack)
        shares = in_batches and client.session_command is not None
        key = (trial.round, trial.client.stack, trial.client.version, trial.capture) if shares else trial.id
        gathered.setdefault(key, []).append(trial)
    return [tuple(batch) for batch in gathered.values()]
