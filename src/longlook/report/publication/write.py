"""The folder of what a run's results need to be published: figures, tables, captions, references."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longlook.core import Contrast
from longlook.report.content import ReportContent
from longlook.report.contrasts.section import ContrastSection
from longlook.report.page import sections
from longlook.report.publication import latex
from longlook.report.publication.absolute import absolute_figure
from longlook.report.publication.bibliography import bibliography
from longlook.report.publication.fitted import SMALLEST_PT, FittedFigure, fitted
from longlook.report.publication.own_files import replace_files
from longlook.report.publication.style import POINTS_PER_INCH, FigureStyle
from longlook.report.section import slug

FIGURES, TABLES, CAPTIONS, REFERENCES = "figures", "tables", "figures.tex", "references.bib"


@dataclass(frozen=True)
class Publication:
    """The folder, its files below it, and what a reader of the figures should know."""

    folder: Path
    files: tuple[str, ...]
    remarks: tuple[str, ...]


def publish(
    folder: Path, content: ReportContent, style: FigureStyle, kinds: Sequence[str] = (), metric: str | None = None
) -> Publication:
    """Write all figures of a report in a style, its tables in LaTeX, captions and references, as `replace_files` does.

    `kinds` are figures of values beside these (`style.KINDS`), of `metric`, by default the metric of the figure.
    Raise InputError if this machine does not have the style's font, or if a file was edited: nothing is changed then.
    """
    charts = _charts(content)
    shown = metric or content.study.figure_metric
    lacking = []
    for kind in kinds:
        if (chart := absolute_figure(kind, content, shown)) is None:
            lacking.append(f"{kind}: no cell has a value of {shown} that it could show")
        else:
            charts[f"{kind}-{shown}"] = chart, None
    figures = {name: fitted(chart, style) for name, (chart, _) in charts.items()}
    texts = {f"{TABLES}/{name}.tex": text for name, text in _tables(content).items()}
    captions = [
        latex.figure(f"{FIGURES}/{name}.pdf", found.heading or (content.study.title,), content, charts[name][1], name)
        for name, found in figures.items()
    ]
    digest = (content.manifest.get("results") or {}).get("digest")
    sources = filter(None, [content.study.source, *(claim.claim.source for claim in content.claims)])
    references = bibliography(sources, str(content.manifest["host"]["longlook"]), digest)
    texts[CAPTIONS] = "\n".join([latex.figures_head(), *captions])
    texts[REFERENCES] = references.text
    contents = {
        f"{FIGURES}/{name}.{ending}": data
        for name, found in figures.items()
        for ending, data in (("pdf", found.pdf), ("png", found.png), ("svg", found.svg))
    }
    contents |= {file: text.encode() for file, text in texts.items()}
    replace_files(folder, contents)
    remarks = (
        *lacking,
        *_remarks(figures, style),
        *(f"no reference is known for: {each}" for each in references.unknown),
    )
    return Publication(folder, tuple(contents), remarks)


def _charts(content: ReportContent) -> dict[str, tuple[Any, Contrast | None]]:
    """Return every chart by the name of its file, with the contrast that it is of."""
    parts, blocks = sections(content)
    return {
        name: (chart, section.contrast if isinstance(section, ContrastSection) else None)
        for section in (*parts, *(block.section for block in blocks))
        for name, chart in section.figures().items()
    }


def _tables(content: ReportContent) -> dict[str, str]:
    found: dict[str, str] = {}
    taken: set[str] = set()
    for contrast in content.study.contrasts:
        if content.estimates_of(contrast):
            name = f"verdicts-{slug(contrast.name, taken)}"
            found[name] = latex.verdicts(content, contrast, name)
    if content.claims:
        found["claims"] = latex.claims(content, "claims")
    return found


def _remarks(figures: Mapping[str, FittedFigure], style: FigureStyle) -> Iterator[str]:
    for name, found in figures.items():
        if found.label_pt < SMALLEST_PT:
            width_in = found.width_pt / POINTS_PER_INCH
            needed_in = width_in * style.font_pt / found.label_pt
            yield (
                f"{name}: labels of {found.label_pt:.1f} pt, as it has many parts; "
                f"--figure-width {needed_in:.1f}in gives {style.font_pt:g} pt"
            )
        if len(found.fonts) > 1:
            yield f"{name}: drawn with {', '.join(found.fonts)}, as one font lacks some of the symbols"
