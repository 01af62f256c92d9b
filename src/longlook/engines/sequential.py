"""The base of engines that run one trial at a time."""

from collections.abc import Sequence

from longlook.core import Job, Run


class SequentialEngine:
    """Base class of engines that run one trial at a time and whose results are not reproducible."""

    batches = False
    parallel = 1

    def setting(self) -> None:
        """Return None: nothing determines a result, so no result can be taken from the cache."""

    def notes(self) -> Sequence[str]:
        """Return no notes."""
        return ()

    def interrupt(self) -> None:
        """Do nothing: no call runs in another thread."""

    def run(self, job: Job) -> Run:
        """Run one trial and return its result."""
        raise NotImplementedError

    def run_together(self, jobs: Sequence[Job]) -> list[Run]:
        """Run trials one after another and return their results in the same order."""
        return [self.run(job) for job in jobs]
