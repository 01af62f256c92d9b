"""The style of documents and docstrings: what each rule of Vale objects to, and what it lets pass."""

from functools import partial
from pathlib import Path

import pytest
from scripts import prose

WITH_VALE = pytest.mark.skipif(not prose.VALE.is_file(), reason="`make .venv/bin/vale` builds Vale")
SENTENCES = {
    "Return None where the arm has no rounds.": ["Conditions"],
    "It fails where there is no cache.": ["Conditions"],
    "The folder where results lie is kept.": [],
    "Return None if the arm has no rounds.": [],
    "What the mirror lost is named.": ["Openings"],
    "Of two flows the first counts.": ["Openings"],
    "That holds for all.": ["Openings"],
    "Where nothing runs, it waits.": ["Openings"],
    "What is a trial?": [],
    "A trial is what an engine runs.": [],
    "It compares the medians with those of the reference.": ["Nouns"],
    "All trials run but for one.": ["Phrases"],
    "A contestant waits.": ["PrivateWords"],
    "The count is " + "one and " * 17 + "two.": ["Length"],
    "The count is " + "one and " * 15 + "two.": [],
}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name in prose.DOCUMENTS:
        path = tmp_path / name
        if path.suffix:
            path.write_text("")
        else:
            path.mkdir()
    (tmp_path / "src").mkdir()
    return tmp_path


@WITH_VALE
def test_each_rule_objects_to_what_it_is_for(checkout: Path) -> None:
    (checkout / "docs" / "page.md").write_text("".join(f"{sentence}\n\n" for sentence in SENTENCES))
    found: dict[str, list[str]] = {sentence: [] for sentence in SENTENCES}
    for each in prose.documents(checkout):
        assert each.path == "docs/page.md"
        found[list(SENTENCES)[each.line // 2]].append(each.rule)
    assert found == SENTENCES


@WITH_VALE
def test_a_docstring_is_read_at_its_line_and_as_sentences(checkout: Path) -> None:
    code = '''X = "What is code."\nclass A:\n    """Fine.\n\n    What it has is kept.\n    """\n    # Of comments.\n'''
    (checkout / "src" / "a.py").write_text(code)
    assert [(each.path, each.line, each.rule) for each in prose.docstrings(checkout)] == [("src/a.py", 5, "Openings")]


def test_only_docstrings_remain_each_at_its_line() -> None:
    code = '''"""Of a module."""\n\nX = 1\n"""Of a value,\nin two lines."""\n'''
    code += '''\ndef f(a="text"):\n    """Of a function."""\n'''
    lines = ["Of a module.", "", "", "Of a value,", "in two lines.", "", "", "Of a function.", ""]
    assert prose.only_docstrings(code).split("\n") == lines


def test_examples_are_code() -> None:
    code = '''def f():\n    """Return 1.\n\n    >>> f()\n    1\n\n    Always.\n    """\n'''
    assert prose.only_docstrings(code).split("\n")[1:7] == ["Return 1.", "", "    >>> f()", "    1", "", "Always."]


def test_without_vale_one_reads_how_to_get_it(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prose, "VALE", prose.ROOT / ".venv" / "bin" / "missing-vale")
    (checkout / "docs" / "other.md").write_text("Text.\n")
    with pytest.raises(SystemExit, match=r"run `make \.venv/bin/missing-vale`"):
        prose.documents(checkout)


@WITH_VALE
def test_a_check_names_the_sentences_of_the_places_asked_for_and_fails(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (checkout / "docs" / "page.md").write_text("What it has is kept.\n")
    (checkout / "src" / "good.py").write_text('"""It is kept."""\n')
    (checkout / "src" / "bad.py").write_text('"""What it has is kept."""\n')
    for read in (prose.documents, prose.docstrings):
        monkeypatch.setattr(prose, read.__name__, partial(read, checkout))
    prose.main(["--check", "src/good.py"])
    assert capsys.readouterr().out == ""
    with pytest.raises(SystemExit, match="1 warnings"):
        prose.main(["--check", "src"])
    assert capsys.readouterr().out.startswith("src/bad.py:1: ")
