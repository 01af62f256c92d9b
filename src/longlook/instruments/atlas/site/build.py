"""Build a site of the content of an atlas: every page and picture in memory, its links looked at, then put in place."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from longlook.core import LonglookError
from longlook.instruments.atlas.claims.entries import Found
from longlook.instruments.atlas.content import Atlas
from longlook.instruments.atlas.site import links, pictures
from longlook.instruments.atlas.site.findings import read_findings
from longlook.instruments.atlas.site.model import AtlasSite, Page, SiteOptions
from longlook.instruments.atlas.site.pages import Pages, picture_name
from longlook.instruments.atlas.site.write import MARKER, marker, replace_site
from longlook.report import asset

SCHEMA_VERSION = 1
"""The version of site.json."""
MOST_BYTES = 500_000
"""A page with its style, script and pictures, at first load."""
_STYLES = ("assets/report.css", "instruments/atlas/claims/claims.css", "instruments/atlas/atlas.css")
_FOLDER = "instruments/atlas/site"


@dataclass(frozen=True)
class BuiltSite:
    """A site that was built: its folder, its pages with their bytes at first load, and the sum of all files."""

    out: Path
    day: str
    loads: Mapping[str, int]
    files: int
    size_bytes: int

    @property
    def largest(self) -> tuple[str, int]:
        """The page with most bytes at first load."""
        return max(self.loads.items(), key=lambda item: (item[1], item[0]))


def build_site(atlas: Atlas, found: Mapping[str, Found], options: SiteOptions) -> BuiltSite:
    """Write the site of an atlas; `found` are its runs by study.

    InputError for findings that the entries do not bear, or a folder that is another; MachineError if it cannot be
    written. The former site stays until the new one is complete.
    """
    site = AtlasSite(atlas, found, tuple(read_findings(options.findings, found)), options)
    content = site_content(site)
    seen = links.look(content, options.base)
    if seen.broken:
        raise LonglookError(f"{len(seen.broken)} links lead nowhere: {'; '.join(seen.broken[:5])}", "report this")
    replace_site(options.out, content)
    return BuiltSite(options.out, site.facts.day, seen.first_load, len(content), sum(map(len, content.values())))


def site_content(site: AtlasSite) -> dict[str, bytes]:
    """Return the files of a site by their paths: the same atlas and options give the same bytes."""
    pages, content = Pages(site), dict[str, bytes]()

    def add(drawn: tuple[Page, str], figure: str | None = None, *, has_card: bool = True) -> None:
        page, text = drawn
        content[page.path] = text.encode()
        if has_card:
            content[page.card] = pictures.card(page.title, page.description, figure)

    finding = next(iter(site.findings), None)
    figure = None if finding is None else pictures.heatmap(site.found[finding.study], finding.contrasts[0])
    add(pages.first(), figure)
    for listed in (*pages.lists(), pages.alphabet(), pages.about()):
        add(listed, has_card=False)  # links to these show the first page's card
    for paper in site.atlas.papers:
        of_paper = None
        for item in paper.studies:
            found = site.found.get(item.id)
            contrast = pictures.shared_contrast(found)
            figure = None if found is None or contrast is None else pictures.heatmap(found, contrast)
            add(pages.study(paper, item), figure)
            of_paper = of_paper or figure
        add(pages.paper(paper), of_paper)
    for dispute in site.atlas.survey.disputes:
        pieces = pages.pieces(dispute)
        charts = pictures.charts(dispute, pieces)
        add(pages.dispute(dispute, charts, pictures.alternatives(pieces, charts)), next(iter(charts.values()), None))
        content |= {f"pictures/{picture_name(name)}": svg.encode() for name, svg in charts.items()}
    content["site.css"] = "".join(asset(name) for name in (*_STYLES, f"{_FOLDER}/site.css")).encode()
    content["search.js"] = asset(f"{_FOLDER}/search.js").encode()
    facts = site.facts
    content[MARKER] = marker(
        {
            "schema_version": SCHEMA_VERSION,
            "day": facts.day,
            "longlook": facts.longlook,
            "pages": sorted(path for path in content if path.endswith(".html")),
        }
    )
    return content
