"""The page: its sections in reading order, each rendered by its own template, below a head with the answer."""

from collections.abc import Sequence

from markupsafe import Markup

from longlook.report import wording
from longlook.report.causes.section import make_why
from longlook.report.content import ReportContent
from longlook.report.contrasts.all_cells import make_all_cells
from longlook.report.contrasts.published import make_published
from longlook.report.contrasts.section import ContrastSection, make_contrasts
from longlook.report.contrasts.together import TogetherSection, make_together
from longlook.report.cpu.section import make_cpu
from longlook.report.dots.section import make_dots
from longlook.report.flows.medians import make_matrix
from longlook.report.flows.section import make_flow_section
from longlook.report.flows.shares import make_shares
from longlook.report.links.section import make_links
from longlook.report.losses.section import make_losses
from longlook.report.population.section import make_population
from longlook.report.provenance.manifest import ManifestSection
from longlook.report.provenance.method import MethodSection
from longlook.report.provenance.repeats import make_repeats
from longlook.report.provenance.traces import make_traces
from longlook.report.provenance.validity import make_validity
from longlook.report.section import Section
from longlook.report.templates import asset, embedded_json, template, vega
from longlook.report.trend.section import make_trends


def sections(content: ReportContent) -> list[Section]:
    """Return the parts of the page in reading order; a part that has nothing to show is not among them."""
    flows = make_flow_section(content)
    matrix = make_matrix(content, flows.anchors)
    contrasts = make_contrasts(content, flows.anchors)
    return [
        *make_trends(content),
        *([matrix] if matrix else []),
        *make_dots(content),
        *make_population(content),
        *make_shares(content),
        *make_together(content, contrasts),
        *contrasts,
        *make_why(content.answers),
        *([flows] if flows.cells else []),
        *make_links(content),
        *make_losses(content),
        *make_cpu(content),
        *make_published(content, contrasts),
        make_all_cells(content, contrasts),
        MethodSection("method", "Method", content.study),
        make_validity(content),
        *make_traces(content),
        *make_repeats(content),
        ManifestSection("manifest", "Manifest", content),
    ]


def render(content: ReportContent, parts: Sequence[Section]) -> str:
    """Return the page as one HTML text that loads nothing and links only to the files in its folder."""
    contrasts = [part for part in parts if isinstance(part, ContrastSection)]
    together = {each.anchor for part in parts if isinstance(part, TogetherSection) for each in part.contrasts}
    apart = [each for each in contrasts if not each.contrast.family and each.anchor not in together]
    data = {part.anchor: part.data() for part in parts}
    return template("page.html.j2").render(
        study=content.study,
        answer=wording.answer(content),
        tallies=[each for each in apart if any(each.counts.values())],
        named=len(contrasts) > 1,
        parts=[(part, Markup(template(part.template).render(part.context()))) for part in parts],  # noqa: S704 ours
        css=asset("assets/report.css"),
        js=asset("assets/report.js"),
        vega=vega(),
        data=embedded_json({anchor: found for anchor, found in data.items() if found}),
    )
