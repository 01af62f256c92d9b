"""`longlook certify`: one part after another, each noted in the certificate as soon as it is done."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from longlook import __version__
from longlook.core import (
    Analysis,
    InputError,
    MachineError,
    RunFolder,
    Study,
    folder_digest,
    ignore_in_git,
    nearest,
    outermost_new,
)
from longlook.instruments.certify import (
    exactness,
    fixed_rounds,
    integrated_rates,
    near_programs,
    redrawn,
    stopped_rounds,
    strata_trials,
)
from longlook.instruments.certify.certificate import CERTIFICATE, Certificate, Part, load, save
from longlook.instruments.certify.populations import Population, populations, twins
from longlook.instruments.certify.trial_bank import METRIC, Bank, MadeRun, Scale
from longlook.pipeline import Observer, read_strata
from longlook.run import facts_of_host

SEED = 14
"""The seed of all resampling; the trials have the seeds of their studies."""

_HOST = ("kernel", "machine", "cpu", "cpus", "memory_kib", "python")


@dataclass(frozen=True)
class CertifyOptions:
    """How to certify. `parts` are names of PARTS; none are all that are not yet measured, except for WHOLE.

    `before` is a certificate that a new folder goes on from, made in another folder or on another machine; repeats that
    are noted next to it count, too.
    """

    scale: Scale
    out: Path
    parts: tuple[str, ...] = ()
    before: Path | None = None
    jobs: int = 1
    use_cache: bool = True


class CertificationSession:
    """One session of a certification: the bank, and what parts share of it."""

    def __init__(self, options: CertifyOptions, observer: Observer) -> None:
        self.options, self.observer = options, observer
        self.bank = Bank(options.scale, options.out, options.jobs, observer, use_cache=options.use_cache)

    @property
    def study(self) -> Study:
        """Return the study of the cells, whose analysis is certified."""
        return self.bank.study("cells")

    def twins(self, run: str) -> list[Population]:
        """Return each arm of a run against itself."""
        return twins(self.bank.samples(run), self.bank.study(run), METRIC)

    def contrasts(self, run: str) -> list[Population]:
        """Return the contrasts of a run."""
        return populations(self.bank.samples(run), self.bank.study(run))


def _cells(session: CertificationSession) -> Part:
    return Part(tuple(fixed_rounds.false_verdicts(session.twins("cells"), session.study.analysis, "a against a")))


def _live(session: CertificationSession) -> Part:
    return Part(tuple(fixed_rounds.false_verdicts(session.twins("live"), session.study.analysis, "live")))


def _heatmaps(session: CertificationSession) -> Part:
    count = session.options.scale.heatmaps
    return Part(tuple(fixed_rounds.heatmaps(session.twins("cells"), session.study.analysis, SEED, count)))


def _coverage(session: CertificationSession) -> Part:
    given = session.contrasts("dense"), session.study.analysis, SEED, session.options.scale.draws
    return Part(tuple(fixed_rounds.coverage(*given)), coverage=tuple(fixed_rounds.coverage_by_population(*given)))


def _equivalence(session: CertificationSession) -> Part:
    scale = session.options.scale
    given = session.twins("dense"), session.contrasts("dense"), session.study.analysis
    return Part(tuple(fixed_rounds.equivalence_at_margin(*given, SEED, scale.draws)))


def _power(session: CertificationSession) -> Part:
    analysis, draws = session.study.analysis, session.options.scale.draws
    by_source: dict[str, dict[float, list[Population]]] = {"delay": {}, "delay under loss": {}}
    for population in session.contrasts("power"):
        by_name = by_source["delay" if population.losses is None else "delay under loss"]
        by_name.setdefault(float(population.contrast.removesuffix(" %")), []).append(population)
    table = [
        item
        for source, by_name in by_source.items()
        for item in fixed_rounds.power(source, by_name, analysis, SEED, draws)
    ]
    moved = fixed_rounds.moved_by(session.contrasts("dense"))
    table += fixed_rounds.power("moved", moved, analysis, SEED, max(1, draws // 5))
    return Part(tuple(item.rate for item in table), power=tuple(table))


def _sequential(session: CertificationSession) -> Part:
    given = session.contrasts("dense"), session.study.analysis, SEED, session.options.scale.paths
    rates = tuple(stopped_rounds.sequential_rates(session.twins("dense"), *given))
    return Part(rates, stopped_after=stopped_rounds.rounds_needed(*given))


def _simulated(session: CertificationSession) -> Part:
    analysis, draws = session.study.analysis, session.options.scale.draws
    rates = [
        rate
        for size in redrawn.SIZES
        for contrast in redrawn.CONTRASTS
        for rate in redrawn.redrawn_rates(
            f"{size} rounds", redrawn.random_rounds(size, analysis), contrast, analysis, SEED, draws
        )
    ]
    return Part(tuple(rates))


def _strata(session: CertificationSession) -> Part:
    draws = session.options.scale.draws
    return Part(tuple(integrated_rates.integrated_rates(integrated_rates.CELLS, session.study.analysis, SEED, draws)))


def _near_programs(session: CertificationSession) -> Part:
    draws = session.options.scale.draws
    return Part(tuple(near_programs.near_rates(near_programs.CELLS, session.study.analysis, SEED, draws)))


def _strata_trials(session: CertificationSession) -> Part:
    session.observer.say(
        f"these are few loads; longlook certify --part {WHOLE} compares 24 with 2,000 random rounds each, "
        "about 7 CPU hours"
    )
    return _trials_compared(session, "strata-trials", "strata", "random")


def _strata_trials_whole(session: CertificationSession) -> Part:
    return _trials_compared(session, WHOLE, "strata-whole", "random-whole")


def _trials_compared(session: CertificationSession, part: str, strata: str, random: str) -> Part:
    integrated, drawn = (session.bank.samples(name) for name in (strata, random))
    planned = read_strata(RunFolder.open(session.bank.folder(strata)))
    compared = strata_trials.means_compared(part, integrated, drawn, planned)
    return Part((*compared, *strata_trials.weights_checked(part, planned)))


def _exactness(session: CertificationSession) -> Part:
    options = session.options
    scale = options.scale
    return Part(
        repeated=tuple(
            exactness.repeat_exactly(options.out, scale.repeats, scale.passes, options.jobs, session.observer)
        )
    )


WHOLE = "strata-trials-whole"
"""The part that runs only if it is named."""

PARTS: Mapping[str, Callable[[CertificationSession], Part]] = {
    "a-against-a": _cells,
    "heatmaps": _heatmaps,
    "coverage": _coverage,
    "equivalence": _equivalence,
    "power": _power,
    "sequential": _sequential,
    "strata": _strata,
    "near-programs": _near_programs,
    "strata-trials": _strata_trials,
    WHOLE: _strata_trials_whole,
    "simulated": _simulated,
    "exactness": _exactness,
    "live": _live,
}
"""The parts in the order in which they run; the live one last, when nothing else runs here. WHOLE waits to be named."""


def certify(options: CertifyOptions, observer: Observer) -> Certificate:
    """Make the parts that are asked for, or those not yet measured, and return the certificate of all parts so far.

    Parts that were measured before the code of verdicts or the standard analysis changed count as not yet measured, but
    stay until they are. The certificate is written after each part. Raises InputError for an unknown part, and if the
    folder holds a certification of another scale or version. A part that this machine cannot measure in real time is
    noted as missing.
    """
    chosen = _chosen(options.parts)
    session = CertificationSession(options, observer)
    certificate = _begin(options, session)
    facts = facts_of_host()
    host = {name: facts[name] for name in _HOST}
    for name in chosen if options.parts else [name for name in chosen if name not in certificate.done]:
        began_s = time.monotonic()
        observer.say(f"{name} …")
        part = _made(name, session)
        before = certificate.parts.get(name, Part()).minutes
        day = time.strftime("%Y-%m-%d", time.gmtime())
        minutes = round(before + (time.monotonic() - began_s) / 60, 3)
        part = replace(part, minutes=minutes, host=host, method=certificate.method, day=day)
        ordered = {**certificate.parts, name: part}
        certificate = replace(
            certificate,
            day=day,
            runs=_merged(certificate.runs, session.bank),
            parts={known: ordered[known] for known in PARTS if known in ordered},
        )
        save(certificate, options.out)
    return certificate


def _merged(before: Sequence[MadeRun], bank: Bank) -> tuple[MadeRun, ...]:
    """Return the runs of the certificate so far and the runs of this bank, which replace runs of the same name."""
    by_name = {run.name: run for run in (*before, *bank.made())}
    return tuple(by_name[name] for name in bank.scale.runs if name in by_name)


def _made(name: str, session: CertificationSession) -> Part:
    try:
        return PARTS[name](session)
    except MachineError as error:
        if name != "live":
            raise
        return Part(missing=error.message)


def _chosen(parts: Sequence[str]) -> list[str]:
    for name in parts:
        if name not in PARTS:
            raise InputError(f"--part {name}: no such part{nearest(name, PARTS)}", f"parts: {', '.join(PARTS)}")
    return [name for name in PARTS if name in parts or (not parts and name != WHOLE)]


def _begin(options: CertifyOptions, session: CertificationSession) -> Certificate:
    """Return the certificate of the folder, or what a new one begins with; InputError if the folder is another's."""
    out, path = options.out, options.out / CERTIFICATE
    new = empty(options.scale, session.study.analysis)
    if path.exists():
        if options.before is not None:
            raise InputError(f"{out} has a certificate of its own", "leave --from out, or choose a new --out")
        return _compatible(path, new)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError(f"{out} exists and holds no certification", "choose another --out")
    begun = new if options.before is None else _compatible(options.before, new)
    made = outermost_new(out)
    out.mkdir(parents=True, exist_ok=True)
    ignore_in_git(made)
    if options.before is not None:
        exactness.carry_over(options.before.parent, out)
    save(begun, out)
    return begun


def _compatible(path: Path, new: Certificate) -> Certificate:
    """Return the certificate of a file, as one of the method of `new`; InputError if its other facts differ."""
    begun = load(path)
    for what, before, now in (
        ("version of Longlook", begun.longlook, new.longlook),
        ("scale", begun.scale, new.scale),
        ("seed", begun.seed, new.seed),
    ):
        if before != now:
            raise InputError(
                f"{path} was begun with another {what}: {before}, now {now}",
                "certify with the same options and version, or with another --out: trials come from the cache then",
            )
    return begun.by(new.method, new.analysis)


def empty(scale: Scale, analysis: Analysis) -> Certificate:
    """Return the certificate of this version, before any part of it is made."""
    return Certificate(
        __version__,
        folder_digest("longlook.analysis.stats")[:16],
        scale.name,
        SEED,
        analysis,
        time.strftime("%Y-%m-%d", time.gmtime()),
    )
