"""Engine `live`: trials in real time on this host, by one agent process that owns the laboratory."""

import time
from types import TracebackType
from typing import Self

from longlook.core import codec
from longlook.core.errors import InputError, MachineError
from longlook.core.job import Job
from longlook.core.model import Run
from longlook.engines import OneAtATime
from longlook.engines.live.agent_process import AgentDiedError, AgentProcess
from longlook.engines.lost import lost_run
from longlook.lab.stale_state import clear_stale_state

_LOST_HINT = "the next trial gets a new agent; if this happens again, report it with the reason"
_BEYOND_LIMIT_S = 120.0  # set-up and teardown beyond a trial's limit; only a bug of the agent takes longer


class LiveEngine(OneAtATime):
    """Starts the agent with its first trial, a new one when it died, and ends it whatever happens.

    Not for several threads at once.
    """

    name = "live"

    def __init__(self) -> None:
        self.agent: AgentProcess | None = None

    def __enter__(self) -> Self:
        clear_stale_state()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end_agent(gracefully=kind is None)

    def run(self, job: Job) -> Run:
        """Run one trial. MachineError where nothing can run here, InputError where the job asks the impossible."""
        began_ns, began = time.time_ns(), time.monotonic()
        try:
            if self.agent is None:
                self.agent = AgentProcess()
            self.agent.send({"op": "run", "job": codec.encode(job)})
            answer = self.agent.receive(job.trial.timeout_s + _BEYOND_LIMIT_S)
        except AgentDiedError as death:
            self._end_agent(gracefully=False)
            return lost_run(job, self.name, str(death), _LOST_HINT, began_ns, time.monotonic() - began)
        except BaseException:
            self._end_agent(gracefully=False)
            raise
        if answer["event"] == "run":
            return codec.decode(Run, answer["run"])
        kind = InputError if answer["event"] == "input_error" else MachineError
        raise kind(answer["message"], answer["hint"])

    def _end_agent(self, *, gracefully: bool) -> None:
        agent, self.agent = self.agent, None
        if agent is not None:
            agent.end(gracefully=gracefully)
            clear_stale_state()
