"""The atlas as a whole: studies run once, stopped and continued, and a page of whatever is there."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from longlook.core.errors import InputError, MachineError
from longlook.core.job import Job
from longlook.core.model import Run, Study
from longlook.core.results import Agreement
from longlook.core.run_folder import RunFolder
from longlook.engines.fake import FakeEngine
from longlook.instruments.atlas import runs as atlas_runs
from longlook.instruments.atlas.content import AtlasStudy, PageState
from longlook.instruments.atlas.run import DATA, SUMMARY, AtlasFolder, Built
from longlook.instruments.atlas.runs import ENTRIES, RUNS, AtlasOptions, adopt
from longlook.pipeline.options import Observer, RunOptions
from longlook.pipeline.run import run_study
from longlook.study.files import find_study, list_studies, read_study
from tests.data.atlas import made_up_run

TINY = (Path(__file__).parents[3] / "data" / "tiny.toml").read_text()
CLAIM = """
[[claims]]
id = "faster"
source = "a paper <b>of</b> 2030"
contrast = "quic vs tcp"
rows = "nothing"
columns = "size"
effect_pct.all = { 5KB = 40, 100KB = "ns" }
"""
NOTHING = '[[factors]]\nname = "nothing"\nlevels = [{ label = "all", network.rtt = "36ms" }]\n\n'
FIRST, SECOND = "smith2030-fig1", "smith2030-fig2"


class Faked:
    """An engine of made-up results for each run, and everything that all of them ran."""

    def __init__(self, stop: Callable[[list[str]], None] = lambda _ran: None) -> None:
        self.ran: list[str] = []
        faked = self

        class Engine(FakeEngine):
            def run(self, job: Job) -> Run:
                stop(faked.ran)
                faked.ran.append(job.trial.id)
                return super().run(job)

        self.make = lambda: Engine(factors={"quic": 0.5})


@pytest.fixture(scope="module")
def shipped() -> list[Study]:
    """The studies of the installation, read once: each of these tests needs them several times."""
    return list_studies()


@pytest.fixture(autouse=True)
def two_studies(tmp_path: Path, shipped: list[Study], monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two studies of a paper of their own, the second with more rounds, found as those of a plug-in."""
    folder = tmp_path / "plugins" / "studies"
    folder.mkdir(parents=True)
    text = TINY.replace('rtt = "36ms"\n', "").replace("[[factors]]", NOTHING + "[[factors]]", 1)
    text = text.replace("rows = []", 'rows = ["nothing"]')
    (folder / f"{FIRST}.toml").write_text(text.replace("rounds = 3", "rounds = 10") + CLAIM)
    (folder / f"{SECOND}.toml").write_text(text.replace("rounds = 3", "rounds = 11") + CLAIM)
    monkeypatch.setenv("LONGLOOK_PLUGINS", str(tmp_path / "plugins"))
    monkeypatch.setenv("LONGLOOK_TRIALS", str(tmp_path / "cache"))
    here = sorted(folder.glob("*.toml"))
    monkeypatch.setattr("longlook.instruments.atlas.run.list_studies", lambda: [*shipped, *map(read_study, here)])
    return folder


def folder(
    out: Path, engine: Faked, *studies: str, papers: tuple[str, ...] = ("smith2030",), entries: Path | None = None
) -> AtlasFolder:
    return AtlasFolder(AtlasOptions(out, engine.make, studies, () if studies else papers, entries=entries))


def of(built: Built, name: str) -> AtlasStudy:
    (found,) = [item for item in built.atlas.studies if item.id == name]
    return found


def test_every_study_runs_once_and_the_page_has_what_was_found(tmp_path: Path) -> None:
    out, engine = tmp_path / "atlas", Faked()
    built = folder(out, engine).run(Observer())
    assert len(engine.ran) == 2 * 2 * (10 + 11)
    assert built.page == out / "index.html" and not built.failed
    first = of(built, FIRST)
    assert first.state is PageState.RUN and first.results is None  # no made-up result is exact
    assert {claim.result for claim in first.claims} == {Agreement.OTHER_SIZE, Agreement.CONTRADICTED}
    page = built.page.read_text()
    assert f'href="runs/{FIRST}/report/index.html#c1-1"' in page
    assert "a paper <b>of" not in page and "a paper &lt;b&gt;of" in page
    data = json.loads((out / DATA).read_text())
    (paper,) = [item for item in data["papers"] if item["key"] == "smith2030"]
    assert [item["study"] for item in paper["studies"]] == [FIRST, SECOND]
    assert paper["studies"][0]["command"] == f"longlook run {FIRST}"
    row = next(line for line in (out / SUMMARY).read_text().splitlines() if line.startswith(f"| {FIRST} "))
    assert [cell.strip() for cell in row.split("|")[2:13]] == ["smith2030", *"010001000", "40"]
    again = Faked()
    folder(out, again).run(Observer())
    assert again.ran == []


def test_a_stopped_atlas_goes_on_where_it_was(tmp_path: Path) -> None:
    out = tmp_path / "atlas"

    def stop(ran: list[str]) -> None:
        if len(ran) == 45:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        folder(out, Faked(stop)).run(Observer())
    assert f'href="runs/{FIRST}/report/index.html#c1-1"' in (out / "index.html").read_text()
    stopped = folder(out, Faked()).build()
    assert (of(stopped, FIRST).state, of(stopped, SECOND).state) == (PageState.RUN, PageState.BEGUN)
    assert of(stopped, SECOND).reason == "5 of 44 trials are there"
    (to_run,) = [item for item in folder(out, Faked()).to_run() if item.study == SECOND]
    assert (to_run.trials, to_run.finished, to_run.left) == (44, 5, 39)
    rest = Faked()
    assert of(folder(out, rest).run(Observer()), SECOND).state is PageState.RUN
    assert len(rest.ran) == 39


def test_a_study_that_cannot_run_is_named_and_the_others_run(tmp_path: Path) -> None:
    def fail(ran: list[str]) -> None:
        if not ran:
            ran.append("failed")
            raise MachineError("the stack cannot be built", "see its log")

    built = folder(tmp_path / "atlas", Faked(fail)).run(Observer())
    assert built.failed == {FIRST: "the stack cannot be built"}
    assert (of(built, FIRST).state, of(built, FIRST).reason) == (PageState.FAILED, "the stack cannot be built")
    assert of(built, SECOND).state is PageState.RUN
    assert "the stack cannot be built" in built.page.read_text()


def test_a_full_disk_stops_everything_and_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "atlas"
    folder(out, Faked(), FIRST).run(Observer())
    before = (out / "index.html").read_bytes()
    for module in ("longlook.core.run_folder", "longlook.instruments.atlas.run"):
        monkeypatch.setattr(f"{module}.FREE_BYTES_NEEDED", 10**18)
    engine = Faked()
    with pytest.raises(MachineError, match="MiB are free below"):
        folder(out, engine, FIRST, SECOND).run(Observer())
    assert engine.ran == []
    assert (out / RUNS / FIRST / "report" / "index.html").is_file()
    assert f"runs/{FIRST}/report/index.html" in before.decode()
    assert f"runs/{FIRST}/report/index.html" in (out / "index.html").read_text()


def test_a_study_with_another_plan_runs_again_and_its_former_run_is_kept(tmp_path: Path, two_studies: Path) -> None:
    out = tmp_path / "atlas"
    folder(out, Faked(), FIRST).run(Observer())
    before = RunFolder.open(out / RUNS / FIRST).manifest["plan_hash"]
    file = two_studies / f"{FIRST}.toml"
    file.write_text(file.read_text().replace("rounds = 10", "rounds = 12"))
    page_only = folder(out, Faked(), FIRST).build()
    earlier = f"of an earlier version of the study: made by plan {before}; the study's plan is "
    assert of(page_only, FIRST).reason.startswith(earlier)
    assert f"| {FIRST} | smith2030 |" in (out / SUMMARY).read_text()
    assert ", of an earlier version of the study |" in (out / SUMMARY).read_text()
    engine, said = Faked(), []
    built = folder(out, engine, FIRST).run(Observer(say=said.append))
    assert len(engine.ran) == 2 * 2 * 12 and of(built, FIRST).reason == ""
    moved = out / "replaced" / f"{FIRST}-{before}"
    assert RunFolder.open(moved).manifest["plan_hash"] == before and len(RunFolder.open(moved).plan.trials) == 40
    assert any(str(moved) in line for line in said)


def test_a_damaged_run_is_named_and_the_rest_is_shown(tmp_path: Path) -> None:
    out = tmp_path / "atlas"
    folder(out, Faked()).run(Observer())
    (out / RUNS / FIRST / "samples.parquet").write_text("no")
    built = folder(out, Faked()).build()
    assert of(built, FIRST).state is PageState.RUN  # its entry was kept
    assert "samples.parquet was changed since the run was analysed" in of(built, FIRST).reason
    assert f'href="runs/{FIRST}/' not in built.page.read_text()
    (out / ENTRIES / f"{FIRST}.json").unlink()
    built = folder(out, Faked()).build()
    assert of(built, FIRST).state is PageState.DAMAGED and "longlook report" not in of(built, FIRST).reason
    assert "samples.parquet was changed since the run was analysed" in of(built, FIRST).reason
    assert of(built, SECOND).state is PageState.RUN


def test_the_page_is_built_from_entries_without_run_folders_and_nothing_runs_again(tmp_path: Path) -> None:
    out, kept = tmp_path / "atlas", tmp_path / "entries"
    with_runs = folder(out, Faked(), FIRST, entries=kept).run(Observer())
    shutil.rmtree(out)
    engine = Faked()
    built = folder(out, engine, FIRST, entries=kept).run(Observer())
    assert engine.ran == [] and not (out / RUNS).exists()
    (first, before) = (of(each, FIRST) for each in (built, with_runs))
    assert first.entry == before.entry and first.state is PageState.RUN
    assert [claim.result for claim in first.claims] == [claim.result for claim in before.claims]
    page = built.page.read_text()
    assert f"runs/{FIRST}" not in page and f"its report: longlook run {FIRST}" in page
    (listed,) = folder(out, engine, FIRST, entries=kept).to_run()
    assert (listed.left, listed.minutes, listed.day) == (0, 0.0, first.entry.day if first.entry else "")


def test_a_study_that_changed_since_its_entry_runs_again(tmp_path: Path, two_studies: Path) -> None:
    out = tmp_path / "atlas"
    folder(out, Faked(), FIRST).run(Observer())
    shutil.rmtree(out / RUNS)
    file = two_studies / f"{FIRST}.toml"
    file.write_text(file.read_text().replace("rounds = 10", "rounds = 12"))
    (listed,) = folder(out, Faked(), FIRST).to_run()
    assert listed.left == 48 and listed.minutes > 0
    engine = Faked()
    built = folder(out, engine, FIRST).run(Observer())
    assert len(engine.ran) == 48 and not of(built, FIRST).earlier


def test_an_entry_takes_the_words_of_a_study_that_was_only_reworded(tmp_path: Path, two_studies: Path) -> None:
    out = tmp_path / "atlas"
    folder(out, Faked(), FIRST).run(Observer())
    file = two_studies / f"{FIRST}.toml"
    reworded = re.sub(r"^question = .*$", 'question = "Asked anew?"', file.read_text(), count=1, flags=re.MULTILINE)
    file.write_text(re.sub(r"^label = .*$", 'label = "named anew"', reworded, count=1, flags=re.MULTILINE))
    engine = Faked()
    built = folder(out, engine, FIRST).run(Observer())
    study, entry = of(built, FIRST), of(built, FIRST).entry
    assert engine.ran == [] and not study.earlier and entry is not None
    assert entry.study.question == "Asked anew?"
    assert "named anew" in [arm.label for arm in entry.study.arms]
    assert "Asked anew?" in built.page.read_text()


def test_an_entry_that_cannot_be_read_is_named_and_not_written_over(tmp_path: Path) -> None:
    out = tmp_path / "atlas"
    (out / ENTRIES).mkdir(parents=True)
    file = out / ENTRIES / f"{FIRST}.json"
    file.write_text('{"schema_version": 9}')
    engine = Faked()
    built = folder(out, engine).run(Observer())
    assert of(built, FIRST).state is PageState.DAMAGED and "schema version 9" in built.failed[FIRST]
    assert of(built, SECOND).state is PageState.RUN and len(engine.ran) == 44
    assert file.read_text() == '{"schema_version": 9}'
    file.rename(out / ENTRIES / "smith2030-fig3.json")
    with pytest.raises(InputError, match=r"which is no installed study; did you mean|which is no installed study"):
        folder(out, engine)


def test_a_run_made_elsewhere_is_adopted_and_never_run_again(tmp_path: Path) -> None:
    out, elsewhere = tmp_path / "atlas", tmp_path / "elsewhere"
    study = find_study(FIRST)
    run_study(study, elsewhere, RunOptions(Faked().make()), Observer())
    atlas = folder(out, Faked(), FIRST)
    adopt(elsewhere, out, atlas.installed)
    adopt(elsewhere, out, atlas.installed)  # again: the same link
    engine = Faked()
    built = folder(out, engine, FIRST).run(Observer())
    assert engine.ran == [] and of(built, FIRST).state is PageState.RUN
    assert (out / RUNS / FIRST).is_symlink()
    assert f'href="runs/{FIRST}/report/index.html#c1-1"' in built.page.read_text()


def test_a_run_that_was_killed_after_its_last_trial_is_analysed_once(tmp_path: Path) -> None:
    out = tmp_path / "atlas"
    folder(out, Faked(), FIRST).run(Observer())
    run = RunFolder.open(out / RUNS / FIRST)
    run.write_manifest({key: value for key, value in run.manifest.items() if key != "finished_unix_s"})
    (run.path / "claims.json").unlink()
    (out / ENTRIES / f"{FIRST}.json").unlink()
    engine = Faked()
    built = folder(out, engine, FIRST).run(Observer())
    assert engine.ran == [] and of(built, FIRST).state is PageState.RUN
    analysed = (run.path / "claims.json").stat().st_mtime_ns
    folder(out, engine, FIRST).run(Observer())
    assert (run.path / "claims.json").stat().st_mtime_ns == analysed


def test_what_cannot_be_adopted(tmp_path: Path) -> None:
    out = tmp_path / "atlas"
    installed = folder(out, Faked()).installed
    with pytest.raises(InputError, match="not a run folder"):
        adopt(tmp_path, out, installed)
    unanalysed = tmp_path / "unanalysed"
    run_study(find_study(FIRST), unanalysed, RunOptions(Faked().make()), Observer())
    (unanalysed / "report" / "index.html").unlink()
    with pytest.raises(InputError, match="has no report") as caught:
        adopt(unanalysed, out, installed)
    assert "longlook report" in str(caught.value.hint)
    folder(out, Faked(), FIRST).run(Observer())
    other = made_up_run(tmp_path / "other", find_study(FIRST))
    with pytest.raises(InputError, match="is a run of smith2030-fig1 already"):
        adopt(other, out, installed)
    with pytest.raises(InputError, match="no installed study"):
        adopt(other, out, {})
    assert not (out / RUNS / FIRST).is_symlink()


def test_which_studies_run(tmp_path: Path) -> None:
    every = folder(tmp_path / "atlas", Faked(), papers=())
    assert {FIRST, SECOND, "demo", "cliff", "kakhki2017-fig6a"} <= set(every.choice.studies)
    assert "longlook certify" in every.choice.left_out["certify"]
    assert "--live" in every.choice.left_out["kakhki2017-fig13"]
    assert set(every.choice.studies) | set(every.choice.left_out) == set(every.installed)
    live = AtlasOptions(tmp_path / "atlas", Faked().make, live=True)
    assert "kakhki2017-fig13" in atlas_runs.choose(every.installed, live).studies
    named = AtlasOptions(tmp_path / "atlas", Faked().make, ("certify",))
    assert set(atlas_runs.choose(every.installed, named).studies) == {"certify"}
    with pytest.raises(InputError, match=r"did you mean 'kakhki2017-fig6[ab]'"):
        folder(tmp_path / "atlas", Faked(), "kakhki2017-fig6")
    with pytest.raises(InputError, match="did you mean 'kakhki2017'"):
        folder(tmp_path / "atlas", Faked(), papers=("kakhki2018",))


def test_two_at_once_are_refused(tmp_path: Path) -> None:
    out = tmp_path / "atlas"
    with atlas_runs.taken(out), pytest.raises(InputError, match="in use by another longlook"):
        folder(out, Faked(), FIRST).run(Observer())


def test_a_run_folder_is_no_place_for_an_atlas(tmp_path: Path) -> None:
    run_study(find_study(FIRST), tmp_path / "run", RunOptions(Faked().make()), Observer())
    with pytest.raises(InputError, match="is a run folder, or in one"):
        folder(tmp_path / "run", Faked())
