"""Options that several commands share, each group declared once as a dataclass."""

import functools
import inspect
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_type_hints

import typer

from longlook.core import InputError, trust
from longlook.terminal import completion

if TYPE_CHECKING:
    from longlook.core import RunFolder, Study
    from longlook.pipeline import RunOptions

Made = TypeVar("Made")
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
AsJsonLines = Annotated[bool, typer.Option("--json", help="Print JSON lines for machines.")]


def expand_options(command: Callable[..., Made]) -> Callable[..., Made]:
    """Let a command take dataclasses of options.

    Typer sees the fields of each dataclass in place of the parameter that it annotates, with their help and defaults.
    The command gets the dataclass.
    """
    hints = get_type_hints(command, include_extras=True)
    groups = {name: kind for name, kind in hints.items() if isinstance(kind, type) and is_dataclass(kind)}
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        if name in groups:
            parameters += _parameters_of(groups[name])
        else:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[name]))
    signature = inspect.Signature(parameters)

    @functools.wraps(command)
    def call(**given: Any) -> Made:
        bound = signature.bind(**given)
        bound.apply_defaults()
        values = dict(bound.arguments)
        made = {
            name: kind(**{each.name: values.pop(each.name) for each in fields(kind)}) for name, kind in groups.items()
        }
        return command(**values, **made)

    call.__signature__ = signature  # type: ignore[attr-defined]
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    del call.__wrapped__  # its annotations are not those that typer is to read
    return call


def _parameters_of(kind: type) -> list[inspect.Parameter]:
    """Return the parameters that make a dataclass."""
    hints = get_type_hints(kind, include_extras=True)
    return [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[name])
        for name, parameter in inspect.signature(kind).parameters.items()
    ]


TrustPrograms = Annotated[
    bool,
    typer.Option("--trust-programs", help="Run programs under test even if nothing confines them."),
]


LOCAL, CHECKED = "local", "2%"
"""The executor, and the share of trials that run again here, if nothing else is said."""
Executor = Annotated[
    str,
    typer.Option(
        metavar="local|dask|dask:ADDRESS|futures:MODULE:NAME",
        help="Where trials in virtual time run: here, on Dask's workers, or on any executor of Python.",
    ),
]
CheckWorkers = Annotated[
    str,
    typer.Option(metavar="SHARE", help="The share of trials of other machines that run again here and are compared."),
]
_MOST_JOBS = 1024
"""Tasks at once on other machines if nobody says a number: as many as they have room for, up to this."""


@dataclass(frozen=True)
class EngineOptions:
    """The engine, its use of the CPUs and of the cache."""

    engine: Annotated[str, typer.Option(help="Where a trial's time comes from: virtual or live.")] = "virtual"
    jobs: Annotated[int | None, typer.Option(min=1, help="Trials at once; default: one for each CPU.")] = None
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Run again what the cache holds.")] = False
    trust_programs: TrustPrograms = False
    store: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Share trials by this folder or URL, such as s3://bucket/prefix."),
    ] = None
    store_read_only: Annotated[
        bool, typer.Option("--store-read-only", help="Take from the store, and put nothing into it.")
    ] = False
    executor: Executor = LOCAL
    check_workers: CheckWorkers = CHECKED

    def __post_init__(self) -> None:
        if self.trust_programs:
            trust.trust_programs()
        name_store(self.store, read_only=self.store_read_only)

    @property
    def jobs_at_once(self) -> int:
        """The number asked for, or the number of CPUs."""
        return at_once(self.jobs)

    def run_options(self) -> "RunOptions":
        """Return the options of a run that is neither narrowed nor continued."""
        from longlook.engines import make_engine
        from longlook.pipeline import RunOptions

        engine, jobs = make_engine(self.engine), self.jobs_at_once
        if self.executor == LOCAL and self.check_workers != CHECKED:
            raise InputError("--check-workers is for trials on other machines", "name --executor, or leave it out")
        if self.executor != LOCAL:
            from longlook.remote import remote_engine

            engine = remote_engine(self.executor, engine, self.jobs, self.check_workers)
            jobs = self.jobs or _MOST_JOBS
        command = ("longlook", *sys.argv[1:])
        return RunOptions(engine, jobs=jobs, use_cache=not self.no_cache, command=command)


def at_once(jobs: int | None) -> int:
    """Return how many trials run at once: the number that is asked for, or one for each CPU."""
    from longlook.core import usable_cpus  # with the model of trials, which `--help` does not need

    return jobs or len(usable_cpus())


def name_store(url: str | None, *, read_only: bool) -> None:
    """Name the store of this process as options do; InputError for an empty name."""
    if url == "":
        raise InputError("--store names nothing", "a folder, or a URL such as s3://bucket/prefix")
    if read_only and not (url or os.environ.get("LONGLOOK_STORE")):
        raise InputError("--store-read-only: no store is named", "--store URL, or LONGLOOK_STORE=URL")
    if url is not None or read_only:
        from longlook.store import use_store  # with libraries that `--help` does not need

        use_store(url, read_only=read_only)


def check_file(option: str, file: Path | None) -> None:
    """Raise InputError if a file that an option names cannot be written; None is not named."""
    if file is not None and (file.is_dir() or not file.absolute().parent.is_dir()):
        raise InputError(f"{option} {file}: no such folder, or a folder itself", f"name a file: {option} FILE")


def new_folder(what: str) -> Path:
    """Return `runs/WHAT-TIME`, where results go if nothing else was said."""
    return Path("runs") / f"{what}-{time.strftime('%Y%m%d-%H%M%S')}"


Around = Annotated[
    str | None,
    typer.Option(
        metavar="none|standard",
        help="What rounds draw about each cell; default: the study's own, else standard in virtual time.",
    ),
]


Losses = Annotated[
    str | None,
    typer.Option(
        metavar="strata|sampled",
        help="Random losses are integrated or drawn in each round; default: the study's, else strata in virtual time.",
    ),
]


@dataclass(frozen=True)
class StudyChanges:
    """Departures from a study's file, for one run."""

    rounds: Annotated[
        str | None,
        typer.Option(metavar="N|decide", help="Rounds instead of the study's own; decide: as many as needed."),
    ] = None
    only: Annotated[
        list[str] | None,
        typer.Option(
            help="FACTOR=LEVEL, a cell such as 10Mbit,1MB, or contrast=NAME with its arms alone; repeat for more.",
            autocompletion=completion.levels,
        ),
    ] = None
    change: Annotated[list[str] | None, typer.Option("--set", help="KEY=VALUE, e.g. network.rtt=50ms.")] = None
    around: Around = None
    losses: Losses = None

    def find(self, study: str, engine: str, begun: "Study | None" = None) -> "Study":
        """Return the study of this name or path, changed and with the contrasts that `only` names, for an engine.

        `begun` is the study of a run which is continued: its traces count, and its neighbourhood unless `--around` asks
        for another.
        """
        from longlook.study import find_study, with_contrasts

        found = find_study(
            study,
            rounds=parse_rounds(self.rounds),
            changes=parse_changes(self.change or []),
            traces=None if begun is None else begun.traces,
            around=self.around if begun is None or self.around is not None else begun.around,
            losses=self._losses(begun),
            engine=engine,
        )
        return with_contrasts(found, self.only or ())

    def find_in(self, run: "RunFolder") -> "Study":
        """Return the study of a run, as it was planned, with the contrasts that `only` names.

        InputError if an option would change it: what the study's file says is put together already.
        """
        from longlook.study import with_contrasts

        given = {"--rounds": self.rounds, "--set": self.change, "--around": self.around, "--losses": self.losses}
        if changed := [name for name, value in given.items() if value]:
            raise InputError(
                f"{', '.join(changed)}: the study of {run.path} is as it was planned, and is not changed",
                "name the study, or its file, in place of the run folder",
            )
        return with_contrasts(run.study, self.only or ())

    def _losses(self, begun: "Study | None") -> str | None:
        from longlook.study import SAMPLED, STRATA

        if begun is None or self.losses is not None:
            return self.losses
        return STRATA if begun.loss_strata else SAMPLED

    @property
    def levels(self) -> tuple[str, ...]:
        """The filters of `only` that choose levels of factors."""
        from longlook.study import levels_of

        return levels_of(self.only or ())


def parse_rounds(text: str | None) -> int | str | None:
    """Return `20` as a number and `decide` as it is; InputError for anything else."""
    if text is None or text == "decide":
        return text
    if text.isascii() and text.isdigit() and len(text) < 20:
        return int(text)
    raise InputError(f"--rounds {text}: neither a whole number nor decide", "write for example --rounds 20")


def parse_changes(changes: list[str]) -> dict[str, str]:
    """Return KEY=VALUE arguments as a mapping; InputError if one is not of that form."""
    parsed = {}
    for change in changes:
        key, equals, value = change.partition("=")
        if not equals or not key:
            raise InputError(f"--set {change}: not KEY=VALUE", "write for example --set network.rtt=50ms")
        parsed[key.strip()] = value.strip()
    return parsed
