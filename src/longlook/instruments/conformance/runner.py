"""Lists the checks of one version of a stack, runs their trials by an engine and the cache, and judges the results."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from longlook.core import (
    EITHER,
    HQ,
    Analysis,
    Capture,
    Engine,
    Figure,
    Knob,
    LonglookError,
    Plan,
    RunFolder,
    Study,
    Trial,
    codec,
    find_protocol,
    registry,
)
from longlook.instruments.conformance import tcp_settings
from longlook.instruments.conformance.basics import SMALL, basics
from longlook.instruments.conformance.checks import Check, CheckResult, CheckStatus, Report, Want, verdict
from longlook.instruments.conformance.evidence import Seen, read_seen
from longlook.instruments.conformance.honoured import further_knobs, honoured, tunable_sources
from longlook.instruments.conformance.lone_server import lone_server
from longlook.instruments.conformance.proofs import PROOFS, proven_over
from longlook.instruments.conformance.proofs.ask import Ask
from longlook.instruments.conformance.subject import REFERENCE, Subject, ample_knobs, protocols_of, stack_of
from longlook.pipeline import provide_for
from longlook.provision import install
from longlook.run import Executor, Progress, Tally, TrialCache
from longlook.store import sharing


def checks(subject: Subject) -> list[Check]:
    """Return the basic checks and a proof of each declared knob, for each role that has it.

    The reference also has checks of the settings of the kernel's TCP.
    """
    own = [*basics(subject), *knobs(subject)]
    return [*own, *tcp_settings.checks(REFERENCE, REFERENCE)] if subject.name == REFERENCE else own


def knobs(subject: Subject) -> Iterator[Check]:
    """Yield the proofs of all declared knobs; a knob without a proof gets a check that fails."""
    for role in subject.stack.end_roles:
        declared = subject.stack.knobs_of(subject.version, role)
        for name, knob in declared.items():
            for protocol in _spoken(subject, knob):
                peer = subject.other(role)
                ample = ample_knobs(peer, role, protocol)
                ask = Ask(name, knob, role, protocol, subject.end, peer, subject.witness, declared, ample)
                proof = PROOFS.get(name)
                if proof is None:
                    yield _unproven(ask, "there is no proof of this knob: add one to conformance/proofs")
                elif protocol not in proven_over(name):
                    known = ", ".join(proven_over(name))
                    why = f"its proof is for {known}: set `protocols` of its Knob, or add a proof for {protocol}"
                    yield _unproven(ask, why)
                else:
                    yield proof(ask)


def _spoken(subject: Subject, knob: Knob) -> list[str]:
    """Return the protocols for which a knob is declared, and has to be proven, and that the peer speaks too.

    HTTP/0.9 has no knob that HTTP/3 lacks, and none of its own meaning: both set the same connection of QUIC. The same
    holds for a knob of live sources that HTTP/3 has.
    """
    own = [name for name in subject.stack.protocols_of(subject.version) if name != HQ.name]
    shared = [name for name in own if name in protocols_of(subject.peer)]
    both = all(stack_of(end).speaks(end.version, EITHER.name) for end in (subject.end, subject.peer))
    either = both and EITHER.name in knob.protocols
    applied = [protocol for protocol in shared if knob.applies_to(protocol)]
    once = [each for each in applied if "h3" not in applied or not find_protocol(each).live]
    return [*once, *([EITHER.name] if either else [])]


def _unproven(ask: Ask, why: str) -> Check:
    return ask.check({}, lambda _seen: verdict(False, why))


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
    there = subject.stack.is_installed(subject.version)
    results = [
        CheckResult("install", CheckStatus.PASSED if there else CheckStatus.FAILED, f"sha256 {program.digest[:12]}"),
    ]
    further, untunable = _of_tunable_build(subject, say)
    suite = [*checks(subject), *further]
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
        honoured(subject, results, untunable),
    )


def _of_tunable_build(subject: Subject, say: Say) -> tuple[list[Check], str]:
    """Return the proofs of the knobs that sources have in their tunable build alone, and why that cannot be had.

    The reason is empty if it can be had, or if the release that the sources are nearest to has none.
    """
    tunable = tunable_sources(subject)
    if tunable is None:
        return [], subject.stack.why_untunable(subject.version)
    try:
        install(tunable.name, say)
    except LonglookError as error:
        return [], f"{tunable.name} cannot be built: {_in_full(error)}"
    wanted = further_knobs(subject)
    return [check for check in knobs(tunable) if check.role and check.knob in wanted[check.role]], ""


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
    with sharing(say):
        return _run(plan, engine, out, say, jobs, use_cache=use_cache)


def _run(plan: Plan, engine: Engine, out: Path, say: Say, jobs: int, *, use_cache: bool) -> dict[str, Seen | str]:
    provisions = provide_for(plan, engine, say)
    study = _study(plan.trials, 0 if engine.setting() is not None else _LIVE_RETRIES)
    setting = engine.setting()
    cache = TrialCache(setting) if use_cache and setting is not None else None

    def report(progress: Progress) -> None:
        if progress.done % 10 == 0 or progress.done == progress.total:
            say(f"  {progress.done} of {progress.total} trials")

    with RunFolder.create(out, study, plan, {"study": study.id, "engine": engine.name}) as folder:
        Executor(study, folder, engine, provisions, Tally(len(plan.trials), report), jobs=jobs, cache=cache).execute(
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
