"""`longlook reproduce`: fit, try, correct the fit, compare, and change one suspected cause after the other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from longlook.core import (
    Analysis,
    Estimate,
    InputError,
    MachineError,
    Outcome,
    RunFolder,
    Scalar,
    SettingError,
    Study,
    find_protocol,
)
from longlook.instruments.transfer.answer import TransferAnswer, explain_one
from longlook.instruments.transfer.reading import End, read_trace
from longlook.instruments.transfer.rebuild.document import (
    metric_of,
    rebuilt_document,
    rebuilt_study,
    study_text,
    with_tests,
)
from longlook.instruments.transfer.rebuild.fit import Rebuilt, drops, fit_transfer, refit
from longlook.instruments.transfer.rebuild.likeness import Likeness, likeness_of
from longlook.instruments.transfer.suspicion import Suspicion
from longlook.pipeline import Observer, RunOptions, run_study, sample_study
from longlook.study import Catalogue, default_around, installed, make_plan, toml_value
from longlook.timeline import convert

_CORRECTIONS = 2
"""The fit is corrected so often, each time by a trial of the one before."""
STUDY = "study.toml"
CAPTURE = "trial.pcapng"


@dataclass(frozen=True)
class ReproduceRequest:
    """A trace of one end, how it is read, settings that stand above the fitted ones, and rounds of each test."""

    trace: Path
    vantage: End | None = None
    connection: int | None = None
    keys: Path | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    rounds: int = 10


@dataclass(frozen=True)
class Tested:
    """A suspected cause: the contrast of the trial without it, or why none was run."""

    suspicion: Suspicion
    settings: Mapping[str, Scalar]
    estimate: Estimate | None = None
    untested: str = ""


@dataclass(frozen=True)
class Reproduction:
    """A transfer, its trial next to it, and the tests of its suspected causes."""

    answer: TransferAnswer
    rebuilt: Rebuilt
    study: Path
    likeness: Likeness | None = None  # None: nothing was run
    tests: Sequence[Tested] = ()
    report: Path | None = None  # of the tests


def reproduce(request: ReproduceRequest, out: Path, options: RunOptions | None, observer: Observer) -> Reproduction:
    """Rebuild the transfer of a trace in the folder `out`; without `options` write the study of the first fit alone.

    Raise InputError for what no trial can repeat, MachineError if a trial of the fit fails.
    """
    RunFolder.refuse_taken(out)
    if 0 < request.rounds < Analysis().min_rounds:
        raise InputError(f"--rounds {request.rounds}: a verdict needs {Analysis().min_rounds}", "or 0 for no tests")
    given = {key: toml_value(value) for key, value in request.settings.items()}
    answer = explain_one(read_trace(request.trace, request.vantage, request.connection, request.keys))
    catalogue = installed()
    rebuilt = fit_transfer(answer, catalogue.stacks, given)
    if options is None:
        return Reproduction(answer, rebuilt, _write(rebuilt, answer, catalogue, out))
    trial, packets = _tried(_study(rebuilt, answer, catalogue), rebuilt, out / "fit-1", options, observer)
    for step in range(2, _CORRECTIONS + 2):
        rebuilt = refit(rebuilt, answer, trial, packets, _knobs(rebuilt, catalogue))
        trial, packets = _tried(_study(rebuilt, answer, catalogue), rebuilt, out / f"fit-{step}", options, observer)
    written = _write(rebuilt, answer, catalogue, out)
    alike = likeness_of(answer, trial)
    if not request.rounds:
        return Reproduction(answer, rebuilt, written, alike)
    tests, report = _tests(_Case(answer, rebuilt, catalogue), request.rounds, out / "tests", options, observer)
    return Reproduction(answer, rebuilt, written, alike, tests, report)


def _study(rebuilt: Rebuilt, answer: TransferAnswer, catalogue: Catalogue, **changes: Any) -> Study:
    return rebuilt_study({**rebuilt_document(rebuilt, answer), **changes}, catalogue)


def _write(rebuilt: Rebuilt, answer: TransferAnswer, catalogue: Catalogue, out: Path) -> Path:
    """Write the study file, which must be a good one, and return its path."""
    document = rebuilt_document(rebuilt, answer)
    rebuilt_study(document, catalogue)
    comments = [f"{part.what}: {part.value} ({part.found})" for part in rebuilt.fitted.values()]
    out.mkdir(parents=True, exist_ok=True)
    path = out / STUDY
    path.write_text(study_text(document, [*comments, *rebuilt.lacks]), encoding="utf-8")
    return path


def _tried(
    study: Study, rebuilt: Rebuilt, out: Path, options: RunOptions, observer: Observer
) -> tuple[TransferAnswer, int]:
    """Run a study's one trial; return the answer about its trace at the recorded end, and the data sender's packets.

    Raise MachineError if the trial fails or leaves no trace of that end.
    """
    sample_study(study, out, options, observer)
    folder = RunFolder.open(out)
    trial = folder.plan.trials[0]
    run = folder.result(trial.id)
    if run is None or run.outcome is not Outcome.OK:
        why = "no result" if run is None else run.reason or str(run.outcome)
        raise MachineError(
            f"the rebuilt transfer failed: {why}", f"change what does not fit by --set; its trial is in {out}"
        )
    trace = _trace_of(folder.trials / trial.id, trial.protocol, rebuilt.end, out)
    recording = read_trace(trace, "client" if rebuilt.end == "client" else "server", None)
    return explain_one(recording), int(run.link[rebuilt.way]["arrived"])


def _trace_of(trial: Path, protocol: str, end: str, out: Path) -> Path:
    """Return the qlog that an end of a trial left, or of TCP a capture that is made of the link's log."""
    if not find_protocol(protocol).quic:
        [written] = convert(trial, "pcapng", out / CAPTURE)
        return written.path
    files = sorted((trial / "qlog" / end).glob("*"), key=lambda file: file.stat().st_size)
    if not files:
        raise MachineError(f"the {end} of the trial left no qlog", "choose another program: --set server=quic-go")
    return files[-1]


def _knobs(rebuilt: Rebuilt, catalogue: Catalogue) -> dict[str, list[str]]:
    found = {}
    for role in ("server", "client"):
        name, _, version = str(rebuilt.settings[role]).partition("@")
        stack = catalogue.stacks[name]
        found[role] = list(stack.knobs_of(version or stack.default_version, role))
    return found


@dataclass(frozen=True)
class _Case:
    """A transfer and its fit."""

    answer: TransferAnswer
    rebuilt: Rebuilt
    catalogue: Catalogue


def _tests(
    case: _Case, rounds: int, out: Path, options: RunOptions, observer: Observer
) -> tuple[list[Tested], Path | None]:
    """Run the rebuilt transfer with and without each suspected cause; return the tests and the report."""
    around = default_around(options.engine.name)
    base = _study(case.rebuilt, case.answer, case.catalogue, rounds=rounds, around=around, capture={})
    metric = metric_of(case.rebuilt)
    tests: dict[str, Tested] = {}
    for suspicion in case.answer.suspicions:
        settings = _in_study(suspicion.settings, case.rebuilt)
        reason = _untestable(settings, case) or _refusal(base, suspicion.cause, settings, metric)
        tests[suspicion.cause] = Tested(suspicion, settings, untested=reason)
    changes = {name: test.settings for name, test in tests.items() if not test.untested}
    if not changes:
        return list(tests.values()), None
    result = run_study(with_tests(base, changes, metric), out, options, observer)
    for estimate in result.estimates:
        tests[estimate.contrast] = replace(tests[estimate.contrast], estimate=estimate)
    return list(tests.values()), result.report


def _in_study(settings: Mapping[str, Scalar], rebuilt: Rebuilt) -> dict[str, Scalar]:
    """Return the settings of a test as they stand above the rebuilt study's: its own losses and its own queue too."""
    found = dict(settings)
    if "network.loss" in found:
        found[f"network.surgery.{rebuilt.way}"] = "off"
    own = f"network.{rebuilt.way}.queue"
    if "network.queue" in found and own in rebuilt.settings:
        found[own] = found.pop("network.queue")
    ends = {"server": "client", "client": "server"} if rebuilt.uplink else {}
    for key in [*found]:
        role, is_knob, knob = key.partition("_knobs.")
        if is_knob and role in ends:  # suspicions name the ends of a download
            found[f"{ends[role]}_knobs.{knob}"] = found.pop(key)
    return found


def _untestable(settings: Mapping[str, Scalar], case: _Case) -> str:
    """Return why a test cannot be made with the program, "" if it can."""
    if not settings:
        return "no setting of a study takes it away"
    if "network.loss" in settings and not drops(case.rebuilt):
        return "the trial drops no packet one by one, so there is none to spare"
    knobs = _knobs(case.rebuilt, case.catalogue)
    for key in settings:
        role, is_knob, knob = key.partition("_knobs.")
        if is_knob and knob not in knobs[role]:
            return f"{case.rebuilt.settings[role]} has no setting {knob}"
    own = {key: case.rebuilt.settings[key] for key in settings if key in case.rebuilt.settings}
    return "the rebuilt transfer is so already" if own == dict(settings) else ""


def _refusal(base: Study, cause: str, settings: Mapping[str, Scalar], metric: str) -> str:
    """Return why a study cannot have a change, "" if it can."""
    try:
        make_plan(with_tests(base, {cause: settings}, metric))
    except (InputError, SettingError) as error:
        return str(error)
    return ""
