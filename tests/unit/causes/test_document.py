"""docs/reference/causes.md is made of the causes' files."""

import pytest
from scripts import reference

from longlook.explain.cause import causes


def test_the_page_has_a_section_for_every_cause() -> None:
    page = reference.causes()
    assert page == (reference.ROOT / "docs/reference/causes.md").read_text(), "run: make generate"
    assert reference.is_generated(page)
    for name in causes():
        assert f"## `{name}`\n" in page


def test_a_section_says_what_is_seen_and_what_is_changed() -> None:
    lines = reference.cause_section(causes()["pacing_limited"]).splitlines()
    assert lines[0] == "## `pacing_limited`"
    assert lines[1].endswith("because its pacing leaves the bottleneck idle for … ms.")
    assert lines[3] == "To test it: no pacing for the loser, and pacing for the winner."
    assert [line for line in lines[1:] if not line.endswith(".")] == []


def test_a_docstring_that_says_something_else_is_named() -> None:
    with pytest.raises(SystemExit, match=r"'Nothing\.' does not begin with 'Return '"):
        reference.first_sentence("Nothing.", "Return ")
