"""`longlook atlas`: run every study that is still to run, and build the page from whatever is there (docs/atlas.md)."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from longlook.analysis.claims.atlas import Atlas, AtlasPaper, AtlasStudy, Explanation, State, atlas_data, evidence_for
from longlook.analysis.claims.papers import paper_of, papers_of, reading_order
from longlook.analysis.claims.survey import SurveyedStudy, command_for
from longlook.core.errors import InputError, LonglookError, MachineError
from longlook.core.model import Plan, Study
from longlook.core.run_folder import FREE_BYTES_NEEDED, write_json, write_text
from longlook.pipeline.answers import FOLDER as EXPLANATIONS
from longlook.pipeline.answers import read_answers
from longlook.pipeline.atlas_runs import (
    RUNS,
    AtlasOptions,
    Choice,
    choose,
    in_order,
    move_replaced,
    note_ended,
    standing,
    taken,
)
from longlook.pipeline.claims import Analysed, link_to, read_run, refuse_run_folder, survey
from longlook.pipeline.options import Observer
from longlook.pipeline.preview import preview
from longlook.pipeline.run import run_study
from longlook.report.atlas import PAGE, atlas_page, summary_markdown
from longlook.report.causes.section import anchor
from longlook.report.causes.text import sentence
from longlook.study.files import list_studies
from longlook.study.plan import make_plan

DATA, SUMMARY = "atlas.json", "summary.md"


@dataclass(frozen=True)
class Built:
    """What was written, and why some studies could not run."""

    atlas: Atlas
    page: Path
    failed: Mapping[str, str]  # study → reason


@dataclass(frozen=True)
class ToRun:
    """What a study needs: of its trials, how many are finished and how many more the cache holds."""

    study: str
    trials: int
    finished: int
    cached: int | None  # None: unknown until `install` is done
    install: tuple[str, ...]  # parts as `longlook setup` takes them

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
        self.installed = {study.id: study for study in list_studies()}
        self.choice: Choice = choose(self.installed, options)
        self.failed: dict[str, str] = {}
        self._read: dict[str, tuple[float, Analysed]] = {}
        self._hashes: dict[str, str] = {}

    def run(self, observer: Observer) -> Built:
        """Run what is to run, one study after another, and build the page after each.

        What one study cannot do is noted and the next begins. MachineError where no study could go on, such as on a
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
        if not there.to_run:
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

    def build(self) -> Built:
        """Write the page, its data and its summary from the runs that there are."""
        atlas, read = self.content()
        contents = {name: run.content for name, run in read.items()}
        anchors = {name: run.anchors for name, run in read.items()}
        page = self.out / PAGE
        try:
            self.out.mkdir(parents=True, exist_ok=True)
            write_text(page, atlas_page(atlas, contents, anchors))
            write_text(self.out / SUMMARY, summary_markdown(atlas))
            write_json(self.out / DATA, atlas_data(atlas))
        except OSError as error:
            raise MachineError(
                f"cannot write the page to {self.out}: {error.strerror or error}",
                "make room; the files that were there are as they were",
            ) from error
        return Built(atlas, page, dict(self.failed))

    def content(self) -> tuple[Atlas, Mapping[str, Analysed]]:
        """Return the contents of the page, and the runs that count by study."""
        states = {name: self._state(name) for name in self.installed}
        read = {name: run for name, (_, _, run) in states.items() if run is not None}
        found = survey(list(read.values()), self.installed, self.out)
        surveyed = {item.study.id: item for item in found.studies}
        evidence = evidence_for(found)
        shown = []
        for name, study in self.installed.items():
            state, reason, run = states[name]
            item = surveyed.get(name) or SurveyedStudy(study, None, (), command_for(name))
            shown.append(
                AtlasStudy(
                    surveyed=item,
                    state=state,
                    reason=reason,
                    results=None if run is None else run.manifest.get("results", {}).get("digest"),
                    explanations=() if run is None else self._explanations(run),
                    disputes=evidence.get(name, ()),
                )
            )
        shown.sort(key=lambda item: reading_order(item.surveyed.study))
        papers = [
            AtlasPaper(paper, tuple(item for item in shown if paper_of(item.surveyed.study) == paper))
            for paper in papers_of(self.installed.values())
        ]
        return Atlas(tuple(papers), found), read

    def _state(self, name: str) -> tuple[State, str, Analysed | None]:
        """Return how a study stands, the reason, and its run where one counts."""
        place = self.out / RUNS / name
        try:
            there = standing(place, None)
            if there.ended:
                run = self._analysed(name, place)
                return State.RUN, self._other_plan(run), run
        except InputError as error:
            return State.DAMAGED, error.message, None
        if name in self.failed:
            return State.FAILED, self.failed[name], None
        if there.there:
            return State.BEGUN, f"{there.finished} of {there.trials} trials are there", None
        if name in self.choice.left_out:
            return State.LEFT_OUT, self.choice.left_out[name], None
        return State.NOT_RUN, "", None

    def _analysed(self, name: str, place: Path) -> Analysed:
        """Return a run, read again only where its analysis is another than before."""
        made = (place / "claims.json").stat().st_mtime if (place / "claims.json").is_file() else 0.0
        if name not in self._read or self._read[name][0] != made:
            run = read_run(place)
            run.anchors  # noqa: B018 reads the tables, so that a damaged one is found here
            self._read[name] = made, run
        return self._read[name][1]

    def _other_plan(self, run: Analysed) -> str:
        """Return that a run was planned differently from its study as it is now, or nothing."""
        name, before = run.study.id, str(run.manifest.get("plan_hash"))
        if name not in self._hashes:
            self._hashes[name] = make_plan(self.installed[name]).hash
        now = self._hashes[name]
        return "" if before == now else f"made by plan {before}; the study's plan is {now} now"

    def _explanations(self, run: Analysed) -> tuple[Explanation, ...]:
        folder = run.path / EXPLANATIONS
        page = folder / "index.html"
        if not page.is_file():
            return ()
        link = link_to(page, self.out)
        return tuple(
            Explanation(answer.contrast, answer.cell_id, sentence(answer), f"{link}#{anchor(number)}")
            for number, answer in enumerate(read_answers(folder))
        )

    def to_run(self) -> list[ToRun]:
        """Return what each study has and needs, in the order of the runs. Nothing is installed and no trial runs."""
        return [self._to_run(study, plan) for study, plan in in_order(list(self.choice.studies.values()))]

    def _to_run(self, study: Study, plan: Plan) -> ToRun:
        place, trials = self.out / RUNS / study.id, len(plan.trials)
        there = standing(place, plan)
        if not there.to_run:
            return ToRun(study.id, trials, trials, 0, ())
        resume = there.there and there.same_plan
        free = place.with_name(f".{study.id}.new")  # where a run with another plan lies, a new one begins elsewhere
        seen = preview(study, place if resume else free, self.options.run_options(study.id, resume=resume))
        return ToRun(study.id, trials, seen.finished, seen.cached, seen.install)
