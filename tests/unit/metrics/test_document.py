"""docs/reference/metrics.md is made of the metrics' files."""

from scripts import reference

from longlook.core import registry


def test_the_page_has_a_section_for_every_metric() -> None:
    page = reference.metrics()
    assert page == (reference.ROOT / "docs/reference/metrics.md").read_text(), "run: make generate"
    assert reference.is_generated(page)
    for name in registry.load("metrics"):
        assert f"## `{name}`\n" in page


def test_a_section_has_one_sentence_a_line() -> None:
    lines = reference.metric_section(registry.get("metrics", "share_of_used")).splitlines()
    assert lines[0] == "## `share_of_used`"
    assert lines[1] == "Share of what was used (%); higher is better; reads `packet_delivered`."
    assert [line for line in lines[2:] if not line.endswith(".")] == []
    assert "Table 4 of IMC 2017 and Corbel et al. 2019 report such shares." in lines
