"""The page of a run's explanations, beside its report: one file that opens from disk, and its figures as files."""

from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from longlook.explain import Answer
from longlook.report import wording
from longlook.report.causes.section import AnswerSection, anchor
from longlook.report.causes.text import heading
from longlook.report.charts.export import export_figure
from longlook.report.section import slug
from longlook.report.templates import asset, embedded_json, template, vega

PAGE = "index.html"


def write_explanation(folder: Path, answers: Sequence[Answer]) -> Path:
    """Write `index.html`, and the waterfall of each answer below `figures/`, into a folder; return the page's path.

    The same answers give the same bytes. The page links to `../report/index.html`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    figures = folder / "figures"
    for old in figures.glob("waterfall-*"):
        old.unlink()
    parts = _sections(answers)
    for part in parts:
        for name, chart in part.figures().items():
            export_figure(figures, name, chart)
    page = template("causes/page.html.j2").render(
        study=answers[0].study if answers else "",
        parts=[(part, Markup(template(part.template).render(part.context()))) for part in parts],  # noqa: S704 ours
        css=asset("assets/report.css") + asset("causes/causes.css"),
        js=asset("assets/report.js"),
        vega=vega(),
        data=embedded_json({part.anchor: part.data() for part in parts}),
    )
    path = folder / PAGE
    path.write_text(page, encoding="utf-8")
    return path


def _sections(answers: Sequence[Answer]) -> list[AnswerSection]:
    taken: set[str] = set()
    several = len({answer.contrast for answer in answers}) > 1
    return [
        AnswerSection(
            anchor(number),
            (heading(answer) if several else wording.listed_cell(answer.cell)) or answer.cell_id,
            answer,
            slug(f"{answer.cell_id} {answer.contrast}" if several else answer.cell_id, taken),
        )
        for number, answer in enumerate(answers)
    ]
