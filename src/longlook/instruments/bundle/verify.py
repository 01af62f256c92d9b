"""A bundle, or a run folder, checked: its files, its seals, and a random part of its trials run again."""

import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from longlook.core import RUN_RECORD, InputError, Plan, Program, Run, RunFolder, Trial, codec, files
from longlook.engines import make_engine
from longlook.instruments.bundle.archive import unpack_bundle
from longlook.instruments.bundle.layout import About, about_of
from longlook.instruments.bundle.programs import KERNEL_PROGRAM, given_by
from longlook.instruments.bundle.rerun import Again, Rerunner
from longlook.instruments.bundle.sample import draw, sample_size
from longlook.pipeline import Observer, analyse_run, open_adopted, provide_for
from longlook.run import Provisions
from longlook.study import VIRTUAL

_KERNEL_VARIABLE = "LONGLOOK_KERNEL"
_TRIAL_ID = re.compile(r"[0-9a-f]{16}")  # trials' files are in folders of these names
_TABLES = ("samples.parquet", "estimates.parquet")


@dataclass(frozen=True)
class VerifyRequest:
    """A sample such as `5%`, the seed that draws it, and whether the bundle's own programs run."""

    sample: str
    seed: int
    jobs: int
    use_programs: bool = False
    keep: Path | None = None  # where trials that differ are kept


@dataclass(frozen=True)
class Verified:
    """The result of a verification. `altered` are sentences about files that are not as they were sealed.

    `deviations` says what is not as the run had it on this machine: programs, kernel, agent, Python. `tables` says of
    each table of an analysis anew whether it is the same; empty if the raw files are not there.
    """

    path: Path
    about: About | None
    study: str
    trials: int
    exact: int
    seed: int
    altered: tuple[str, ...] = ()
    deviations: tuple[str, ...] = ()
    again: tuple[Again, ...] = ()
    tables: Mapping[str, bool] = field(default_factory=dict)

    @property
    def same(self) -> int:
        """The number of trials that gave the same again."""
        return sum(each.is_same for each in self.again)

    @property
    def first_difference(self) -> Again | None:
        """The first trial that differs, in the order of the plan."""
        return next((each for each in self.again if each.differing), None)

    @property
    def unable(self) -> Again | None:
        """The first trial that could not run here, in the order of the plan."""
        return next((each for each in self.again if each.unable), None)


def verify(path: Path, request: VerifyRequest, observer: Observer) -> Verified:
    """Check a bundle, or a run folder, and run a sample of its trials again.

    InputError if it is neither, or the bundle's file is damaged; MachineError if trials cannot run here.
    """
    with _opened(path) as (folder, about):
        _expect_sound(folder)
        finished = _finished(folder)
        exact = [trial for trial, run in finished if run.exact and run.engine == VIRTUAL]
        count = sample_size(request.sample, len(exact))
        given = _given(folder, about, observer, use_programs=request.use_programs)
        altered = tuple(_altered(folder, raw=about is None or about.artefacts))
        found = Verified(path, about, folder.study.id, len(finished), len(exact), request.seed, altered)
        if altered:  # what was altered proves nothing by running again
            return found
        tables = _analysed_anew(folder, observer) if about is not None and about.artefacts else {}
        sample = draw(exact, count, request.seed)
        if not sample:
            return replace(found, tables=tables)
        again, deviations = _run_again(folder, sample, given, request, observer)
        return replace(found, tables=tables, again=tuple(again), deviations=deviations)


@contextmanager
def _opened(path: Path) -> Iterator[tuple[RunFolder, About | None]]:
    """Yield the run folder of a path, and the facts of the bundle that it was unpacked from."""
    if path.is_dir():
        yield open_adopted(path), about_of(path)
        return
    with tempfile.TemporaryDirectory(prefix="longlook-verify-", ignore_cleanup_errors=True) as place:
        unpacked = Path(place) / "bundle"
        unpacked.mkdir()
        about = unpack_bundle(path, unpacked)
        (unpacked / "trials").mkdir(exist_ok=True)
        yield open_adopted(unpacked), about


def _expect_sound(folder: RunFolder) -> None:
    """Raise InputError if the manifest or the plan is not of the form in which Longlook writes it."""
    manifest = folder.manifest
    tables = ("programs", "settings")
    if not all(isinstance(manifest.get(name), dict) for name in tables) or not isinstance(manifest.get("engine"), str):
        raise InputError(f"manifest.json of {folder.study.id} is damaged", "get the bundle again")
    if odd := next((trial.id for trial in folder.plan.trials if not _TRIAL_ID.fullmatch(trial.id)), None):
        raise InputError(f"the plan has a trial {odd!r}, which no plan of Longlook has", "get the bundle again")


def _finished(folder: RunFolder) -> list[tuple[Trial, Run]]:
    """Return the trials of a run with their final records, also if their raw files are not there."""
    found = []
    for trial in folder.plan.trials:
        try:
            found.append((trial, codec.decode(Run, files.read_json(folder.trials / trial.id / RUN_RECORD))))
        except FileNotFoundError:  # it never ran; if it did, its seal says so
            continue
        except (OSError, ValueError, RecursionError) as error:
            raise InputError(f"trials/{trial.id}/{RUN_RECORD} is damaged: {error}", "get the bundle again") from error
    return found


def _altered(folder: RunFolder, *, raw: bool) -> Iterator[str]:
    """Yield what is not as it was sealed; `raw`: the raw files of trials are there, too."""
    top = [name for name, _ in files.below(folder.path, ("trials", "altered")) if "/" not in name]
    there = [path.name for path in folder.trials.glob("[!.]*")]
    trials = dict.fromkeys([*(trial.id for trial in folder.plan.trials), *sorted(there)])
    records = [f"trials/{name}/{RUN_RECORD}" for name in trials]
    yield from filter(None, map(folder.broken, [*top, *records]))
    if raw:
        wrong = folder.added() | folder.altered(trial.id for trial in folder.plan.trials)
        yield from (f"trial {name}: {what}" for name, what in wrong.items())
    else:
        yield from (f"{name}: it was added, for it has no seal" for name in folder.added())


def _given(folder: RunFolder, about: About | None, observer: Observer, *, use_programs: bool) -> dict[str, Program]:
    """Return the bundle's programs if they are to be used, and say so; InputError if there are none."""
    if not use_programs:
        return {}
    if about is None or not about.programs:
        raise InputError("--use-programs: it carries no programs", "longlook bundle RUN --programs makes one that does")
    observer.say(f"programs of the bundle run, not this machine's: {', '.join(each.name for each in about.programs)}")
    return given_by(about, folder)


def _run_again(
    folder: RunFolder, sample: Sequence[Trial], given: Mapping[str, Program], request: VerifyRequest, observer: Observer
) -> tuple[list[Again], tuple[str, ...]]:
    """Return the trials that ran again, and what is not as the run had it on this machine."""
    plan = Plan(folder.study.id, "", tuple(sample))
    engine = make_engine(VIRTUAL)  # whatever the manifest says: a stranger's programs stay in a guest
    with _kernel(given.get(KERNEL_PROGRAM)), tempfile.TemporaryDirectory(prefix="longlook-verify-") as place:
        provisions = _with(given, provide_for(plan, engine, observer.say, installed=_by_endpoint(given)))
        with engine:
            deviations = tuple(_deviations(folder.manifest, provisions, engine.setting() or {}, engine.name))
            for each in deviations:
                observer.say(f"not as in the run: {each}")
            for note in engine.notes():
                observer.say(note)
            observer.planned(plan, 0)
            rerunner = Rerunner(folder, engine, provisions, request.jobs, Path(place), request.keep)
            return rerunner.run(sample, lambda done: observer.verifying(done, len(sample))), deviations


@contextmanager
def _kernel(program: Program | None) -> Iterator[None]:
    """Let guests boot a bundle's kernel meanwhile."""
    before = os.environ.get(_KERNEL_VARIABLE)
    if program is not None:
        os.environ[_KERNEL_VARIABLE] = program.path
    try:
        yield
    finally:
        if program is not None:
            os.environ.pop(_KERNEL_VARIABLE)
            if before is not None:
                os.environ[_KERNEL_VARIABLE] = before


def _by_endpoint(given: Mapping[str, Program]) -> dict[tuple[str, str], Program]:
    parts = {name: name.partition("@") for name in given if "@" in name}
    return {(stack, version): given[name] for name, (stack, _, version) in parts.items()}


def _with(given: Mapping[str, Program], provisions: Provisions) -> Provisions:
    trace = provisions.trace and given.get("trace", provisions.trace)
    return replace(provisions, link=given.get("link", provisions.link), trace=trace)


def _deviations(
    manifest: Mapping[str, Any], provisions: Provisions, setting: Mapping[str, str], engine: str
) -> Iterator[str]:
    """Yield what this machine has otherwise than the run, in clauses."""
    here = {f"{name}@{version}": program.digest for (name, version), program in provisions.programs.items()}
    here |= {"link": provisions.link.digest, **provisions.tools}
    if provisions.trace is not None:
        here["trace"] = provisions.trace.digest
    then = manifest["programs"]
    settings = manifest.get("settings", {}).get(engine, {})
    for name, digest in [*here.items(), *setting.items()]:
        before = then.get(name) if name in here else settings.get(name)
        if before != digest:
            yield f"{name} is {_short(digest)}, was {_short(before)}"


def _short(text: str | None) -> str:
    if text is None:
        return "not there"
    is_digest = len(text) == 64 and not set(text) - set("0123456789abcdef")
    return text[:12] if is_digest else text.splitlines()[0]


def _analysed_anew(folder: RunFolder, observer: Observer) -> dict[str, bool]:
    """Return of each table, and of the digest of all results, whether an analysis of the raw files makes the same."""
    before = {name: folder.path / f".before-{name}" for name in _TABLES if (folder.path / name).is_file()}
    for name, copy in before.items():
        shutil.copyfile(folder.path / name, copy)
    digest = folder.manifest.get("results")
    with folder:
        analyse_run(folder, replace(observer, say=lambda _text: None))
    same = {name: _table(copy).equals(_table(folder.path / name)) for name, copy in before.items()}
    return {"results": folder.manifest.get("results") == digest, **same}


def _table(path: Path) -> pa.Table:
    return pq.read_table(files.regular(path)).replace_schema_metadata(None)
