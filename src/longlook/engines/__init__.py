"""Where a trial's time comes from: `live` runs the agent on this host. Each engine is a context manager."""

from types import TracebackType
from typing import Protocol, Self

from longlook.job import Job
from longlook.model import Run


class Engine(Protocol):
    """Runs jobs one after another. `run` never raises for a failed trial: it returns what became of it.

    MachineError means that nothing can run here (privileges, a full disk); the caller stops and keeps what is finished.
    """

    name: str

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
