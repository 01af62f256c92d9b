"""Runs the link emulator as a process between the two sides of the network (docs/link-formats.md)."""

import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from longlook.core.errors import InputError, LonglookError, MachineError
from longlook.core.job import Job
from longlook.lab.environment import Environment
from longlook.lab.linux.namespace import Namespace
from longlook.lab.process import Process, start, stop, watch
from longlook.lab.topology import Side
from longlook.network.config import linger_of, link_text

_DRAIN_WITHIN_S = 10.0
_BAD_CONFIGURATION_EXIT = 2


class Router:
    """A running `longlook-link` with the configuration of a job's trial. `options` are further command-line options."""

    def __init__(
        self,
        job: Job,
        namespace: Namespace,
        client: Side,
        server: Side,
        environment: Environment,
        options: Sequence[str] = (),
    ) -> None:
        folder = Path(job.folder)
        self._linger_ns = linger_of(job.trial.link, job.traces)
        config = folder / "link.json"
        trial = job.trial
        config.write_text(link_text(trial.link, trial.seed, self._linger_ns, job.traces, phase_ns=trial.start_phase_ns))
        self.process: Process = launch(
            [job.programs["link"].path, "run", "--config", str(config), "--log", str(folder / "link.bin"), *options],
            namespace,
            client,
            server,
            environment.variables({}, {}),
            folder,
        )

    @property
    def ready(self) -> bool:
        """Return whether packets would flow."""
        return bool(self.process.events("ready"))

    def raise_if_not_ready(self) -> None:
        """Raise MachineError where it ended or hangs before it was ready, InputError where it refuses the network."""
        if self.ready:
            return
        raise refusal(self.process)

    def finish(self, *, drain: bool) -> Mapping[str, Any]:
        """Stop it and return its summary line, {} where it ended without one; `drain`: wait for the last packet."""
        if self.process.exit is None and drain:
            self.process.send(signal.SIGUSR1)
            watch([self.process], lambda: self.process.exit is not None, self._linger_ns / 1e9 + _DRAIN_WITHIN_S)
        if self.process.exit is None:
            stop(self.process)
        summaries = self.process.events("summary")
        return summaries[-1] if summaries else {}


def launch(
    argv: Sequence[str], namespace: Namespace, client: Side, server: Side, env: Mapping[str, str], folder: Path
) -> Process:
    """Start `longlook-link run …` between two sides; its output goes to `link.jsonl` and `link.stderr` in `folder`."""
    tuns = [side.tun for side in (client, server) if side.tun is not None]
    if len(tuns) == 2:
        ends = ["--client-tun-fd", str(tuns[0]), "--server-tun-fd", str(tuns[1])]
    else:
        ends = ["--client-if", client.end.router_device, "--server-if", server.end.router_device]
    client.drain()
    server.drain()
    return start(
        "link",
        [*argv, *ends],
        namespace,
        env,
        stdout_log=folder / "link.jsonl",
        stderr_log=folder / "link.stderr",
        inherit=tuns,
    )


def refusal(router: Process) -> LonglookError:
    """Return the error for a router that did not become ready: InputError where it refuses its configuration."""
    errors = router.events("error")
    reason = str(errors[0].get("reason")) if errors else f"it ended with {router.exit}, see link.stderr"
    hint = (errors[0].get("hint") if errors else None) or "see docs/lab.md; LONGLOOK_DATAPATH=tun avoids AF_PACKET"
    if router.exit is None:
        reason = "it does not become ready"
    elif router.exit.code == _BAD_CONFIGURATION_EXIT:
        return InputError(f"the link emulator refuses the network: {reason}", errors[0].get("hint") if errors else None)
    return MachineError(f"the link emulator cannot run: {reason}", hint)
