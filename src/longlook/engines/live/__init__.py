"""Engine `live`: it runs trials in real time on this host, by one agent process that owns the laboratory.

Entry points: `LiveEngine`; `agent_process.AgentProcess` for a session with an agent of one's own.
"""

import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from longlook.core import InputError, Job, MachineError, Run, codec
from longlook.engines.live.agent_process import AgentDiedError, AgentProcess
from longlook.engines.lost_run import lost_run
from longlook.engines.sequential import SequentialEngine
from longlook.lab import PACKET, clear_stale_state, datapath

_LOST_HINT = "the next trial gets a new agent; if this happens again, report it with the reason"
_OVERHEAD_S = 120.0  # for set-up and teardown beyond a trial's limit; only a bug of the agent takes longer


class LiveEngine(SequentialEngine):
    """Starts an agent with the first trial, a new one when that died, and ends it whatever happens.

    It must not be used by several threads at once.
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

    def notes(self) -> Sequence[str]:
        """Return how packets reach the link, if it is not the usual way."""
        path = datapath()
        return (
            () if path == PACKET else (f"packets reach the link by LONGLOOK_DATAPATH={path} (docs/explanation/lab.md)",)
        )

    def run(self, job: Job) -> Run:
        """Run one trial and return its result.

        Raise MachineError if nothing can run here, InputError if the job asks for something impossible.
        """
        began_ns, began = time.time_ns(), time.monotonic()
        try:
            if self.agent is None:
                self.agent = AgentProcess()
            self.agent.send({"op": "run", "job": codec.encode(job)})
            response = self.agent.receive(job.trial.timeout_s + _OVERHEAD_S)
        except AgentDiedError as death:
            self._end_agent(gracefully=False)
            return lost_run(job, self.name, str(death), _LOST_HINT, began_ns, time.monotonic() - began)
        except BaseException:
            self._end_agent(gracefully=False)
            raise
        if response["event"] == "run":
            return codec.decode(Run, response["run"])
        kind = InputError if response["event"] == "input_error" else MachineError
        raise kind(response["message"], response["hint"])

    def _end_agent(self, *, gracefully: bool) -> None:
        agent, self.agent = self.agent, None
        if agent is not None:
            agent.end(gracefully=gracefully)
            clear_stale_state()
