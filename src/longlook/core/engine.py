"""The protocol of every engine, which turns a `Job` into a `Run` in its kind of time."""

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Protocol, Self

from longlook.core.job import Job
from longlook.core.model import Run


class Engine(Protocol):
    """Runs jobs, up to `parallel` calls at once. Each engine is a context manager.

    A failed trial raises nothing: its Run has the outcome and the reason. MachineError means that nothing can run here
    (privileges, a full disk); the caller stops and keeps what is finished.

    `batches`: trials that share a session client must come in one call, since each call starts a new one.
    """

    name: str
    batches: bool

    def setting(self) -> Mapping[str, str] | None:
        """Return everything except the job that a result depends on; None if results are not reproducible."""
        ...

    def notes(self) -> Sequence[str]:
        """Return what a user should know about how trials run on this machine, one sentence each."""
        ...

    def interrupt(self) -> None:
        """Make calls that are under way in other threads end soon, with an exception."""
        ...

    @property
    def parallel(self) -> int:
        """Return how many calls of `run` or `run_together` may be under way at once; 1: not from several threads."""
        ...

    def __enter__(self) -> Self:
        """Make the engine ready; nothing of the host is touched before this."""
        ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End every process and remove every temporary file."""
        ...

    def run(self, job: Job) -> Run:
        """Run one trial and return its result; its artefacts and `run.json` are in `job.folder` afterwards."""
        ...

    def run_together(self, jobs: Sequence[Job]) -> list[Run]:
        """Run trials one after another as `run` does, with one session client if their client is one."""
        ...
