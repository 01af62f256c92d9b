"""`longlook atlas`: run every study that is still to run, and build the page from whatever is there
(docs/guide/claims.md)."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from longlook.core import (
    FREE_BYTES_NEEDED,
    InputError,
    LonglookError,
    MachineError,
    Plan,
    RunFolder,
    Study,
    write_json,
    write_text,
)
from longlook.instruments.atlas.claims.dispute import list_disputes
from longlook.instruments.atlas.claims.entries import EntryFolder, Found, make_entry, refuse_other_folder
from longlook.instruments.atlas.claims.entry import Entry, worded_as
from longlook.instruments.atlas.claims.run import link_to, refuse_run_folder, survey
from longlook.instruments.atlas.claims.survey import SurveyedStudy, command_for
from longlook.instruments.atlas.content import (
    Atlas,
    AtlasPaper,
    AtlasStudy,
    Explanation,
    PageState,
    atlas_data,
    evidence_for,
    summary_rows,
)
from longlook.instruments.atlas.page import PAGE, atlas_page, summary_markdown
from longlook.instruments.atlas.papers import paper_of, papers_of, reading_order
from longlook.instruments.atlas.runs import (
    ENTRIES,
    RUNS,
    AtlasOptions,
    Choice,
    Standing,
    choose,
    in_order,
    minutes,
    move_replaced,
    note_ended,
    standing,
    taken,
)
from longlook.pipeline import ANSWERS, CLAIMS, Observer, preview_study, run_study
from longlook.pipeline import FOLDER as EXPLANATIONS
from longlook.report import anchor
from longlook.study import list_studies, make_plan

DATA, SUMMARY = "atlas.json", "summary.md"


@dataclass(frozen=True)
class Built:
    """The page that was written, and why some studies could not run."""

    atlas: Atlas
    page: Path
    failed: Mapping[str, str]  # study → reason


@dataclass(frozen=True)
class ToRun:
    """The needs of a study: of its trials, how many are finished and how many more the cache holds.

    `minutes` is an estimate for the trials that would run. `day` is when the run ended whose entry there is.
    """

    study: str
    trials: int
    finished: int
    cached: int | None  # None: unknown until `install` is done
    install: tuple[str, ...]  # parts as `longlook setup` takes them
    minutes: float
    day: str | None = None

    @property
    def left(self) -> int:
        """The number of trials that would run, if nothing unknown is cached."""
        return self.trials - self.finished - (self.cached or 0)


class AtlasFolder:
    """The folder of an atlas. It remembers what it read, so that the page can be built again after each study."""

    def __init__(self, options: AtlasOptions) -> None:
        self.options = options
        self.out = options.out
        refuse_run_folder(self.out)
        if options.entries is not None:
            refuse_other_folder(options.entries)  # before the studies are read, which takes seconds
        self.installed = {study.id: study for study in list_studies()}
        self.choice: Choice = choose(self.installed, options)
        self.disputes = list_disputes(self.installed)
        self.entries = EntryFolder(options.entries or self.out / ENTRIES, self.installed)
        self.failed: dict[str, str] = {}
        self._kept: dict[str, tuple[float, ...]] = {}
        self._hashes: dict[str, str] = {}

    def run(self, observer: Observer) -> Built:
        """Run what is to run, one study after another, and build the page after each.

        A failure of one study is noted and the next begins. MachineError if no study could go on, such as on a
        full disk; finished trials, ended runs and the page as it was stay.
        """
        with taken(self.out):
            built = self.build()
            for study, plan in in_order(list(self.choice.studies.values())):
                try:
                    ran = self._run(study, plan, observer)
                except LonglookError as error:
                    self._stop_if_full(error)
                    self.failed[study.id] = error.message
                    observer.say(f"{study.id}: {error.message}")
                    ran = True
                if ran:
                    built = self.build()
            return built

    def _run(self, study: Study, plan: Plan, observer: Observer) -> bool:
        """Run a study, or go on with it; return whether anything was to do."""
        place = self.out / RUNS / study.id
        there = standing(place, plan)
        if not there.to_run or self._has(study, plan):
            return False
        try:
            if there.there and not there.same_plan:
                observer.say(f"{study.id} has another plan now; its former run is {move_replaced(place, self.out)}")
                there = standing(place, plan)
            run_study(study, place, self.options.run_options(study.id, resume=there.there), observer)
            note_ended(place)
        except OSError as error:
            raise MachineError(f"cannot write to {place}: {error.strerror or error}", "make room") from error
        return True

    def _stop_if_full(self, error: LonglookError) -> None:
        if isinstance(error, MachineError) and shutil.disk_usage(self.out).free < FREE_BYTES_NEEDED:
            raise error

    def _has(self, study: Study, plan: Plan) -> bool:
        """Return whether there is an entry of a run of this plan."""
        entry = self.entries.read(study.id)
        return entry is not None and entry.plan_hash == plan.hash

    def build(self) -> Built:
        """Write the page, its data and its summary from the entries, which runs renew first."""
        atlas, found = self.content()
        contents = {name: run.content for name, run in found.items()}
        anchors = {name: run.anchors for name, run in found.items()}
        page = self.out / PAGE
        try:
            self.out.mkdir(parents=True, exist_ok=True)
            write_text(page, atlas_page(atlas, contents, anchors))
            write_text(self.out / SUMMARY, summary_markdown(summary_rows(atlas)))
            write_json(self.out / DATA, atlas_data(atlas))
        except OSError as error:
            raise MachineError(
                f"cannot write the page to {self.out}: {error.strerror or error}",
                "make room; the files that were there are as they were",
            ) from error
        return Built(atlas, page, dict(self.failed))

    def content(self) -> tuple[Atlas, Mapping[str, Found]]:
        """Return the contents of the page, and what counts by study."""
        states = {name: self._state(name) for name in self.installed}
        found = {name: run for name, (_, _, run) in states.items() if run is not None}
        surveyed = survey(list(found.values()), self.installed, self.disputes, self.out)
        items = {item.study.id: item for item in surveyed.studies}
        evidence = evidence_for(surveyed)
        shown = []
        for name, study in self.installed.items():
            state, reason, run = states[name]
            shown.append(
                AtlasStudy(
                    surveyed=items.get(name) or SurveyedStudy(study, None, (), command_for(name)),
                    state=state,
                    reason=reason,
                    entry=None if run is None else run.entry,
                    earlier=run is not None and self._is_earlier(run.entry),
                    explanations=() if run is None else self._explanations(run),
                    disputes=evidence.get(name, ()),
                )
            )
        shown.sort(key=lambda item: reading_order(item.id))
        papers = [
            AtlasPaper(paper, tuple(item for item in shown if paper_of(item.surveyed.study) == paper))
            for paper in papers_of(self.installed.values())
        ]
        return Atlas(tuple(papers), surveyed), found

    def _state(self, name: str) -> tuple[PageState, str, Found | None]:
        """Return how a study stands, the reason, and its run if one counts."""
        place = self.out / RUNS / name
        there, problem = None, ""
        try:
            there = standing(place, None)
            if there.ended:
                self._keep(name, place)
        except InputError as error:
            problem = error.message
        try:
            entry = self.entries.read(name)
        except InputError as error:
            return PageState.DAMAGED, f"{error.message}; {error.hint}", None
        if entry is None:
            return *self._without_entry(name, there, problem), None
        reasons = [f"its run folder cannot be read: {problem}"] if problem else []
        if self._is_earlier(entry):
            plans = f"made by plan {entry.plan_hash}; the study's plan is {self._plan_hash(name)} now"
            reasons.append(f"of an earlier version of the study: {plans}")
        else:
            entry = worded_as(entry, self.installed[name])
        folder = place if not problem and _is_of(entry, place) else None
        return PageState.RUN, "; ".join(reasons), Found(entry, self.entries.file(name), folder)

    def _without_entry(self, name: str, there: Standing | None, problem: str) -> tuple[PageState, str]:
        if problem or there is None:
            return PageState.DAMAGED, problem
        if name in self.failed:
            return PageState.FAILED, self.failed[name]
        if there.there:
            return PageState.BEGUN, f"{there.finished} of {there.trials} trials are there"
        if name in self.choice.left_out:
            return PageState.LEFT_OUT, self.choice.left_out[name]
        return PageState.NOT_RUN, ""

    def _keep(self, name: str, place: Path) -> None:
        """Keep the entry of a run that ended, made again only if its analysis or its explanations are others."""
        made = (place / CLAIMS, place / EXPLANATIONS / ANSWERS)
        times = tuple(file.stat().st_mtime if file.is_file() else 0.0 for file in made)
        if self._kept.get(name) != times:
            self.entries.keep(make_entry(place, self.disputes))
            self._kept[name] = times

    def _is_earlier(self, entry: Entry) -> bool:
        return entry.plan_hash != self._plan_hash(entry.study.id)

    def _plan_hash(self, name: str) -> str:
        if name not in self._hashes:
            self._hashes[name] = make_plan(self.installed[name]).hash
        return self._hashes[name]

    def _explanations(self, run: Found) -> tuple[Explanation, ...]:
        page = None if run.proofs is None else link_to(run.proofs, self.out)
        return tuple(
            Explanation(each.contrast, each.cell_id, each.sentence, page and f"{page}#{anchor(number)}")
            for number, each in enumerate(run.entry.explanations)
        )

    def to_run(self) -> list[ToRun]:
        """Return what each study has and needs, in the order of the runs. Nothing is installed and no trial runs."""
        return [self._to_run(study, plan) for study, plan in in_order(list(self.choice.studies.values()))]

    def _to_run(self, study: Study, plan: Plan) -> ToRun:
        place, trials = self.out / RUNS / study.id, len(plan.trials)
        there, entry = standing(place, plan), self.entries.read(study.id)
        day = None if entry is None else entry.day
        if not there.to_run or self._has(study, plan):
            return ToRun(study.id, trials, trials, 0, (), 0.0, day)
        resume = there.there and there.same_plan
        free = place.with_name(f".{study.id}.new")  # where a run with another plan lies, a new one begins elsewhere
        seen = preview_study(study, place if resume else free, self.options.run_options(study.id, resume=resume))
        lasts = minutes(plan, seen.left, self.options.jobs, entry)
        return ToRun(study.id, trials, seen.finished, seen.cached, seen.install, lasts, day)


def _is_of(entry: Entry, place: Path) -> bool:
    """Return whether a run folder is at hand, and is the run that an entry was made of."""
    if not (place / CLAIMS).is_file():
        return False
    manifest = RunFolder.open(place).manifest
    return (manifest.get("plan_hash"), manifest.get("results", {}).get("digest"), manifest.get("trials")) == (
        entry.plan_hash,
        entry.results,
        entry.trials,
    )
