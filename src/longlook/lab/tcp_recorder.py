"""Runs the recorder of the kernel's TCP beside a trial: `longlook-trace record-tcp` (docs/reference/capture.md).

It never makes a trial fail: `collectors` gives what it could not record, and whether it ended early.
"""

from collections.abc import Mapping
from pathlib import Path

from longlook.core import Program
from longlook.lab.environment import Environment
from longlook.lab.process import Process, start, stop
from longlook.lab.topology import EndpointNamespace

FOLDER = "tcp"
TRACEPOINTS, SOCK_DIAG = "tracepoints", "sock_diag"


class TcpRecorder:
    """A running recorder of both endpoints.

    `tcp/client.tcptrace` and `tcp/server.tcptrace` are complete after `finish`.
    """

    def __init__(
        self,
        program: Program,
        port: int,
        client: EndpointNamespace,
        server: EndpointNamespace,
        environment: Environment,
        folder: Path,
    ) -> None:
        place = folder / FOLDER
        place.mkdir()
        argv, descriptors = [program.path, "record-tcp", "--port", str(port)], []
        for name, side in (("client", client), ("server", server)):
            descriptor = side.namespace.descriptor
            argv += [f"--{name}", str(place / f"{name}.tcptrace"), f"--{name}-namespace-fd", str(descriptor)]
            descriptors.append(descriptor)
        self.process: Process = start(
            "tracer",
            argv,
            server.namespace,
            environment.variables({}, {}),
            stdout_log=place / "recorder.jsonl",
            stderr_log=place / "recorder.stderr",
            inherit=descriptors,
        )

    def settled(self) -> bool:
        """Return whether it records, or never will."""
        return bool(self.process.events("ready")) or self.process.exit is not None

    def finish(self) -> Mapping[str, str]:
        """Stop it and return what `collectors` returns."""
        stop(self.process)
        return collectors(self.process)


def collectors(recorder: Process) -> dict[str, str]:
    """Return for `tracepoints` and `sock_diag` "" if they were recorded to the end, else the reason why not."""
    ready, errors = recorder.events("ready"), recorder.events("error")
    if not recorder.events("summary"):
        why = str(errors[-1].get("reason")) if errors else f"the recorder ended with {recorder.exit}"
        return {TRACEPOINTS: why, SOCK_DIAG: why}
    lacking = {str(entry["what"]): str(entry["why"]) for entry in ready[-1]["unavailable"]}
    return {TRACEPOINTS: "", SOCK_DIAG: ""} | lacking
