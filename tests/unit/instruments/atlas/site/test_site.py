"""A site of a few studies: whole, small, escaped, the same bytes twice, and never half there."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from longlook.cli import app
from longlook.core import InputError, MachineError
from longlook.engines.fake import FakeEngine
from longlook.instruments.atlas.claims.dispute import list_disputes
from longlook.instruments.atlas.claims.entries import Found, make_entry
from longlook.instruments.atlas.content import Atlas
from longlook.instruments.atlas.run import AtlasFolder
from longlook.instruments.atlas.runs import AtlasOptions
from longlook.instruments.atlas.site import build, links, write
from longlook.instruments.atlas.site.model import AtlasSite, SiteOptions
from longlook.study.files import find_study
from tests.data.atlas import made_up_run

RUN = ("kakhki2017-fig8c", "kakhki2017-tab4")
HOSTILE = "</script><script>window.harmed = true</script><b>&\"'{{ 7*7 }}"
NONE = "schema = 1\nfindings = []\n"


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> tuple[Atlas, dict[str, Found]]:
    """An atlas with runs of a study of contrasts, whose question and labels are hostile, and of one of levels."""
    out = tmp_path_factory.mktemp("atlas")
    for name in RUN:
        study = find_study(name)
        arms = tuple(replace(arm, label=f"{arm.label} {HOSTILE}") for arm in study.arms)
        made_up_run(out / "runs" / name, replace(study, question=HOSTILE, title=f"T {HOSTILE}", arms=arms))
    folder = AtlasFolder(AtlasOptions(out, FakeEngine))
    folder.installed = {  # so that words of today do not take the hostile ones' place
        name: make_entry(out / "runs" / name, list_disputes(folder.installed)).study if name in RUN else study
        for name, study in folder.installed.items()
    }
    atlas, found = folder.content()
    return atlas, dict(found)


@pytest.fixture(scope="module")
def files(content: tuple[Atlas, dict[str, Found]]) -> dict[str, bytes]:
    return build.site_content(AtlasSite(*content, (), SiteOptions(Path("site"), contact=HOSTILE)))


def text(files: dict[str, bytes], path: str) -> str:
    return files[path].decode()


def test_every_link_and_every_anchor_is_there(files: dict[str, bytes]) -> None:
    assert links.look(files).broken == ()


def test_a_link_that_leads_nowhere_is_seen() -> None:
    pages = {"a/x.html": b'<a href="../y.html#z">', "y.html": b'<p id="q"><p id="q"><img src="no.png">'}
    assert links.look(pages).broken == (
        "y.html: two elements are #q",
        "a/x.html: ../y.html#z leads nowhere",
        "y.html: no.png leads nowhere",
    )


def test_no_page_loads_more_than_half_a_megabyte(files: dict[str, bytes]) -> None:
    loads = links.look(files).first_load
    assert max(loads.values()) < build.MOST_BYTES
    assert loads["index.html"] > len(files["index.html"]) + len(files["site.css"]) - 1


def test_every_study_paper_and_dispute_has_an_address(
    files: dict[str, bytes], content: tuple[Atlas, dict[str, Found]]
) -> None:
    atlas, _ = content
    assert sum(path.startswith("studies/") for path in files) == len(atlas.studies) > 100
    assert sum(path.startswith("papers/") for path in files) == len(atlas.papers)
    assert sum(path.startswith("disputes/") for path in files) == len(atlas.survey.disputes)
    assert "studies/kakhki2017-fig8c.html" in files


def test_every_page_says_what_it_is_to_readers_of_links(files: dict[str, bytes]) -> None:
    for path in (path for path in files if path.endswith(".html")):
        page = text(files, path).partition("</head>")[0]
        for wanted in ("<title>", '<meta name="description" content="', 'property="og:image"', 'rel="canonical"'):
            assert page.count(wanted) == 1, (path, wanted)
        (card,) = re.findall(r'property="og:image" content="(?:\.\./)*([^"]+)"', page)
        assert files[card].startswith(b"\x89PNG")


def test_cells_and_claims_lead_to_the_numbers_on_the_page(files: dict[str, bytes]) -> None:
    page = text(files, "studies/kakhki2017-fig8c.html")
    assert page.count('href="kakhki2017-fig8c.html#c1-') > 20
    assert '<tr id="c1-1">' in page
    levels = text(files, "studies/kakhki2017-tab4.html")
    assert 'href="kakhki2017-tab4.html#level-' in levels and '<tr id="level-0">' in levels
    assert not any("report at hand" in text(files, path) for path in files if path.endswith(".html"))


def test_hostile_words_are_text_everywhere(files: dict[str, bytes]) -> None:
    for path in (path for path in files if path.endswith((".html", ".svg"))):
        page = text(files, path)
        assert "<script>window" not in page, path
        assert '<b>&"' not in page, path
    index = re.search(r'id="search-index">(.*?)</script>', text(files, "a-z.html"), re.S)
    assert index is not None and "harmed" in json.loads(index[1])["words"]
    assert "&lt;/script&gt;" in text(files, "studies/kakhki2017-fig8c.html")
    assert "&lt;/script&gt;" in text(files, "about.html")


def test_the_same_atlas_gives_the_same_bytes(
    files: dict[str, bytes], content: tuple[Atlas, dict[str, Found]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LONGLOOK_CACHE", str(tmp_path))  # nothing comes from the cache of drawings
    assert build.site_content(AtlasSite(*content, (), SiteOptions(Path("site"), contact=HOSTILE))) == files


def test_an_address_makes_links_of_shared_pages_whole(content: tuple[Atlas, dict[str, Found]]) -> None:
    made = build.site_content(AtlasSite(*content, (), SiteOptions(Path("site"), address="https://atlas.example/x")))
    page = text(made, "studies/kakhki2017-tab4.html")
    assert 'href="https://atlas.example/x/studies/kakhki2017-tab4.html"' in page
    assert 'content="https://atlas.example/x/cards/studies-kakhki2017-tab4.png"' in page
    assert links.look(made, "https://atlas.example/x/").broken == ()


@pytest.mark.parametrize(
    ("given", "epoch", "day"),
    [(None, None, None), ("2026-01-02", "0", "2026-01-02"), (None, "86400", "1970-01-02")],
)
def test_the_day_is_given_or_that_of_the_newest_entry(
    content: tuple[Atlas, dict[str, Found]],
    monkeypatch: pytest.MonkeyPatch,
    given: str | None,
    epoch: str | None,
    day: str | None,
) -> None:
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    if epoch is not None:
        monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
    newest = max(run.entry.day for run in content[1].values())
    assert AtlasSite(*content, (), SiteOptions(Path("site"), day=given)).facts.day == (day or newest)


def test_a_time_that_is_none_is_refused(
    content: tuple[Atlas, dict[str, Found]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    with pytest.raises(InputError, match="SOURCE_DATE_EPOCH is 'yesterday'"):
        _ = AtlasSite(*content, (), SiteOptions(Path("site"))).facts


def test_others_files_are_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("mine")
    with pytest.raises(InputError, match="no site of an atlas"):
        write.replace_site(tmp_path, {"index.html": b"x"})
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]
    link = tmp_path / "link"
    link.symlink_to(tmp_path)
    with pytest.raises(InputError, match="is no folder"):
        write.replace_site(link, {"index.html": b"x"})


def test_a_site_is_replaced_as_a_whole(tmp_path: Path) -> None:
    out = tmp_path / "site"
    write.replace_site(out, {"old.html": b"old", write.MARKER: write.marker({})})
    write.replace_site(out, {"new/a.html": b"new", write.MARKER: write.marker({})})
    assert sorted(str(path.relative_to(out)) for path in out.rglob("*")) == ["new", "new/a.html", "site.json"]
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_a_site_that_cannot_be_written_leaves_the_former_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "site"
    write.replace_site(out, {"index.html": b"old", write.MARKER: write.marker({})})

    def full(_path: Path, _data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(MachineError, match="No space left on device"):
        write.replace_site(out, {"index.html": b"new", write.MARKER: write.marker({})})
    assert (out / "index.html").read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_a_site_that_a_kill_left_aside_comes_back(tmp_path: Path) -> None:
    out = tmp_path / "site"
    write.replace_site(out, {"index.html": b"old", write.MARKER: write.marker({})})
    out.rename(tmp_path / ".site.old")
    with pytest.raises(MachineError, match="Is a directory"):
        write.replace_site(out, {"index.html/b": b"", "index.html": b"new"})
    assert (out / "index.html").read_bytes() == b"old"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--contact", "a@b.example"], "--contact say something of a site"),
        (["--site", "OUT", "--page"], "--site builds a site and nothing else"),
        (["--site", "OUT", "--day", "soon"], "--day soon is no day"),
        (["--site", "OUT", "--address", "ftp://x"], "is no address of a site"),
        (["--site", "FULL"], "no site of an atlas"),
    ],
)
def test_bad_options_are_refused_before_anything_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "FULL").mkdir()
    (tmp_path / "FULL" / "x").touch()
    result = CliRunner().invoke(app, ["atlas", *arguments])
    assert isinstance(result.exception, InputError | SystemExit)
    assert said in str(result.exception) or said in result.output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["FULL"]
