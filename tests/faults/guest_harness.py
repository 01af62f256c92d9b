"""Rogue trials in virtual time, studies of rogues for the command line, and what is left of guests."""

import subprocess
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from longlook.core.job import Identity, Job
from longlook.core.model import Run
from longlook.engines.virtual import VirtualEngine
from longlook.provision import guest_kernel
from tests.faults.harness import Home
from tests.support.command_line import LONGLOOK
from tests.support.processes import all_pids, command_line, parent_of

STUDY = """
schema = 1
title = "Rogues"
question = "What becomes of them?"
rounds = {rounds}
seed = {seed}
around = "none"
timeout = "{timeout}"
retries_when_invalid = {retries}
metrics = ["page_load_time"]

[defaults]
server = "rogue"
client = "{client}"
protocol = "h2"
connection = "cold"
congestion_control = "cubic"

[arms.usual]

[arms.rogue]
{role}_knobs = {{ fault = "{fault}" }}

[workload]
kind = "page"
objects = 1
object = "5KB"

[network]
rate = "50Mbit"
rtt = "4ms"
queue = "1bdp"

[[factors]]
name = "size"
sets = "workload.object"
levels = ["5KB"]

[[contrasts]]
name = "rogue vs usual"
baseline = "usual"
contender = "rogue"
metric = "page_load_time"

[figure]
columns = "size"
rows = []
"""


@cache
def kernel() -> str:
    """The guest kernel, found before a test moves the cache."""
    return guest_kernel.kernel_program(print).path


@dataclass(frozen=True)
class GuestHome(Home):
    """A home whose trials run in guests; their kernels are recognised by where they work."""

    spin_timeout_s: str = "3"
    runs: list[subprocess.Popen[str]] = field(default_factory=list)

    def environment(self) -> dict[str, str]:
        return {**super().environment(), "LONGLOOK_KERNEL": kernel(), "LONGLOOK_SPIN_TIMEOUT_S": self.spin_timeout_s}

    def job(self, *args: Any, **options: Any) -> Job:
        tls = self.path / "tls"
        tls.mkdir(exist_ok=True)
        files = [tls / name for name in ("ca", "certificate", "key")]
        for file in files:
            file.write_text(file.name)
        ca, certificate, key = map(str, files)
        identity = Identity("www.example.test", ca, certificate, key, "spki")
        return replace(super().job(*args, **options), identity=identity)

    def run(self, *args: Any, **options: Any) -> Run:
        with VirtualEngine() as engine:
            return engine.run(self.job(*args, **options))

    def study(
        self,
        fault: str = "none",
        rounds: int = 1,
        timeout: str = "30s",
        client: str = "rogue",
        role: str = "client",
        seed: int = 1,
        retries: int = 0,
    ) -> Path:
        """A study of a usual arm and one whose `role` has a fault."""
        path = self.path / "rogues.toml"
        values = {"fault": fault, "rounds": rounds, "timeout": timeout, "client": client}
        path.write_text(STUDY.format(**values, role=role, seed=seed, retries=retries))
        return path

    def longlook(self, *arguments: str, prefix: tuple[str, ...] = (), **options: Any) -> subprocess.Popen[str]:
        """The command line, as a leader of its own process group."""
        run = subprocess.Popen(
            [*prefix, *LONGLOOK, *arguments],
            env={**self.environment(), **options.pop("extra", {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            **options,
        )
        self.runs.append(run)
        return run

    def end_runs(self) -> None:
        """Those that a failed test has left."""
        for run in self.runs:
            with run:
                if run.poll() is None:
                    run.kill()

    def guests(self) -> list[int]:
        """Every process of every guest that works for this home: launchers, kernels, what runs their programs."""
        parents = {pid: parent_of(pid) for pid in all_pids()}
        found = {pid for pid in parents if self._is_launcher(command_line(pid))}
        while more := {pid for pid, parent in parents.items() if parent in found} - found:
            found |= more
        return sorted(found)

    def _is_launcher(self, arguments: bytes) -> bool:
        program, *others = arguments.split(b"\0")
        return program.endswith(b"longlook-box") and any(part.startswith(bytes(self.path)) for part in others)

    def litter(self) -> list[Path]:
        """What ended runs must not leave: unfinished boots, scratch folders."""
        return [*(self.path / "tmp").iterdir(), *self.path.rglob(".partial-*")]
