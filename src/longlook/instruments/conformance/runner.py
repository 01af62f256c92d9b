"""Runs the trials that checks need, by an engine and the cache of trials, and judges their results."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from longlook.core import Analysis, Capture, Figure, LonglookError, Plan, RunFolder, Study, Trial, codec, registry
from longlook.engines import Engine
from longlook.instruments.conformance.basics import SMALL
from longlook.instruments.conformance.checks import Check, CheckResult, CheckStatus, Report, Want
from longlook.instruments.conformance.evidence import Seen, read_seen
from longlook.instruments.conformance.lone_server import lone_server
from longlook.instruments.conformance.subject import Subject
from longlook.instruments.conformance.suite import checks
from longlook.pipeline import provide_for
from longlook.provision import install
from longlook.run import Executor, Progress, Tally, TrialCache

Say = Callable[[str], None]

_LIVE_RETRIES = 2
"""How often a trial that the validity guard rejects is tried again in real time; in virtual time it would not help."""


def check_subject(
    subject: Subject, engine: Engine, out: Path, say: Say, *, jobs: int = 1, use_cache: bool = True
) -> Report:
    """Check one version with the whole suite and return the report; the trials are in the run folder `out`.

    The engine has been entered. A version that cannot be installed has one check, which failed.
    """
    made_unix_s = int(time.time())
    try:
        program = install(subject.name, say)
    except LonglookError as error:
        broken = CheckResult("install", CheckStatus.FAILED, _in_full(error))
        return Report(subject.stack.name, subject.version, None, engine.name, made_unix_s, (broken,))
    there = subject.stack.installed(subject.version)
    results = [
        CheckResult("install", CheckStatus.PASSED if there else CheckStatus.FAILED, f"sha256 {program.digest[:12]}"),
    ]
    suite = checks(subject)
    found = run_wants([want for check in suite for want in check.wants.values()], engine, out, say, jobs, use_cache)
    results += [judged(check, found) for check in suite]
    results += lone_server(subject, program, registry.workload(SMALL.kind).prepare(SMALL.parameters))
    setting = engine.setting() or {}
    return Report(
        subject.stack.name,
        subject.version,
        program.digest,
        engine.name,
        made_unix_s,
        tuple(results),
        dict(setting),
    )


def judged(check: Check, found: Mapping[str, Seen | str]) -> CheckResult:
    """Return a check's result; in `found`, by trial id, a text in place of the evidence is the reason for its lack."""
    ids = {name: want.trial().id for name, want in check.wants.items()}
    evidence: dict[str, Seen] = {}
    for name, trial_id in ids.items():
        one = found[trial_id]
        if isinstance(one, str):
            return CheckResult(check.name, CheckStatus.FAILED, one, check.knob, check.role, tuple(ids.values()))
        evidence[name] = one
    finding = check.judge(evidence)
    return CheckResult(check.name, finding.status, finding.seen, check.knob, check.role, tuple(ids.values()))


def run_wants(
    wants: Iterable[Want], engine: Engine, out: Path, say: Say, jobs: int = 1, use_cache: bool = True
) -> dict[str, Seen | str]:
    """Run each distinct trial and return its evidence by its id; a text if it could not run."""
    trials = {trial.id: trial for trial in (want.trial() for want in wants)}
    if not trials:
        return {}
    plan = Plan("conformance", codec.content_hash(sorted(trials)), tuple(trials.values()))
    provisions = provide_for(plan, engine, say)
    study = _study(plan.trials, 0 if engine.setting() is not None else _LIVE_RETRIES)
    setting = engine.setting()
    cache = TrialCache(setting) if use_cache and setting is not None else None

    def report(progress: Progress) -> None:
        if progress.done % 10 == 0 or progress.done == progress.total:
            say(f"  {progress.done} of {progress.total} trials")

    with RunFolder.create(out, study, plan, {"study": study.id, "engine": engine.name}) as folder:
        Executor(study, folder, engine, provisions, Tally(len(trials), report), jobs=jobs, cache=cache).execute(
            plan.trials
        )
        return {trial.id: _read(folder, trial) for trial in plan.trials}


def _read(folder: RunFolder, trial: Trial) -> Seen | str:
    run = folder.result(trial.id)
    return "the trial left no result" if run is None else read_seen(folder.trials / trial.id, trial, run)


def _study(trials: Sequence[Trial], retries: int) -> Study:
    """Return the study that the run folder of the trials needs."""
    return Study(
        id="conformance",
        title="Conformance",
        question="Does the stack do what it declares?",
        arms=(),
        factors=(),
        exclude=(),
        settings={},
        rounds=1,
        seed=1,
        timeout_s=max(trial.timeout_s for trial in trials),
        retries_when_invalid=retries,
        metrics=(),
        contrasts=(),
        claims=(),
        analysis=Analysis(),
        capture=Capture(),
        figure=Figure(columns="", rows=()),
    )


def _in_full(error: LonglookError) -> str:
    return f"{error.message} ({error.hint})" if error.hint else error.message
