"""The order of the stages; each arrow of ARCHITECTURE.md is one function here, and each reruns from files alone."""

import shlex
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from longlook.analysis.bottleneck import attribute_bottlenecks
from longlook.analysis.claims.judge import judge
from longlook.analysis.measure import Measured, measure_all
from longlook.analysis.results_digest import ResultsDigest, results_digest
from longlook.analysis.samples import samples_table
from longlook.analysis.stats import arm_levels, estimate, estimates_table
from longlook.calibration.virtual import certificate
from longlook.core import codec
from longlook.core.errors import InputError
from longlook.core.model import SCHEMA_VERSION, ClaimResult, Estimate, Outcome, Plan, Study, Trial
from longlook.core.programs import link_program, trace_program
from longlook.core.run_folder import FLOWS, POINTS, RATES, STATES, RunFolder, write_json
from longlook.engines import Engine
from longlook.engines.choice import make_engine
from longlook.explain.rounds import Wanted
from longlook.network.trace_store import lay
from longlook.network.varying import traces_of
from longlook.pipeline.inside import collected, write_inside_pages
from longlook.provision import tls
from longlook.provision.guest_kernel import kernel_program
from longlook.provision.setup import install
from longlook.report import ReportContent, metrics_by_arm, write_report
from longlook.report.content import metric_facts
from longlook.report.inside import inside_pages
from longlook.run.execute import Executor, Progress, Provisions, Tally, endpoints, prepare_contents, records_tcp
from longlook.run.host_facts import host_facts
from longlook.run.trial_cache import TrialCache
from longlook.run.verification import Checked, Verification
from longlook.run.verify import Verifier, refuse_unrepeatable
from longlook.run.verify import forget as forget_verification
from longlook.run.verify import load as load_verification
from longlook.run.verify import save as save_verification
from longlook.study.catalogue import installed
from longlook.study.plan import make_plan
from longlook.study.releases import Release, releases
from longlook.study.virtual_time import VIRTUAL, check_virtual
from longlook.timeline.collectors import collector_costs, not_recorded


@dataclass(frozen=True)
class Observer:
    """Who is told what happens; every function may be called often."""

    say: Callable[[str], None] = lambda _text: None
    planned: Callable[[Plan, int], None] = lambda _plan, _finished: None  # plan, trials finished in an earlier session
    progress: Callable[[Progress], None] = lambda _progress: None
    measuring: Callable[[int, int], None] = lambda _done, _total: None
    verifying: Callable[[int, int], None] = lambda _done, _total: None  # repeats of trials


@dataclass(frozen=True)
class Result:
    """What a run or a report comes to."""

    path: Path
    study: Study
    estimates: list[Estimate]
    claims: list[ClaimResult]
    report: Path
    outcomes: Mapping[Outcome, int]  # of every attempt
    verification: Verification | None = None  # of this session or an earlier one
    fingerprint: ResultsDigest | None = None  # of the exact trials
    inside: tuple[Path, ...] = ()  # pages about the inside of cells


def run_study(
    study: Study,
    engine: Engine,
    out: Path,
    observer: Observer,
    *,
    only: Sequence[str] = (),
    resume: bool = False,
    command: Sequence[str] = (),
    jobs: int = 1,
    use_cache: bool = True,
    verify: int = 0,
) -> Result:
    """Plan, run and report a study. With `resume`, `out` holds the same plan and only what is missing runs.

    `engine` runs the trials that name no other; up to `jobs` at once, where it can. Then each is run `verify` times
    more, without the cache, and compared.
    """
    plan = make_plan(study, only)
    if verify:
        for each, trials in _by_engine(plan, engine):
            with each:
                refuse_unrepeatable(each, trials)
    check_virtual(study, plan, engine.name)
    folder = _reopen(out, plan) if resume else None
    provisions = provide(plan, observer.say)
    if any((trial.engine or engine.name) == VIRTUAL for trial in plan.trials):
        kernel_program(observer.say)  # building it takes minutes, which only here can be told
    if folder is None:
        folder = RunFolder.create(out, study, plan, _manifest(study, plan, engine, provisions, command))
    provisions = replace(provisions, traces=lay(_traces(plan), folder.traces))
    finished = sum(folder.result(trial.id) is not None for trial in plan.trials)
    observer.planned(plan, finished)
    with folder:
        if finished < len(plan.trials):
            tally = Tally(len(plan.trials), observer.progress, finished)
            for each, trials in _by_engine(plan, engine):
                with each:
                    setting = each.setting()
                    cache = TrialCache(setting) if use_cache and setting is not None else None
                    _note_setting(folder, each.name, setting)
                    for note in each.notes():
                        observer.say(note)
                    _note_calibration(folder, provisions, setting)
                    Executor(study, folder, each, provisions, tally, jobs=jobs, cache=cache).execute(trials)
            folder.write_manifest({**folder.manifest, "finished_unix_s": int(time.time())})
        if verify:
            _verify(folder, plan, engine, provisions, verify, jobs, observer)
        return analyse(folder, observer)


def _traces(plan: Plan) -> Iterator[str]:
    for trial in plan.trials:
        yield from traces_of(trial.link)


def provide(plan: Plan, say: Callable[[str], None]) -> Provisions:
    """Install, generate and sign what the plan's trials need."""
    programs = {(end.stack, end.version): install(f"{end.stack}@{end.version}", say) for end in endpoints(plan)}
    recorded = any(records_tcp(trial) for trial in plan.trials)
    return Provisions(
        programs, prepare_contents(plan), tls.identity(), link_program(), trace_program() if recorded else None
    )


def analyse(folder: RunFolder, observer: Observer, inside: Wanted | None = None) -> Result:
    """Every stage after the engine: normalise, measure, estimate, judge, report; and the inside of some cells."""
    study = folder.study
    measured = measure_all(folder, study, observer.measuring)
    if not measured:
        raise InputError(f"{folder.path} holds no finished trial", f"longlook run {study.id} --resume {folder.path}")
    found = results_digest((entry.run, entry.values) for entry in measured)
    if found is not None:
        folder.write_manifest({**folder.manifest, "results": codec.encode(found)})
    samples = samples_table(study, [(entry.trial, entry.run, entry.values) for entry in measured])
    samples.to_parquet(folder.path / "samples.parquet", index=False)
    _write_tables(folder, measured)
    attempts = [(entry.trial, entry.run) for entry in measured]
    estimates = attribute_bottlenecks(estimate(samples, study), study, attempts, folder.manifest["engine"])
    estimates_table(estimates).to_parquet(folder.path / "estimates.parquet", index=False)
    claims = judge(study.claims, estimates, study, arm_levels(samples, study))
    write_json(folder.path / "claims.json", codec.encode(claims))
    verification = load_verification(folder)
    content = ReportContent(
        study=study,
        samples=samples,
        estimates=estimates,
        claims=claims,
        manifest=folder.manifest,
        metrics=metric_facts(study),
        goodput=_joined(entry.goodput for entry in measured),
        verification=verification,
        flows=_joined(entry.flows for entry in measured),
        rates=_joined(entry.rates for entry in measured),
        levels=arm_levels(samples, study, metrics_by_arm(study)),
        releases={arm: codec.decode(Release, release) for arm, release in folder.manifest.get("releases", {}).items()},
    )
    arms = [arm.name for arm in study.arms]
    traces = collected(folder, folder.plan.trials)
    content = replace(content, costs=collector_costs(traces, arms), not_recorded=not_recorded(traces, arms))
    pages = write_inside_pages(folder, content, inside, observer.say) if inside is not None else []
    report = write_report(folder.path / "report", replace(content, inside=inside_pages(folder.path / "report")))
    outcomes = Counter(entry.run.outcome for entry in measured)
    return Result(folder.path, study, estimates, claims, report, outcomes, verification, found, tuple(pages))


def _verify(
    folder: RunFolder, plan: Plan, engine: Engine, provisions: Provisions, repeats: int, jobs: int, observer: Observer
) -> None:
    forget_verification(folder)
    checked: dict[str, Checked] = {}
    done, lock = 0, threading.Lock()

    def count() -> None:
        nonlocal done
        with lock:
            done += 1
            observer.verifying(done, repeats * len(plan.trials))

    for each, trials in _by_engine(plan, engine):
        with each:
            verifier = Verifier(folder, each, provisions, folder.study.metrics, repeats, jobs)
            checked |= {trial.trial_id: trial for trial in verifier.verify(trials, count)}
    save_verification(folder, Verification(repeats, tuple(checked[trial.id] for trial in plan.trials)))


def _by_engine(plan: Plan, engine: Engine) -> Iterator[tuple[Engine, list[Trial]]]:
    """Trials by the engine that they name, in the plan's order; live ones last, when nothing else runs here."""
    names = sorted({trial.engine or engine.name for trial in plan.trials}, key=lambda name: (name == "live", name))
    for name in names:
        trials = [trial for trial in plan.trials if (trial.engine or engine.name) == name]
        yield (engine if name == engine.name else make_engine(name)), trials


def _note_setting(folder: RunFolder, engine: str, setting: Mapping[str, str] | None) -> None:
    if setting is not None:
        manifest = folder.manifest
        folder.write_manifest({**manifest, "settings": {**manifest["settings"], engine: dict(setting)}})


def _note_calibration(folder: RunFolder, provisions: Provisions, setting: Mapping[str, str] | None) -> None:
    """Point to the certificate of this link in this guest kernel; None in the manifest: `longlook calibrate` is due."""
    if setting is not None and "kernel" in setting:
        found = certificate(provisions.link.digest, setting["kernel"])
        folder.write_manifest({**folder.manifest, "calibration": found})


def _reopen(out: Path, plan: Plan) -> RunFolder:
    folder = RunFolder.open(out)
    if folder.manifest["schema_version"] != SCHEMA_VERSION:
        raise InputError(
            f"{out} was begun by an earlier Longlook, whose runs can be read and not continued",
            f"longlook report {out} analyses what it has; for the rest start anew without --resume",
        )
    planned = folder.manifest["plan_hash"]
    if planned != plan.hash:
        raise InputError(
            f"{out} was planned differently (plan {planned}, now {plan.hash}): the study or an option has changed",
            "use the options of its manifest.json, or start anew with another --out",
        )
    return folder


def _manifest(
    study: Study, plan: Plan, engine: Engine, provisions: Provisions, command: Sequence[str]
) -> dict[str, Any]:
    return {
        "study": study.id,
        "plan_hash": plan.hash,
        "trials": len(plan.trials),
        "engine": engine.name,
        "settings": {},
        "command": shlex.join(command),
        "programs": {
            **{f"{name}@{version}": program.digest for (name, version), program in provisions.programs.items()},
            "link": provisions.link.digest,
            **({"trace": provisions.trace.digest} if provisions.trace else {}),
        },
        "releases": codec.encode(releases(study, installed())),
        "host": host_facts(),
        "started_unix_s": int(time.time()),
    }


def _write_tables(folder: RunFolder, measured: list[Measured]) -> None:
    """Tables of every trial that has any such rows, and no file where none has.

    Times in states, where traces were captured; flows that competed, their rates and the points of their envelopes.
    """
    tables = {
        STATES: _joined(entry.states for entry in measured),
        FLOWS: _joined(entry.flows for entry in measured),
        RATES: _joined(entry.rates for entry in measured),
        POINTS: _joined(entry.points for entry in measured),
    }
    for name, table in tables.items():
        path = folder.path / name
        path.unlink(missing_ok=True)
        if table is not None:
            table.to_parquet(path, index=False)


def _joined(tables: Iterable[pd.DataFrame | None]) -> pd.DataFrame | None:
    """Rows of all trials in one table; None where no trial has any."""
    filled = [table for table in tables if table is not None and len(table)]
    return pd.concat(filled, ignore_index=True) if filled else None
