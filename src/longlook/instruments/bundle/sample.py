"""A random part of a run's trials that is spread over its cells and arms. Pure."""

import math
from collections.abc import Sequence

from longlook.core import InputError, Trial
from longlook.study import rank

ALL = "all"


def sample_size(text: str, count: int) -> int:
    """Return how many of `count` trials a sample such as `5%`, `12` or `all` has; InputError if it is none of these.

    A share is rounded up, so that a sample has at least one trial.
    """
    if text == ALL:
        return count
    number, is_share = (text[:-1].strip(), True) if text.endswith("%") else (text, False)
    try:
        value = float(number) if is_share else int(number)
    except (ValueError, OverflowError):
        value = math.nan
    if not math.isfinite(value) or value < 0 or (is_share and value > 100) or not number.isascii():
        raise InputError(
            f"--sample {text}: neither a share, a number of trials nor all", "write for example --sample 5%"
        )
    return min(count, math.ceil(round(count * value / 100, 9)) if is_share else int(value))


def draw(trials: Sequence[Trial], count: int, seed: int) -> list[Trial]:
    """Return `count` of the trials in their order: no arm of a cell has two more than another, if it has as many."""
    groups: dict[tuple[str, str], list[Trial]] = {}
    for trial in trials:
        groups.setdefault((trial.cell_id, trial.arm), []).append(trial)
    dealt = []
    for key, members in groups.items():
        place = rank(seed, "verify", *key)
        ordered = sorted(members, key=lambda trial: rank(seed, "verify", trial.id))
        dealt += [(turn, place, trial.id) for turn, trial in enumerate(ordered)]
    chosen = {trial_id for _, _, trial_id in sorted(dealt)[:count]}
    return [trial for trial in trials if trial.id in chosen]
