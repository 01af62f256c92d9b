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
    LOAD,
    metric_of,
    rebuilt_document,
    rebuilt_study,
    study_text,
    with_tests,
)
from longlook.instruments.transfer.rebuild.fit import fit_transfer
from longlook.instruments.transfer.rebuild.likeness import Likeness, likeness_of
from longlook.instruments.transfer.rebuild.parts import Rebuilt
from longlook.instruments.transfer.rebuild.refit import drops, refit
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
    case = _Case(answer, installed())
    rebuilt = fit_transfer(answer, case.catalogue.stacks, given)
    if options is None:
        if rebuilt.dropped:
            rebuilt = rebuilt.lacking(
                "Losses need a trial that shows where their packets are: this study has none yet."
            )
        return Reproduction(answer, rebuilt, _write(case, rebuilt, out))
    trial = _tried(case, rebuilt, out / "fit-1", options, observer)
    for step in range(2, _CORRECTIONS + 2):
        rebuilt = refit(rebuilt, answer, trial.answer, trial.link_packets, _knobs(rebuilt, case.catalogue))
        trial = _tried(case, rebuilt, out / f"fit-{step}", options, observer)
    likeness = likeness_of(answer, trial.answer)
    # A load of the user's own is not the trace's, so it is expected to last as long as its trial did.
    written = _write(case, rebuilt, out, trial.load_s / (1 if given else likeness.time_factor))
    if not request.rounds:
        return Reproduction(answer, rebuilt, written, likeness)
    tests, report = _tests(case, rebuilt, request.rounds, out / "tests", options, observer)
    return Reproduction(answer, rebuilt, written, likeness, tests, report)


@dataclass(frozen=True)
class _Case:
    """The answer about a trace, and the programs that there are."""

    answer: TransferAnswer
    catalogue: Catalogue

    def study(self, rebuilt: Rebuilt, **changes: Any) -> Study:
        """Return the study of a fit, with some of its keys changed."""
        return rebuilt_study({**rebuilt_document(rebuilt, self.answer), **changes}, self.catalogue)


@dataclass(frozen=True)
class _Trial:
    """A trial of a fit: the answer about its trace at the recorded end, the data sender's packets, and the load."""

    answer: TransferAnswer
    link_packets: int
    load_s: float


def _write(case: _Case, rebuilt: Rebuilt, out: Path, load_s: float | None = None) -> Path:
    """Write the study file, which must be a good one, and return its path."""
    document = rebuilt_document(rebuilt, case.answer, load_s)
    rebuilt_study(document, case.catalogue)
    comments = [f"{part.what}: {part.value} ({part.found})" for part in rebuilt.fitted.values()]
    path = out / STUDY
    try:
        out.mkdir(parents=True, exist_ok=True)
        path.write_text(study_text(document, [*comments, *rebuilt.lacks]), encoding="utf-8")
    except OSError as error:
        raise InputError(f"--out {out} cannot be written: {error.strerror}", "choose another --out") from error
    return path


def _tried(case: _Case, rebuilt: Rebuilt, out: Path, options: RunOptions, observer: Observer) -> _Trial:
    """Run the one trial of a fit. Raise MachineError if the trial fails or leaves no trace of the recorded end."""
    samples = sample_study(case.study(rebuilt), out, options, observer)
    folder = RunFolder.open(out)
    trial = folder.plan.trials[0]
    run = folder.result(trial.id)
    if run is None or run.outcome is not Outcome.OK:
        why = "no result" if run is None else run.reason or str(run.outcome)
        raise MachineError(
            f"the rebuilt transfer failed: {why}",
            f"its trial is in {out}; change by --set what does not fit, and choose another --out",
        )
    recording = read_trace(_trace_of(folder.trials / trial.id, trial.protocol, rebuilt.end, out), rebuilt.end, None)
    load_s = float(samples.loc[samples["metric"] == LOAD, "value"].iloc[0])
    return _Trial(explain_one(recording), int(run.link[rebuilt.way]["arrived"]), load_s)


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


def _tests(
    case: _Case, rebuilt: Rebuilt, rounds: int, out: Path, options: RunOptions, observer: Observer
) -> tuple[list[Tested], Path | None]:
    """Run the rebuilt transfer with and without each suspected cause; return the tests and the report."""
    base = case.study(rebuilt, rounds=rounds, around=default_around(options.engine.name), capture={})
    metric = metric_of(rebuilt)
    tests: dict[str, Tested] = {}
    for suspicion in case.answer.suspicions:
        settings = _in_study(suspicion.settings, rebuilt)
        reason = _untestable(settings, rebuilt, case.catalogue) or _refusal(base, suspicion.cause, settings, metric)
        tests[suspicion.cause] = Tested(suspicion, settings, untested=reason)
    changes = {name: test.settings for name, test in tests.items() if not test.untested}
    if not changes:
        return list(tests.values()), None
    result = run_study(with_tests(base, changes, metric), out, options, observer)
    for estimate in result.estimates:
        tests[estimate.contrast] = replace(tests[estimate.contrast], estimate=estimate)
    return list(tests.values()), result.report


_OTHER = {"server_knobs": "client_knobs", "client_knobs": "server_knobs"}


def _in_study(settings: Mapping[str, Scalar], rebuilt: Rebuilt) -> dict[str, Scalar]:
    """Return the settings of a test as they stand above the rebuilt study's: its own losses and its own queue too.

    Suspicions name the ends of a download, and an upload has the other one in the place of each.
    """
    found: dict[str, Scalar] = {}
    for key, value in settings.items():
        table, dot, name = key.partition(".")
        own = f"network.{rebuilt.way}.queue"
        if key == "network.queue" and own in rebuilt.settings:
            found[own] = value
        else:
            found[(_OTHER.get(table, table) if rebuilt.uplink else table) + dot + name] = value
    if "network.loss" in found:
        found[f"network.surgery.{rebuilt.way}"] = "off"
    return found


def _untestable(settings: Mapping[str, Scalar], rebuilt: Rebuilt, catalogue: Catalogue) -> str:
    """Return why a test cannot be made with the program, "" if it can."""
    if not settings:
        return "no setting of a study takes it away"
    if "network.loss" in settings and not drops(rebuilt):
        return "the trial drops no packet one by one, so no loss can be taken away"
    knobs = _knobs(rebuilt, catalogue)
    for key in settings:
        role, is_knob, knob = key.partition("_knobs.")
        if is_knob and knob not in knobs[role]:
            return f"{rebuilt.settings[role]} has no setting {knob}"
    own = {key: rebuilt.settings[key] for key in settings if key in rebuilt.settings}
    return "the trial has this setting already" if own == dict(settings) else ""


def _refusal(base: Study, cause: str, settings: Mapping[str, Scalar], metric: str) -> str:
    """Return why a study cannot have a change, "" if it can."""
    try:
        make_plan(with_tests(base, {cause: settings}, metric))
    except (InputError, SettingError) as error:
        return str(error)
    return ""
