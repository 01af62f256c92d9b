"""Recorded pages in the cache and in run folders, and the files that are made of them."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from longlook.core.errors import InputError
from longlook.core.model import Plan, Workload
from longlook.core.registry import workload
from longlook.provision.recorded import store
from longlook.provision.recorded.har import HarError
from tests.data import trials
from tests.data.har import read_strictly
from tests.data.recordings import archive, recorded


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("LONGLOOK_CACHE", str(tmp_path / "cache"))
    yield tmp_path / "cache"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "page.har"
    entries = [
        recorded("/", 0, 50, size=5000),
        recorded("/a.css", 60, 80, size=300),
        recorded("/b.png", 90, 99, size=84),
    ]
    path.write_text(json.dumps(archive(entries)))
    return path


def test_a_page_is_kept_under_the_digest_of_what_is_loaded_and_of_its_file(file: Path) -> None:
    digest, page = store.keep(file)
    assert store.load(digest) == page
    assert store.keep(file)[0] == digest
    file.write_text(file.read_text() + "\n")
    assert store.keep(file)[0] != digest


def test_a_run_folder_needs_neither_the_file_nor_the_cache(file: Path, cache: Path, tmp_path: Path) -> None:
    digest, page = store.keep(file)
    plan = Plan("made-up", "", (trials.trial(workload=Workload("recorded_page", {"har": digest})),))
    store.lay(plan, tmp_path / "run")
    kept = next((cache / "pages").glob("*.json"))
    kept.unlink()
    with pytest.raises(InputError, match="is not there"):
        store.load(digest)
    store.lay(plan, tmp_path / "run")  # it has what it needs
    store.adopt(tmp_path / "run")
    assert store.load(digest) == page
    kept.write_text("{}")
    with pytest.raises(InputError, match="is damaged"):
        store.load(digest)


def test_names_come_before_files_and_a_wrong_one_gets_the_nearest(file: Path, tmp_path: Path) -> None:
    assert store.find("news", tmp_path) == store.shipped()["news"]
    assert store.find("page.har", tmp_path) == file
    with pytest.raises(HarError, match=r"known: docs, news, shop; or the path of a HAR; did you mean 'news'\?"):
        store.find("nws", tmp_path)


def test_the_files_have_the_recorded_sizes_and_phases(file: Path) -> None:
    digest, _ = store.keep(file)
    content = workload("recorded_page").prepare({"har": digest})
    assert content.phases == (("/index.html",), ("/o/001.png",), ("/o/002.png",))
    assert {path: answer.bytes for path, answer in content.expected.items()} == {
        "/index.html": 5000,
        "/o/001.png": 300,
        "/o/002.png": 84,
    }
    document = (Path(content.root) / "index.html").read_text()
    assert '<img src="/o/001.png"' in document and "})([[2]]);" in document and "/o/002.png" not in document


def test_a_document_that_names_more_than_its_size_holds_is_larger(tmp_path: Path) -> None:
    path = tmp_path / "small.har"
    path.write_text(json.dumps(archive([recorded("/", size=90), recorded("/a.png", 20, 30)])))
    content = workload("recorded_page").prepare({"har": store.keep(path)[0]})
    assert 150 < content.expected["/index.html"].bytes < 400


@pytest.mark.parametrize("name", ["docs", "news", "shop"])
def test_the_pages_that_come_with_longlook_are_archives_that_a_strict_reader_accepts(name: str) -> None:
    path = store.shipped()[name]
    assert "public domain" in read_strictly(path)["comment"]
    page = store.keep(path)[1]
    content = workload("recorded_page").prepare({"har": store.keep(path)[0]})
    assert sum(answer.bytes for answer in content.expected.values()) == page.size_bytes
    assert sum(map(len, content.phases)) == len(page.objects)


def test_the_document_lists_the_pages_that_come_with_longlook() -> None:
    text = (Path(__file__).parents[4] / "docs" / "guide" / "browsers.md").read_text()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("| `")]
    listed = {row[0].strip("`"): (int(row[2]), row[3], int(row[4]), int(row[5])) for row in rows if len(row) == 6}
    for name, path in store.shipped().items():
        page = store.keep(path)[1]
        size = page.size_bytes
        shown = f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.0f} KB"
        assert listed.pop(name) == (len(page.objects), shown, len(page.origins), len(page.phases))
    assert not listed


def test_the_news_page_is_a_large_one_of_many_origins() -> None:
    page = store.keep(store.shipped()["news"])[1]
    assert (len(page.objects), len(page.origins), len(page.phases)) == (83, 10, 6)
    assert page.skipped == {"WebSocket": 1, "aborted or failed": 1, "after the load event": 1, "data: URL": 1}


def test_priorities_are_a_browsers_by_kind_and_change_no_file(file: Path) -> None:
    digest, _ = store.keep(file)
    plain, chromium, firefox = (
        workload("recorded_page").prepare({"har": digest, **browser})
        for browser in ({}, {"priorities": "chromium"}, {"priorities": "firefox"})
    )
    assert plain.priorities == {}
    assert chromium.root == firefox.root == plain.root
    assert chromium.priorities == {"/index.html": "u=0, i", "/o/001.png": "u=0", "/o/002.png": "i"}
    assert firefox.priorities == {"/index.html": "u=0, i", "/o/001.png": "u=2", "/o/002.png": "u=5, i"}
    with pytest.raises(InputError, match="'lynx' is none that is known"):
        workload("recorded_page").prepare({"har": digest, "priorities": "lynx"})
