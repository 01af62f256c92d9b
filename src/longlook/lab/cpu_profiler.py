"""Samples where the programs of a trial spend CPU time, and counts their system calls, with `perf`
(docs/reference/capture.md#cpu-time).

It never makes a trial fail: `finish` returns the reason if nothing was sampled.
"""

import json
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from threading import Timer

from longlook.core import FACTS, FOLDER
from longlook.lab.environment import Environment
from longlook.lab.linux.namespace import Namespace
from longlook.lab.perf_script import SYSTEM_CALLS, folded, read_samples, script_options
from longlook.lab.process import Process, start, stop

CPU_PROFILE, CALL_COUNT = "cpu_profile", "system_calls"
"""Names of what it collects."""

FREQUENCY_HZ = 997
"""Not a divisor of any usual timer's frequency, so that samples do not fall in step with what programs do."""

CALLS_A_SAMPLE = 16
"""One of this number of a program's system calls is recorded: a count of 10,000 is right to within 1 %, and costs
little to write.
"""

_EXIT_WITHIN_S = 10.0
_READ_WITHIN_S = 60.0
_PROBED_WITHIN_S = 30.0
_PERF = "perf"
_RECORD = (
    *("record", "--quiet", "--all-cpus", "--no-buildid", "--no-buildid-cache"),
    *("--event", f"cpu-clock/period={round(1e9 / FREQUENCY_HZ)},call-graph=fp/"),
    *("--delay", "-1", "--control", "fd:0,1"),  # tells when it samples: it answers `enable` with `ack`
)
_RECORD_CALLS = (
    *("--event", f"{SYSTEM_CALLS}/call-graph=no/", "--count", str(CALLS_A_SAMPLE)),
    "--no-period",  # a tracepoint that tells its period is sampled every time, whatever the count
)
_NO_CONFIGURATION = {"PERF_CONFIG": "/dev/null"}
_INSTALL = "perf is not installed: sudo apt-get install linux-perf"


class CpuProfiler:
    """A running `perf record` of every CPU.

    All CPUs, because programs start others, and clients start later; samples of processes that are not a trial's are
    dropped. `cpu/client.folded` and `cpu/server.folded` are complete after `finish`, and `cpu/profile.json`; `calls`
    then has by role how many system calls were made, {} if these could not be counted.
    """

    def __init__(self, namespace: Namespace, environment: Environment, folder: Path) -> None:
        """Start it. If it cannot be started, `process` is None and `finish` returns the reason."""
        self._place = folder / FOLDER
        self._place.mkdir()
        self._data, self._stderr = self._place / "perf.data", self._place / "perf.stderr"
        self._variables = {**environment.variables({}, {}), **_NO_CONFIGURATION}
        self.process: Process | None = None
        self.calls: dict[str, int] = {}
        self._perf = shutil.which(_PERF)
        self._no_calls = "" if self._perf is None else _why_uncounted(self._perf)
        if self._perf is not None:
            self.process = start(
                "profiler",
                (self._perf, *_RECORD, *(() if self._no_calls else _RECORD_CALLS), "--output", str(self._data)),
                namespace,
                self._variables,
                stdout_log=None,
                stderr_log=self._stderr,
                with_stdin=True,
            )
            self.process.write_line("enable")

    def settled(self) -> bool:
        """Return whether it samples, or never will."""
        return self.process is None or self._samples() or self.process.exit is not None

    def finish(self, roots: Mapping[str, Iterable[int]]) -> Mapping[str, str]:
        """Stop it and write what the processes below `roots` did, by role; return what is missing by collector."""
        try:
            why = self._finish(roots)
        except OSError as error:
            why = f"what perf sampled cannot be read or written: {error.strerror}"
        finally:
            self.close()
        alone = self._no_calls and (self._place / FACTS).exists()  # else the profile's reason is that of both
        return {CPU_PROFILE: why} | ({CALL_COUNT: self._no_calls} if alone else {})

    def close(self) -> None:
        """End it, and remove what it has sampled."""
        if self.process is not None:
            self.process.close()
        self._data.unlink(missing_ok=True)

    def _finish(self, roots: Mapping[str, Iterable[int]]) -> str:
        if self.process is None or self._perf is None:
            return _INSTALL
        ended, ready = self.process.exit, self._samples()
        if ended is not None:
            why = _reason(self._stderr.read_text(errors="replace"))
            return f"perf ended early ({ended}): {why}" if ready else f"perf sampled nothing: {why}"
        if not ready:
            return "the trial ended before perf could sample"
        stop(self.process, within_s=_EXIT_WITHIN_S)
        script = (self._perf, "script", *script_options(calls=not self._no_calls), "--input", str(self._data))
        why = self._write(script, roots)
        if not self._stderr.read_text(errors="replace").strip():
            self._stderr.unlink()
        return why

    def _samples(self) -> bool:
        return self.process is not None and any("ack" in line for line in self.process.junk)

    def _write(self, command: Sequence[str], roots: Mapping[str, Iterable[int]]) -> str:
        """Write the files of every role from what a command prints; return what is missing and why, or ""."""
        with (
            self._stderr.open("w") as stderr,
            subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=stderr, env=self._variables, text=True, errors="replace"
            ) as script,
        ):
            late = Timer(_READ_WITHIN_S, script.kill)
            late.start()
            sampled = read_samples(script.stdout or ())
            late.cancel()
        if script.returncode != 0:
            return f"perf script failed: {_reason(self._stderr.read_text(errors='replace'))}"
        counts = {}
        if sampled.lost and not self._no_calls:
            self._no_calls = f"system calls were not counted: {sampled.lost} samples were lost"
        for role, pids in roots.items():
            stacks = sampled.of(pids)
            (self._place / f"{role}.folded").write_text(folded(stacks))
            counts[role] = stacks.total()
            if not self._no_calls:
                self.calls[role] = sampled.calls_of(pids) * CALLS_A_SAMPLE
        facts = {
            "frequency_hz": FREQUENCY_HZ,
            "samples": counts,
            "system_calls": self.calls,
            "lost": sampled.lost,
            "kernel_is_named": sampled.kernel_is_named,
        }
        (self._place / FACTS).write_text(json.dumps(facts, indent=1, sort_keys=True) + "\n")
        if not sampled.kernel_is_named:
            return "the kernel hides the names of its functions: sysctl -w kernel.kptr_restrict=0"
        return f"{sampled.lost} samples were lost" if sampled.lost else ""


def failure() -> str | None:
    """Return why CPU time cannot be sampled on this machine, or None if it can."""
    if (perf := shutil.which(_PERF)) is None:
        return _INSTALL
    return _refusal(perf, "--event", "cpu-clock") or None


@cache
def _why_uncounted(perf: str) -> str:
    """Return why system calls cannot be counted here, "" if they can: tried out once in each process."""
    refused = _refusal(perf, *_RECORD_CALLS)
    return f"system calls cannot be counted: {refused}" if refused else ""


def _refusal(perf: str, *options: str) -> str:
    """Return why perf cannot record every CPU with these options, "" if it can."""
    command = (perf, "record", "--quiet", "--all-cpus", *options, "--output", "/dev/null", "true")
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_PROBED_WITHIN_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"perf cannot be asked: {error}"
    return "" if done.returncode == 0 else _reason(done.stderr)


def _reason(stderr: str) -> str:
    """Return the first line of what perf complained about that is not a heading."""
    lines = [line.strip() for line in stderr.splitlines()]
    return next((line for line in lines if line and line != "Error:"), "it ended without a message")
