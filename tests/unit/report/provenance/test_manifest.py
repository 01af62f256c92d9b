"""The manifest on the page."""

from dataclasses import replace

from longlook.report.provenance.manifest import ManifestSection
from longlook.report.templates import template
from tests.data.report import paper_content


def test_what_is_not_as_pinned_stands_before_the_facts() -> None:
    content = paper_content()
    other = "the guest kernel is made of linux-source-7.3 instead of the pinned <7.2>"
    pinned, replaced = (
        template(ManifestSection.template).render(
            ManifestSection("manifest", "Manifest", replace(content, manifest=manifest)).context()
        )
        for manifest in (content.manifest, {**content.manifest, "not_as_pinned": [other]})
    )
    assert "Not as pinned" not in pinned
    assert replaced.count("Not as pinned: the guest kernel") == 1
    assert "&lt;7.2&gt;" in replaced
