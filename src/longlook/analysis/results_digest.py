"""One digest for the results of a run: equal results have equal digests. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from longlook.core import Run, codec


@dataclass(frozen=True)
class ResultsDigest:
    """SHA-256 over every attempt of every exact trial: its outcome, and every metric to the last bit."""

    trials: int  # the exact ones, which alone are covered
    digest: str


def digest_of_results(results: Iterable[tuple[Run, Mapping[str, float | None]]]) -> ResultsDigest | None:
    """Return the digest of a run's results, in whatever order they come, or None if no trial is exact."""
    exact = [(run, values) for run, values in results if run.exact]
    if not exact:
        return None
    lines = sorted(
        codec.canonical([run.trial_id, run.attempt, run.outcome, {name: repr(value) for name, value in values.items()}])
        for run, values in exact
    )
    return ResultsDigest(len({run.trial_id for run, _ in exact}), codec.content_hash(lines, 64))
