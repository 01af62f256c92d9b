"""Where a trial's time comes from: `virtual` boots a guest for it, `live` runs the agent on this host."""

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Protocol, Self

from longlook.core.job import Job
from longlook.core.model import Run


class OneAtATime:
    """What engines share whose trials follow one another and are no function of anything that can be named."""

    gathers = False
    parallel = 1

    def setting(self) -> None:
        """Nothing that determines a result."""

    def notes(self) -> Sequence[str]:
        """Nothing out of the ordinary."""
        return ()

    def interrupt(self) -> None:
        """Nothing runs in other threads."""

    def run(self, job: Job) -> Run:
        """Run one trial."""
        raise NotImplementedError

    def run_together(self, jobs: Sequence[Job]) -> list[Run]:
        """Run trials one after another."""
        return [self.run(job) for job in jobs]


class Engine(Protocol):
    """Runs jobs, up to `parallel` calls at once. A failed trial raises nothing: the Run says what became of it.

    `gathers` says that trials which share a warm client must come in one call, since each call starts afresh. Each
    engine is a context manager.

    MachineError means that nothing can run here (privileges, a full disk); the caller stops and keeps what is finished.
    """

    name: str
    gathers: bool

    def setting(self) -> Mapping[str, str] | None:
        """What beside the job determines a result; None where a trial is no function of anything that can be named."""
        ...

    def notes(self) -> Sequence[str]:
        """What a user should know of how it runs here; one sentence each."""
        ...

    def interrupt(self) -> None:
        """Make calls that are under way in other threads end soon, with an exception."""
        ...

    @property
    def parallel(self) -> int:
        """How many calls of `run` or `run_together` may be under way at once; 1: not from several threads."""
        ...

    def __enter__(self) -> Self:
        """Make ready; nothing of the host is touched before this."""
        ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End every process and remove every trace."""
        ...

    def run(self, job: Job) -> Run:
        """Run one trial; its artefacts and `run.json` are in `job.folder` afterwards."""
        ...

    def run_together(self, jobs: Sequence[Job]) -> list[Run]:
        """Run trials one after another as `run` does, with one warm client where they have one."""
        ...
