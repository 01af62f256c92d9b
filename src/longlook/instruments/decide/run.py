"""Run the studies of a decision, or say beforehand what they would cost; then answer for the users."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

from longlook.analysis import Users, whose_udp_passes
from longlook.core import InputError, RunFolder, Study, write_text
from longlook.instruments.decide.spec import (
    FALLBACK_S,
    PAGE_LOAD_TIME,
    DecideSpec,
    cpu_document,
    main_study,
    settings_study,
)
from longlook.pipeline import (
    Observer,
    Preview,
    Result,
    RunOptions,
    UsersAnswered,
    answer_users,
    preview_study,
    run_study,
)
from longlook.study import as_toml

MAIN, SETTINGS, CPU_STUDY = "run", "settings", "cpu.toml"
"""Names in the folder of a decision: two run folders, and the study that measures CPU time in real time."""


@dataclass(frozen=True)
class Decided:
    """The outcome: the answers of the users by HTTP/3 against HTTP/2, and by the server's settings."""

    spec: DecideSpec
    folder: Path
    main: UsersAnswered
    settings: UsersAnswered | None
    results: tuple[Result, ...]


def preview(spec: DecideSpec, out: Path, options: RunOptions, *, with_settings: bool) -> dict[str, Preview]:
    """Return what each study would do: nothing is installed, and no trial runs."""
    return {name: preview_study(study, out / name, options) for name, study in _studies(spec, with_settings).items()}


def decide(
    spec: DecideSpec,
    out: Path,
    options: RunOptions,
    shown: Callable[[str], AbstractContextManager[Observer]],
    *,
    with_settings: bool,
) -> Decided:
    """Run the studies in the folder `out`, and answer.

    `shown(text)` shows the progress of one study. Finished trials are in the cache, so that a decision that was stopped
    goes on if it is asked again.
    """
    if out.exists():
        raise InputError(f"{out} exists", "choose a new folder; finished trials come from the cache: --out OTHER")
    results = []
    for name, study in _studies(spec, with_settings).items():
        with shown(study.title) as observer:
            results.append(run_study(study, out / name, options, observer))
    write_text(out / CPU_STUDY, as_toml(cpu_document(spec)))
    main, settings = answered(out, spec.users, falls_back=spec.falls_back)
    return Decided(spec, out, main, settings, tuple(results))


def answered(out: Path, users: Users, *, falls_back: bool) -> tuple[UsersAnswered, UsersAnswered | None]:
    """Return the answers for users from the run folders of a decision."""
    own = users if falls_back or users.fallback_s is not None else replace(users, fallback_s=FALLBACK_S)
    main = answer_users(RunFolder.open(out / MAIN), own)
    folder = out / SETTINGS
    if not folder.exists():
        return main, None
    return main, answer_users(RunFolder.open(folder), whose_udp_passes(own), (PAGE_LOAD_TIME,))


def _studies(spec: DecideSpec, with_settings: bool) -> Mapping[str, Study]:
    settings = settings_study(spec) if with_settings else None
    return {MAIN: main_study(spec), **({} if settings is None else {SETTINGS: settings})}
