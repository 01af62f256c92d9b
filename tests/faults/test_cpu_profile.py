"""Where CPU time goes is sampled beside a trial, or the trial says why not; it goes well in both cases."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from longlook.core.model import Capture, Outcome
from longlook.engines.live import LiveEngine
from longlook.lab import cpu_profiler
from longlook.timeline.cpu_work import read_folded
from tests.faults.harness import Home, results
from tests.faults.test_machine import UNPRIVILEGED

pytestmark = [pytest.mark.lab, pytest.mark.realtime]

SAMPLED = Capture(cpu=True)
PROBE = "from longlook.lab import cpu_profiler; print(cpu_profiler.failure() or '')"


@pytest.mark.parametrize("stack", ["rogue", "rogue-session"])
def test_both_ends_are_sampled_or_the_reason_is_told(home: Home, engine: LiveEngine, stack: str) -> None:
    for name in ("first", "second"):  # a session client is there before the second profiler
        job = home.job(name, client_stack=stack, capture=SAMPLED)
        run = engine.run(job)
        assert (run.outcome, run.reason) == (Outcome.OK, None)
        folder = Path(job.folder) / "cpu"
        if (refused := cpu_profiler.failure()) is not None:
            assert run.collectors["cpu_profile"]
            assert refused
            assert not (folder / "profile.json").exists()
            continue
        assert run.collectors == {"cpu_profile": ""}
        assert {path.name for path in folder.iterdir()} == {"client.folded", "server.folded", "profile.json"}
        facts = json.loads((folder / "profile.json").read_text())
        for role in ("client", "server"):
            stacks = read_folded(folder / f"{role}.folded")
            assert stacks.total() == facts["samples"][role]
            if stack == "rogue" and role == "client":  # Python starts while it is sampled
                assert stacks.total() > 0
            assert all(stack.startswith("python") for stack in stacks)
        assert run.cpu_s["profiler"] > 0
        assert {role: counts["calls"] for role, counts in run.kernel_counts.items()} == facts["system_calls"]
        assert facts["system_calls"]["client"] > 0


def test_without_privilege_a_trial_says_why_nothing_was_sampled(home: Home) -> None:
    (answer,) = results(home.drive(home.job(capture=SAMPLED), prefix=UNPRIVILEGED))
    assert answer["run"]["outcome"] in (Outcome.OK, Outcome.INVALID)  # packets are late without real-time priority
    told = answer["run"]["collectors"]["cpu_profile"]
    command = [*UNPRIVILEGED, sys.executable, "-c", PROBE]
    refused = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.strip()
    assert (refused in told) if refused else told == ""


def test_what_a_profiler_that_dies_has_written_is_removed(
    home: Home, engine: LiveEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = 'for last; do :; done; head -c 100000 /dev/zero > "$last"'
    _perf(home, monkeypatch, f"#!/bin/sh\necho ack\n{write}\necho 'No space left on device' >&2\nexit 1\n")
    job = home.job(capture=SAMPLED)
    run = engine.run(job)
    assert run.outcome is Outcome.OK
    assert run.collectors == {"cpu_profile": "perf ended early (exit code 1): No space left on device"}
    assert {path.name for path in (Path(job.folder) / "cpu").iterdir()} == {"perf.stderr"}


def test_a_profiler_that_ends_early_costs_the_profile_and_not_the_trial(
    home: Home, engine: LiveEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    _perf(home, monkeypatch, "#!/bin/sh\necho 'Error:' >&2\necho 'the kernel has no cpu-clock' >&2\nexit 255\n")
    run = engine.run(home.job(capture=SAMPLED))
    assert run.outcome is Outcome.OK
    assert run.collectors == {"cpu_profile": "perf sampled nothing: the kernel has no cpu-clock"}


def _perf(home: Home, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Put a perf of our own first, which fails as a real one may."""
    tools = home.path / "tools"
    tools.mkdir()
    (tools / "perf").write_text(script)
    (tools / "perf").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
