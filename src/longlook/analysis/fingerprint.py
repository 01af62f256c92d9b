"""One number for the results of a run, for who wants to know whether theirs are the same. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from longlook.core import codec
from longlook.core.model import Run


@dataclass(frozen=True)
class Fingerprint:
    """SHA-256 over every attempt of every exact trial: what became of it, and every metric to the last bit."""

    trials: int  # exact ones, which alone are covered
    digest: str


def fingerprint(results: Iterable[tuple[Run, Mapping[str, float | None]]]) -> Fingerprint | None:
    """The fingerprint of a run's results, whatever order they come in; None where no trial is exact."""
    exact = [(run, values) for run, values in results if run.exact]
    if not exact:
        return None
    lines = sorted(
        codec.canonical([run.trial_id, run.attempt, run.outcome, {name: repr(value) for name, value in values.items()}])
        for run, values in exact
    )
    return Fingerprint(len({run.trial_id for run, _ in exact}), codec.content_hash(lines, 64))
