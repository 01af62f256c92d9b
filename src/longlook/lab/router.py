"""Runs the link emulator as a process between the two sides of the network (docs/reference/link-formats.md)."""

import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from longlook.core import MAIN, InputError, Job, LonglookError, MachineError, link_file
from longlook.lab.environment import Environment
from longlook.lab.linux.namespace import Namespace
from longlook.lab.process import Process, start, stop, watch
from longlook.lab.topology import EndpointNamespace
from longlook.network import linger_of, link_text, seed_of

_DRAIN_WITHIN_S = 10.0
_BAD_CONFIGURATION_EXIT = 2


class Router:
    """A running `longlook-link` for the link of a job's trial that has the name `link`.

    `options` are further command-line options. `core.links.link_file` names its files.
    """

    def __init__(
        self,
        job: Job,
        namespace: Namespace,
        client: EndpointNamespace,
        server: EndpointNamespace,
        environment: Environment,
        options: Sequence[str] = (),
        link: str = MAIN,
    ) -> None:
        folder, trial = Path(job.folder), job.trial
        # A packet on another link may still come, so silence counts for all of them together.
        self._linger_ns = sum(linger_of(each, job.traces) for each in trial.links.values())
        config, seed = folder / link_file(link, ".json"), seed_of(trial.seed, link)
        text = link_text(trial.links[link], seed, self._linger_ns, job.traces, phase_ns=trial.start_phase_ns)
        config.write_text(text)
        log = folder / link_file(link, ".bin")
        self.process: Process = launch(
            [job.programs["link"].path, "run", "--config", str(config), "--log", str(log), *options],
            namespace,
            client,
            server,
            environment.variables({}, {}),
            folder,
            link_file(link, ""),
        )

    @property
    def ready(self) -> bool:
        """Return whether packets would flow."""
        return bool(self.process.events("ready"))

    def raise_if_not_ready(self) -> None:
        """Raise MachineError if it ended or hangs before it was ready, InputError if it refuses the network."""
        if self.ready:
            return
        raise refusal(self.process)

    @property
    def drains_within_s(self) -> float:
        """Return how long it may take to become empty."""
        return self._linger_ns / 1e9 + _DRAIN_WITHIN_S

    def summary(self) -> Mapping[str, Any]:
        """Return its summary line, {} if it ended without one."""
        summaries = self.process.events("summary")
        return summaries[-1] if summaries else {}


def finish(routers: Sequence[Router], *, drain: bool) -> None:
    """Stop routers; `drain`: wait for the last packet, which may cross several of them."""
    processes = [router.process for router in routers]
    if drain:
        for process in processes:
            if process.exit is None:
                process.send(signal.SIGUSR1)
        within_s = max(router.drains_within_s for router in routers)
        watch(processes, lambda: all(process.exit is not None for process in processes), within_s)
    for process in processes:
        if process.exit is None:
            stop(process)


def launch(
    argv: Sequence[str],
    namespace: Namespace,
    client: EndpointNamespace,
    server: EndpointNamespace,
    env: Mapping[str, str],
    folder: Path,
    name: str = "link",
) -> Process:
    """Start `longlook-link run …` between two sides; its output goes to `NAME.jsonl` and `NAME.stderr` in `folder`."""
    tuns = [side.tun for side in (client, server) if side.tun is not None]
    if len(tuns) == 2:
        ends = ["--client-tun-fd", str(tuns[0]), "--server-tun-fd", str(tuns[1])]
    else:
        ends = ["--client-if", client.end.router_device, "--server-if", server.end.router_device]
    client.drain()
    server.drain()
    return start(
        name,
        [*argv, *ends],
        namespace,
        env,
        stdout_log=folder / f"{name}.jsonl",
        stderr_log=folder / f"{name}.stderr",
        inherit=tuns,
    )


def refusal(router: Process) -> LonglookError:
    """Return the error for a router that did not become ready: InputError if it refuses its configuration."""
    errors = router.events("error")
    reason = str(errors[0].get("reason")) if errors else f"it ended with {router.exit}, see link.stderr"
    hint = (
        errors[0].get("hint") if errors else None
    ) or "see docs/explanation/lab.md; LONGLOOK_DATAPATH=tun avoids AF_PACKET"
    if router.exit is None:
        reason = "it does not become ready"
    elif router.exit.code == _BAD_CONFIGURATION_EXIT:
        return InputError(f"the link emulator refuses the network: {reason}", errors[0].get("hint") if errors else None)
    return MachineError(f"the link emulator cannot run: {reason}", hint)
