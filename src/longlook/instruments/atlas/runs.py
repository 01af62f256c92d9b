"""The runs of an atlas: which studies it has, what is there of each, what is still to run, and how long that takes.

A run lies in `OUT/runs/STUDY`: a run folder, or a symbolic link to one that was made elsewhere and adopted. A run that
ended is kept as long as its plan is the plan of the study; one that was planned differently is moved to `OUT/replaced`,
so that nothing is lost.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from longlook.core import Engine, InputError, Lock, MachineError, Plan, RunFolder, Study, Trial, nearest, stop_after_s
from longlook.instruments.atlas.claims.entry import Entry
from longlook.instruments.atlas.papers import PAPERS, checks_laboratory, paper_of
from longlook.network import largest_rate_bps
from longlook.pipeline import LIVE, RunOptions
from longlook.study import make_plan

RUNS, REPLACED, ENTRIES = "runs", "replaced", "entries"
_LAST_FILE = Path("report") / "index.html"
"""The file that the analysis of a run writes last."""


_S_PER_TRIAL, _S_PER_MB = 0.6, 0.2
"""CPU seconds in virtual time (docs/explanation/virtual-time.md, what it costs)."""
_PAGE_MB = 2.0
"""Taken for pages whose parameters do not say how large they are."""


@dataclass(frozen=True)
class AtlasOptions:
    """The content of an atlas, and how it is run. Without `studies` and `papers` it has every installed study."""

    out: Path
    engine: Callable[[], Engine]  # makes a new one for each run
    studies: tuple[str, ...] = ()
    papers: tuple[str, ...] = ()
    live: bool = False  # also studies with trials in real time
    jobs: int = 1
    use_cache: bool = True
    entries: Path | None = None  # the folder of entries; None: in `out`

    def run_options(self, study: str, *, resume: bool) -> RunOptions:
        """Return the options with which `longlook run STUDY` runs a study."""
        return RunOptions(
            self.engine(),
            jobs=self.jobs,
            use_cache=self.use_cache,
            resume=resume,
            command=("longlook", "run", study),
        )


@dataclass(frozen=True)
class Choice:
    """The studies that an atlas runs, by name, and why it leaves the others out."""

    studies: Mapping[str, Study]
    left_out: Mapping[str, str] = field(default_factory=dict)


def choose(installed: Mapping[str, Study], options: AtlasOptions) -> Choice:
    """Return the studies that the options name, else all except the ones left out of an atlas.

    InputError for an unknown study or paper.
    """
    papers = {paper_of(study).key: None for study in installed.values()}
    for name in options.studies:
        if name not in installed:
            raise InputError(f"unknown study {name!r}{nearest(name, list(installed))}", "longlook study list names all")
    for name in options.papers:
        if name not in papers:
            known = [paper.key for paper in PAPERS if paper.key in papers]
            raise InputError(f"--paper {name}: no study is of such a paper{nearest(name, known)}", ", ".join(known))
    named = set(options.studies)
    wanted = {
        name: study
        for name, study in installed.items()
        if name in named or paper_of(study).key in options.papers or not (named or options.papers)
    }
    left_out = {
        name: reason
        for name, study in wanted.items()
        if name not in named and (reason := _why_not(study, live=options.live))
    }
    return Choice({name: study for name, study in wanted.items() if name not in left_out}, left_out)


def _why_not(study: Study, *, live: bool) -> str:
    if checks_laboratory(study.source):
        return "it checks the laboratory itself (longlook certify, longlook run --verify): name it to run it"
    if not live and runs_live(study):
        return "its trials run in real time, which needs an idle machine and privileges: --live takes it too"
    return ""


def runs_live(study: Study) -> bool:
    """Return whether any trial of a study runs in real time, whatever engine is asked for."""
    settings = [study.settings, *(arm.settings for arm in study.arms)]
    settings += [level.sets for factor in study.factors for level in factor.levels]
    return any(each.get("engine") == LIVE for each in settings)


def adopt(path: Path, out: Path, installed: Mapping[str, Study]) -> None:
    """Let a run that was made elsewhere be the atlas's run of its study, by a symbolic link below `OUT/runs`.

    InputError if it is no run folder, has not been analysed, is of no installed study, or if the atlas has a run
    of that study itself.
    """
    study = RunFolder.open(path).study.id
    if study not in installed:
        raise InputError(f"--adopt {path}: a run of {study!r}, which is no installed study", "longlook study list")
    if not (path / _LAST_FILE).is_file():
        raise InputError(f"--adopt {path}: the run has no report", f"first longlook report {path}")
    place = out / RUNS / study
    if place.exists() and not place.is_symlink():
        raise InputError(f"--adopt {path}: {place} is a run of {study} already", f"move {place} away to adopt another")
    place.parent.mkdir(parents=True, exist_ok=True)
    temporary = place.with_name(f".{study}.new")
    temporary.unlink(missing_ok=True)
    temporary.symlink_to(path.resolve())
    temporary.replace(place)


@dataclass(frozen=True)
class Standing:
    """The state of a study's run."""

    there: bool  # a run folder, whole or not
    ended: bool  # every trial has its result, and the analysis came after the last
    same_plan: bool
    adopted: bool
    finished: int = 0  # trials
    trials: int = 0

    @property
    def to_run(self) -> bool:
        """Whether the study must run, or go on."""
        return not self.adopted and not (self.ended and self.same_plan)


def standing(place: Path, plan: Plan | None) -> Standing:
    """Return what there is of a run; without a plan the run's own counts. InputError if it cannot be read."""
    if not place.exists():
        return Standing(there=False, ended=False, same_plan=False, adopted=False)
    folder = RunFolder.open(place)
    manifest = folder.manifest
    report, finished_unix_s = place / _LAST_FILE, manifest.get("finished_unix_s")
    adopted = place.is_symlink()
    after_last = finished_unix_s is not None and report.is_file() and report.stat().st_mtime >= int(finished_unix_s)
    ended = report.is_file() if adopted else after_last
    trials = [trial.id for trial in folder.plan.trials] if not ended else []
    return Standing(
        there=True,
        ended=ended,
        same_plan=plan is None or manifest.get("plan_hash") == plan.hash,
        adopted=adopted,
        finished=sum((folder.trials / name / "run.json").is_file() for name in trials),
        trials=int(manifest.get("trials", 0)),
    )


def note_ended(place: Path) -> None:
    """Note that a run ended if that is missing, because it was killed after its last trial and then analysed."""
    folder = RunFolder.open(place)
    if "finished_unix_s" not in folder.manifest:
        folder.note(finished_unix_s=int((place / _LAST_FILE).stat().st_mtime))


def move_replaced(place: Path, out: Path) -> Path:
    """Move a run folder out of the way, to where no other lies; return its new place."""
    name = f"{place.name}-{RunFolder.open(place).manifest.get('plan_hash', 'unknown')}"
    free = (name if number == 1 else f"{name}-{number}" for number in range(1, 1000))
    target = next(out / REPLACED / each for each in free if not (out / REPLACED / each).exists())
    target.parent.mkdir(parents=True, exist_ok=True)
    place.rename(target)
    return target


def in_order(studies: Sequence[Study]) -> list[tuple[Study, Plan]]:
    """Return studies with their plans, the studies with fewest trials first, so that the page fills early."""
    planned = [(study, make_plan(study)) for study in studies]
    return sorted(planned, key=lambda item: (len(item[1].trials), item[0].id))


@contextmanager
def taken(out: Path) -> Iterator[None]:
    """Hold the folder of an atlas against another longlook that would run studies there."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MachineError(f"cannot write to {out}: {error.strerror}", "choose another --out") from error
    lock = Lock(out)
    lock.take()
    try:
        yield
    finally:
        lock.release()


def minutes(plan: Plan, left: int, jobs: int, entry: Entry | None) -> float:
    """Return an estimate of the minutes that `left` trials of a plan take, `jobs` at once, without their analysis.

    In virtual time they take as long as they compute, if nothing else does; in real time as long as they last.
    """
    if entry is not None and entry.effort is not None:
        effort = entry.effort
        each_s = (effort.job_s if entry.engine == LIVE else effort.cpu_s) / effort.trials
    else:
        each_s = sum(_S_PER_TRIAL + _S_PER_MB * megabytes(trial) for trial in plan.trials) / max(len(plan.trials), 1)
    return each_s * left / jobs / 60


def megabytes(trial: Trial) -> float:
    """Return about how many MB a trial carries, at most what its bottleneck lets through if flows run for a time."""
    parameters = trial.workload.parameters
    lasts_s = stop_after_s(trial.workload)
    if lasts_s is not None:
        rates_bps = [largest_rate_bps(stage) for stage in trial.link.down if stage.kind == "rate"]
        return min(rates_bps, default=0.0) * lasts_s / 8e6
    if trial.competes:
        return sum(flow.object_bytes or 0 for flow in trial.flows) / 1e6
    if "object_bytes" not in parameters:
        return _PAGE_MB
    objects, connections = (int(parameters.get(name, 1)) for name in ("objects", "connections"))
    return int(parameters["object_bytes"]) * objects * connections / 1e6
