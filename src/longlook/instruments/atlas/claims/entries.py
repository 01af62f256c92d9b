"""Entries of an atlas: made of analysed run folders, written to files, and read again (docs/guide/claims.md)."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import pandas as pd

from longlook.analysis import arm_levels, estimate, estimates_from_table, population_levels
from longlook.core import (
    DEPENDENCES,
    SAMPLES,
    ArmLevel,
    ClaimResult,
    Estimate,
    InputError,
    MachineError,
    Outcome,
    RunFolder,
    Study,
    codec,
    files,
    nearest,
    write_text,
)
from longlook.instruments.atlas.claims.dispute import Dispute, DisputeEvidence
from longlook.instruments.atlas.claims.entry import (
    Effort,
    Entry,
    Explained,
    entry_of,
    entry_text,
    with_statements,
    without_drawn,
)
from longlook.pipeline import ALTERED, CLAIMS, ESTIMATES, check_analysed, read_answers
from longlook.pipeline import FOLDER as EXPLANATIONS
from longlook.report import ReportContent, contrast_anchors, make_grid, metric_facts, sentence

_REPORT = Path("report") / "index.html"
_PROOFS = Path(EXPLANATIONS) / "index.html"


@dataclass(frozen=True)
class Found:
    """A run that pages show: its entry, the run folder or the file that it was read from, and the run folder if that
    is at hand.
    """

    entry: Entry
    path: Path
    folder: Path | None

    @property
    def study(self) -> Study:
        """The study as it was planned."""
        return self.entry.study

    @property
    def report(self) -> Path | None:
        """The page of the run's report, if it is at hand."""
        return self._at_hand(_REPORT)

    @property
    def proofs(self) -> Path | None:
        """The page that proves the run's explanations, if it is at hand."""
        return self._at_hand(_PROOFS)

    def _at_hand(self, page: Path) -> Path | None:
        return self.folder / page if self.folder is not None and (self.folder / page).is_file() else None

    @cached_property
    def claims(self) -> list[ClaimResult]:
        """Return the study's claims with our values."""
        return self.entry.claim_results()

    @cached_property
    def content(self) -> ReportContent:
        """Return what a report draws of the run's contrasts and claims; of its samples it has the cells alone."""
        rows = [
            {"cell": name, **{f"factor.{factor}": label for factor, label in cell.items()}}
            for name, cell in self.entry.cells.items()
        ]
        estimates = list(self.entry.estimates)
        return ReportContent(self.study, pd.DataFrame(rows), estimates, self.claims, {}, metric_facts(self.study))

    @cached_property
    def anchors(self) -> dict[tuple[str, str], str]:
        """Return the anchors in the run's report by contrast and cell id."""
        prefixes = contrast_anchors(self.study)
        return {
            (contrast.name, str(place.cell_id)): anchor
            for contrast in self.study.contrasts
            for anchor, place in make_grid(self.content, contrast).anchored(prefixes[contrast.name])
        }

    def values(self, evidence: DisputeEvidence) -> Sequence[Estimate | ArmLevel] | None:
        """Return our values for a piece of evidence; None if the run may have them and the entry has not."""
        found: list[Estimate | ArmLevel] = (
            [item for item in self.entry.estimates if _is_about(item, evidence)]
            if evidence.contrast
            else [item for item in self.entry.levels if _is_about(item, evidence)]
        )
        return found if found or evidence.metric not in self.study.metrics or not self.entry.cells else None


def _is_about(item: Estimate | ArmLevel, evidence: DisputeEvidence) -> bool:
    if isinstance(item, Estimate):
        return (item.contrast, item.metric) == (evidence.contrast, evidence.metric)
    return (item.arm, item.metric) == (evidence.arm, evidence.metric)


def stated_as(found: Found, study: Study | None) -> Found:
    """Return a run whose claims count as the installed study says, whatever plan either has."""
    return found if study is None else replace(found, entry=with_statements(found.entry, study))


def read_found(path: Path, disputes: Iterable[Dispute]) -> Found:
    """Return the run of a run folder after its analysis, or of the file of an entry.

    InputError if it is neither, or cannot be read.
    """
    if path.is_file():
        return Found(read_entry(path), path, None)
    return Found(make_entry(path, disputes), path, path)


def read_entry(path: Path) -> Entry:
    """Return the entry of a file; InputError if it cannot be read."""
    try:
        return entry_of(files.read_text(path))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}", "restore it from a copy, or remove it") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        hint = "restore it from a copy, or remove it: running its study, or adopting a run, writes it again"
        raise InputError(f"{path} cannot be read: {error}", hint) from error


def make_entry(path: Path, disputes: Iterable[Dispute]) -> Entry:
    """Return the entry of a run folder after its analysis; InputError if it has none, or if its files cannot be
    read. It has values for the disputes that ask for any.
    """
    folder = RunFolder.open(path)
    if not (path / CLAIMS).exists():
        raise InputError(f"{path} has not been analysed: no {CLAIMS}", f"first longlook report {path}")
    check_analysed(folder, (CLAIMS, SAMPLES, ESTIMATES))
    study, manifest = folder.study, folder.manifest
    samples = _table(path, SAMPLES)
    dependences = _table(path, DEPENDENCES) if (path / DEPENDENCES).is_file() else None
    estimates = estimates_from_table(_table(path, ESTIMATES), dependences)
    asked = [item for dispute in disputes for item in dispute.evidence if item.study == study.id]
    levels = {claim.expected.metric for claim in study.claims if claim.expected is not None}
    levels |= {item.metric for item in asked if item.arm is not None}
    effort = manifest.get("effort")
    return Entry(
        study=study,
        plan_hash=str(manifest.get("plan_hash", "")),
        results=manifest.get("results", {}).get("digest"),
        engine=_engines(folder, str(manifest.get("engine", ""))),
        command=_anywhere(str(manifest.get("command", ""))),
        made_unix_s=int(manifest.get("finished_unix_s") or manifest.get("started_unix_s") or 0),
        trials=int(manifest.get("trials", 0)),
        good=_good(samples),
        altered=len(manifest.get(ALTERED, {})),
        effort=None if effort is None else codec.decode(Effort, effort),
        longlook=str(manifest.get("host", {}).get("longlook", "")),
        programs=manifest.get("programs", {}),
        cells=_cells(samples, study),
        estimates=tuple(map(without_drawn, [*estimates, *_on_other_metrics(asked, samples, study)])),
        levels=(
            *arm_levels(samples, study, [name for name in study.metrics if name in levels]),
            *population_levels(samples, study),
        ),
        explanations=tuple(
            Explained(each.contrast, each.cell_id, sentence(each)) for each in read_answers(path / EXPLANATIONS)
        ),
    )


def _on_other_metrics(asked: Sequence[DisputeEvidence], samples: pd.DataFrame, study: Study) -> list[Estimate]:
    """Return the effects that disputes look at on another metric than the contrast's own."""
    own = {(contrast.name, contrast.metric) for contrast in study.contrasts}
    wanted = dict.fromkeys((item.contrast, item.metric) for item in asked if item.contrast)
    found: list[Estimate] = []
    for name, metric in wanted:
        if (name, metric) in own or metric not in study.metrics:
            continue
        contrasts = tuple(replace(item, metric=metric) for item in study.contrasts if item.name == name)
        found += estimate(samples, replace(study, contrasts=contrasts))
    return found


def _engines(folder: RunFolder, default: str) -> str:
    """Return the engine of a run's trials, if arms may have one of their own; both with `and` between."""
    return " and ".join(sorted({trial.engine or default for trial in folder.plan.trials}, reverse=True)) or default


def _anywhere(command: str) -> str:
    """Return a run's command without its folder, which is another one on each machine."""
    words = shlex.split(command)
    return shlex.join(
        word
        for place, word in enumerate(words)
        if not word.startswith("--out=") and "--out" not in words[max(0, place - 1) : place + 1]
    )


def _good(samples: pd.DataFrame) -> int:
    last = samples.sort_values("attempt").drop_duplicates("trial_id", keep="last")
    return int((last["outcome"] == Outcome.OK.value).sum())


def _cells(samples: pd.DataFrame, study: Study) -> dict[str, dict[str, str]]:
    names = [factor.name for factor in study.factors]
    distinct = samples[["cell", *(f"factor.{name}" for name in names)]].drop_duplicates().sort_values("cell")
    return {
        str(row[0]): dict(zip(names, map(str, row[1:]), strict=True))
        for row in distinct.itertuples(index=False, name=None)
    }


def _table(path: Path, name: str) -> pd.DataFrame:
    try:
        return pd.read_parquet(files.regular(path / name))
    except (OSError, ValueError) as error:
        raise InputError(f"{path / name} cannot be read: {error}", f"first longlook report {path}") from error


def refuse_other_folder(path: Path) -> None:
    """Raise InputError if a folder has anything but files of JSON, hidden files and READMEs: it is another folder,
    in which entries would be written among the files of others.
    """
    for place in path.iterdir() if path.is_dir() else ():
        if not (place.suffix == ".json" and files.is_regular(place)) and not place.name.startswith((".", "README")):
            hint = "name a folder of its own, which is made where it is missing"
            raise InputError(f"--entries {path} is no folder of entries: it has {place.name}", hint)


class EntryFolder:
    """A folder of entries, a file `STUDY.json` for each study that was run. It remembers what it read."""

    def __init__(self, path: Path, studies: Iterable[str]) -> None:
        """Take a folder, which need not exist; InputError if it is a file, or has an entry of no such study."""
        if path.exists() and not path.is_dir():
            raise InputError(f"{path} is no folder of entries", "name a folder, which is made where it is missing")
        self.path = path
        self._read: dict[str, tuple[float, Entry]] = {}
        known = list(studies)
        for file in sorted(path.glob("*.json")):
            if file.stem not in known:
                raise InputError(
                    f"{file} is named after {file.stem!r}, which is no installed study{nearest(file.stem, known)}",
                    "remove it, or name the study's root in LONGLOOK_PLUGINS",
                )

    def file(self, study: str) -> Path:
        """Return the file of a study's entry."""
        return self.path / f"{study}.json"

    def read(self, study: str) -> Entry | None:
        """Return a study's entry, or None if there is none; InputError if its file cannot be read."""
        file = self.file(study)
        if not file.is_file():
            return None
        written = file.stat().st_mtime
        if study not in self._read or self._read[study][0] != written:
            entry = read_entry(file)
            if entry.study.id != study:
                raise InputError(f"{file} is an entry of {entry.study.id}", f"rename it to {entry.study.id}.json")
            self._read[study] = written, entry
        return self._read[study][1]

    def keep(self, entry: Entry) -> None:
        """Write an entry, unless there is one of a newer run; InputError if the old one cannot be read."""
        before = self.read(entry.study.id)
        if before is not None and (before == entry or before.made_unix_s > entry.made_unix_s):
            return
        file = self.file(entry.study.id)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            write_text(file, entry_text(entry))
        except OSError as error:
            raise MachineError(f"cannot write {file}: {error.strerror or error}", "make room") from error

    def all(self) -> Mapping[str, Entry]:
        """Return every entry by study; InputError if one cannot be read."""
        names = sorted(file.stem for file in self.path.glob("*.json"))
        return {name: entry for name in names if (entry := self.read(name)) is not None}
