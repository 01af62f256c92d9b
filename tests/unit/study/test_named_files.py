"""Recorded pages that study files name: by name, by path, as a factor, and after their file is gone."""

import json
from pathlib import Path

import pytest

from longlook.core.errors import InputError
from longlook.provision.recorded import store
from longlook.study.files import find_study
from longlook.study.plan import make_plan
from tests.data.recordings import archive, recorded

NEWS = '["docs", "shop", "news"]'


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGLOOK_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a study whose pages are one that comes with Longlook and one beside it."""
    text = (Path(store.__file__).parents[2] / "studies" / "recorded-pages.toml").read_text()
    assert NEWS in text
    path = tmp_path / "mine"
    path.mkdir()
    (path / "mine.toml").write_text(text.replace(NEWS, '["docs", "own/page.har"]'))
    (path / "own").mkdir()
    (path / "own" / "page.har").write_text(json.dumps(archive([recorded("/"), recorded("/a.png", 20, 30)])))
    return path


def test_levels_keep_their_names_and_trials_have_digests(folder: Path) -> None:
    study = find_study(str(folder / "mine.toml"))
    assert [level.label for level in study.factors[0].levels] == ["docs", "own/page.har"]
    digests = {trial.cell["page"]: trial.workload.parameters["har"] for trial in make_plan(study).trials}
    assert digests == {
        "docs": store.keep(store.shipped()["docs"])[0],
        "own/page.har": store.keep(folder / "own" / "page.har")[0],
    }
    assert study.traces == {"har docs": digests["docs"], f"har {folder}/own/page.har": digests["own/page.har"]}


def test_another_recording_is_another_trial(folder: Path) -> None:
    before = {trial.id for trial in make_plan(find_study(str(folder / "mine.toml"))).trials}
    (folder / "own" / "page.har").write_text(json.dumps(archive([recorded("/"), recorded("/a.png", 20, 30, size=7)])))
    after = {trial.id for trial in make_plan(find_study(str(folder / "mine.toml"))).trials}
    assert len(before & after) == len(before) // 2


def test_a_study_can_be_planned_again_when_its_file_is_gone(folder: Path) -> None:
    study = find_study(str(folder / "mine.toml"))
    (folder / "own" / "page.har").unlink()
    again = find_study(str(folder / "mine.toml"), traces=study.traces)
    assert make_plan(again).hash == make_plan(study).hash
    with pytest.raises(InputError, match=r"workload\.har = .*own/page\.har.*: cannot be read: No such file"):
        find_study(str(folder / "mine.toml"))


def test_a_page_can_be_set_for_one_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = '  { name = "page", sets = "workload.har", levels = ["docs", "own/page.har"] },\n'
    text = (folder / "mine.toml").read_text()
    assert page in text
    text = text.replace(page, "").replace('columns = "page", rows = ["loss"]', 'columns = "loss"')
    (folder / "mine.toml").write_text(text.replace('kind = "recorded_page"', 'kind = "recorded_page", har = "shop"'))
    assert find_study(str(folder / "mine.toml")).settings["workload.har"] == store.keep(store.shipped()["shop"])[0]
    monkeypatch.chdir(folder / "own")
    study = find_study(str(folder / "mine.toml"), changes={"workload.har": "page.har"})
    assert study.settings["workload.har"] == store.keep(folder / "own" / "page.har")[0]


def test_what_is_wrong_with_a_recording_is_reported_with_all_else(folder: Path) -> None:
    (folder / "own" / "page.har").write_text("{}")
    text = (folder / "mine.toml").read_text().replace('"docs"', '"dogs"').replace("20Mbit", "20 apples")
    (folder / "mine.toml").write_text(text)
    with pytest.raises(InputError) as raised:
        find_study(str(folder / "mine.toml"))
    assert 'workload.har = "dogs": no recorded page of this name' in raised.value.message
    assert "did you mean 'docs'?" in raised.value.message
    assert "page.har: no HTTP Archive: it has no list log.entries" in raised.value.message
    assert "20 apples" in raised.value.message
