"""Whether trials in virtual time repeat to the byte while the host is disturbed.

The trials of the study `exactness` run once. Then `longlook run … --verify` repeats them, in a process of its own for
each disturbance, so that environment, CPUs and mounts are that process's alone; every byte is compared, as
`run.verify` does. Each disturbance is noted as soon as it is done, so that an interruption loses one at most.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from longlook.core import LonglookError, MachineError, RunFolder, codec, files, write_json
from longlook.engines import make_engine
from longlook.instruments.certify.disturbances import DISTURBANCES, Disturbance, RepeatLaunch
from longlook.pipeline import Observer, RunOptions, run_study
from longlook.run import verify
from longlook.study import find_study

STUDY = "exactness"
CHANGES = {"workload.object": "30KB"}
"""A small object: what disturbs a start or a handshake disturbs a load of any size, and repeats are many."""

NOTES = "exactness.json"
_DIVERGED = 1  # exit code of `longlook run --verify`
_SHOWN_LINES = 5


@dataclass(frozen=True)
class Repeated:
    """The repeats of all exact trials under one disturbance, in one pass."""

    disturbance: str
    number: int  # of the pass, from 1
    repeats: int  # over all trials
    identical: int  # in which every byte was the same
    missing: str | None = None  # why it could not be made here
    divergent: str | None = None  # where the first trial that differed is, below the certification's folder
    first_difference: str | None = None  # the part of it that differed

    @property
    def key(self) -> tuple[str, int]:
        """Return what it is the repeat of."""
        return self.disturbance, self.number


def repeat_exactly(
    out: Path,
    repeats: int,
    passes: int,
    jobs: int,
    observer: Observer,
    disturbances: Sequence[Disturbance] = DISTURBANCES,
) -> list[Repeated]:
    """Repeat the exact trials under every disturbance; return all repeats, also from earlier sessions."""
    run = _trials(out, jobs, observer)
    done = {item.key: item for item in load(out)}
    for number in range(1, passes + 1):
        for disturbance in disturbances:
            if (disturbance.name, number) in done:
                continue
            observer.say(f"exactness, pass {number} of {passes}: {disturbance.summary} …")
            item = _repeat(out, run, disturbance, number, repeats, jobs)
            done[item.key] = item
            write_json(out / NOTES, codec.encode([*done.values()]))
    return [*done.values()]


def load(out: Path) -> list[Repeated]:
    """Return the repeats that earlier sessions noted."""
    path = out / NOTES
    if not path.exists():
        return []
    try:
        return [codec.decode(Repeated, item) for item in files.read_json(path)]
    except ValueError as error:
        raise MachineError(f"{path}: {error}", "remove that file; its repeats are then made again") from error


def carry_over(before: Path, out: Path) -> None:
    """Take over what is noted in another certification's folder, if anything is; MachineError if it is damaged."""
    if noted := load(before):
        write_json(out / NOTES, codec.encode(noted))


def _trials(out: Path, jobs: int, observer: Observer) -> Path:
    path = out / "runs" / STUDY
    resume = (path / "manifest.json").exists()
    options = RunOptions(make_engine("virtual"), jobs=jobs, resume=resume, command=("longlook", "certify"))
    result = run_study(find_study(STUDY, changes=CHANGES), path, options, observer)
    return result.path


def _repeat(out: Path, run: Path, disturbance: Disturbance, number: int, repeats: int, jobs: int) -> Repeated:
    reason = disturbance.missing()
    if reason is not None:
        return Repeated(disturbance.name, number, 0, 0, missing=reason)
    with tempfile.TemporaryDirectory(prefix="disturb-", dir=out) as place, disturbance.disturb(run, Path(place)) as way:
        _verify(way, repeats, jobs)
        found = verify.load(RunFolder.open(way.folder))
        if found is None:
            raise LonglookError(f"{way.folder} was not verified", "repeat the command")
        kept = None
        if found.diverged:
            kept = out / verify.DIVERGENT / f"{disturbance.name.replace('/', '_')} {number}"
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(way.folder / verify.DIVERGENT, kept)
        return Repeated(
            disturbance.name,
            number,
            sum(trial.repeats for trial in found.trials if trial.exact),
            sum(trial.identical for trial in found.trials if trial.exact),
            divergent=None if kept is None else str(kept.relative_to(out)),
            first_difference=next((trial.first_difference for trial in found.diverged), None),
        )


def _verify(way: RepeatLaunch, repeats: int, jobs: int) -> None:
    """Repeat the trials of a run in a process of its own; MachineError if that cannot go on."""
    changes = [word for key, value in CHANGES.items() for word in ("--set", f"{key}={value}")]
    command = [*way.prefix, sys.executable, "-m", "longlook", "run", STUDY, *changes, "--json"]
    command += ["--resume", str(way.folder.resolve()), "--verify", str(repeats), "--jobs", str(jobs)]
    ended = subprocess.run(command, env={**os.environ, **way.environment}, capture_output=True, text=True, check=False)
    if ended.returncode not in (0, _DIVERGED):
        last = "\n".join(ended.stderr.strip().splitlines()[-_SHOWN_LINES:])
        raise MachineError(f"repeats ended with exit code {ended.returncode}: {last}", "repeat the command to go on")
