"""The result of a trial whose testbed was lost: it is invalid and tried again, unless a program is the known cause."""

from pathlib import Path

from longlook.core import Job, Outcome, Run
from longlook.lab import digests, seal, write_json


def lost_run(
    job: Job,
    engine: str,
    reason: str,
    hint: str,
    began_unix_ns: int,
    duration_s: float,
    *,
    failed: bool = False,
) -> Run:
    """Seal the job's folder with an invalid run and return it; files that are in the folder already are kept.

    `began_unix_ns` is when the trial began, `duration_s` how long it ran until it was lost, both in real time.
    `failed`: a program under test is known to be the cause, so that the same would happen again.
    """
    folder = Path(job.folder)
    write_json(folder / "trial.json", job.trial)
    run = Run(
        trial_id=job.trial.id,
        outcome=Outcome.FAILED if failed else Outcome.INVALID,
        reason=reason,
        hint=hint,
        attempt=job.attempt,
        engine=engine,
        started_unix_ns=began_unix_ns,
        setup_s=0.0,
        measure_s=duration_s,
        teardown_s=0.0,
        programs={role: program.digest for role, program in job.programs.items()},
        artefacts=digests(folder),
        cpu_s={},
        link={},
        guard={},
    )
    seal(folder, run)
    return run
