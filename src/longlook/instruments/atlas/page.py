"""The atlas: every figure of every paper as published beside what is found today, on one page that opens from disk.

`atlas_page` returns the page, `summary_markdown` its table of claims by study. Nothing is computed here.
"""

from collections.abc import Iterable, Mapping, Sequence

from markupsafe import Markup

from longlook.core import Agreement, ExpectedLevel
from longlook.instruments.atlas.claims.counts import (
    RESULTS,
    RULE,
    STATEMENT_RESULTS,
    counts_by_kind,
    result_counts,
    statement_counts,
    statements,
)
from longlook.instruments.atlas.claims.dispute_charts import position_colours
from longlook.instruments.atlas.claims.page import HELD_SYMBOLS, made, ours_text, pieces_of
from longlook.instruments.atlas.claims.survey import SurveyedClaim, command_for
from longlook.instruments.atlas.content import Atlas, AtlasStudy, PageState, SummaryRow
from longlook.instruments.atlas.maps import maps_of, without_run
from longlook.report import (
    RESULT_COLOURS,
    ReportContent,
    asset,
    gradient,
    markdown_rows,
    short_labels,
    template,
    wording,
)

WIDTH, HEIGHT = 180, 18
_EDGE = 6
_MIDDLE = HEIGHT / 2


def level_bars(claims: Sequence[SurveyedClaim]) -> Mapping[str, Markup]:
    """Return a picture for each claim about a level, by the claim's id; claims about one metric share their scale."""
    levels = [(item, item.claim.expected) for item in claims if item.claim.expected is not None]
    scales = {
        kind: _scale(value for item, expected in levels if _kind(expected) == kind for value in _values(item))
        for kind in dict.fromkeys(_kind(expected) for _, expected in levels)
    }
    return {item.claim.id: _bar(item, expected, *scales[_kind(expected)]) for item, expected in levels}


def _kind(expected: ExpectedLevel) -> tuple[str, bool]:
    """Return what a level is of: a metric itself, or shares of a population by it."""
    return expected.metric, expected.below is not None


def _values(item: SurveyedClaim) -> list[float]:
    expected, ours = item.claim.expected, item.ours
    known = [expected.published, expected.at_least, expected.at_most] if expected else []
    if ours is not None:
        known += [ours.value, ours.low, ours.high]
    return [value for value in known if value is not None]


def _scale(values: Iterable[float]) -> tuple[float, float]:
    """Return the least and the greatest value of a scale, with zero if that is near."""
    known = [0.0, *values]
    low, high = min(known), max(known)
    return low, high if high > low else low + 1.0


def _bar(item: SurveyedClaim, expected: ExpectedLevel, low: float, high: float) -> Markup:
    def place(value: float) -> float:
        return round(_EDGE + (value - low) / (high - low) * (WIDTH - 2 * _EDGE), 1)

    shade = RESULT_COLOURS[item.result]
    left = 0.0 if expected.at_least is None else place(expected.at_least)
    right = float(WIDTH) if expected.at_most is None else place(expected.at_most)
    parts = [
        f'<rect x="{left}" y="3" width="{max(right - left, 1):.1f}" height="{HEIGHT - 6}" fill="#e9e6df"/>',
        f'<line x1="0" x2="{WIDTH}" y1="{_MIDDLE}" y2="{_MIDDLE}" stroke="#d0ccc4"/>',
    ]
    if expected.published is not None:
        x = place(expected.published)
        parts.append(f'<path d="M{x} 3l5 6-5 6-5-6z" fill="#fff" stroke="#1c1b1a" stroke-width="1.2"/>')
    ours = item.ours
    if ours is not None and ours.value is not None:
        if ours.low is not None and ours.high is not None:
            x1, x2 = place(ours.low), place(ours.high)
            parts.append(f'<line x1="{x1}" x2="{x2}" y1="9" y2="9" stroke="{shade}" stroke-width="3"/>')
        parts.append(f'<circle cx="{place(ours.value)}" cy="9" r="4" fill="{shade}"/>')
    about = f"published {wording.published(item.claim)}; the band is where the finding is the same"
    picture = f'<svg class="bar" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img">'
    # Only `about` has text from a study; the rest are our own numbers and colours.
    return Markup(picture) + Markup("<title>{}</title>").format(about) + Markup("".join(parts) + "</svg>")  # noqa: S704


PAGE = "index.html"
_DIGITS = 16
"""How much of a digest is shown."""


def atlas_page(
    atlas: Atlas,
    contents: Mapping[str, ReportContent],
    anchors: Mapping[str, Mapping[tuple[str, str], str]],
) -> str:
    """Return the page.

    `contents` is by study what the report of its run draws. `anchors` is by study the place of each cell in that
    report, by contrast and cell id.
    """
    survey = atlas.survey
    studies = {item.study.id: item.study for item in survey.studies}
    page = template("instruments/atlas/page.html.j2").render(
        atlas=atlas,
        survey=survey,
        headline=headline(atlas),
        total=result_counts(atlas.claims),
        result_counts=result_counts,
        results=RESULTS,
        statement_results=STATEMENT_RESULTS,
        by_kind=counts_by_kind(atlas.claims),
        stated=statement_counts(atlas.claims),
        statement_counts=statement_counts,
        rule=RULE,
        maps={
            item.id: maps_of(item, contents.get(item.id) or without_run(item), anchors.get(item.id, {}))
            for item in atlas.studies
        },
        bars={item.id: level_bars(item.claims) for item in atlas.studies},
        whys={item.id: _whys(item, anchors.get(item.id, {})) for item in atlas.studies},
        arms={item.id: _arms(item) for item in atlas.studies},
        pieces={item.dispute.id: pieces_of(item, studies) for item in survey.disputes},
        shades={item.dispute.id: position_colours(item.dispute) for item in survey.disputes},
        symbols=HELD_SYMBOLS,
        ours=ours_text,
        made=made,
        clock=clock,
        digits=_DIGITS,
        gradient=gradient(),
        wording=wording,
        state_text=state_text,
        css=asset("assets/report.css")
        + asset("instruments/atlas/claims/claims.css")
        + asset("instruments/atlas/atlas.css"),
        js=asset("instruments/atlas/atlas.js"),
    )
    return _narrow(page)


def headline(atlas: Atlas) -> str:
    """Return the content of the page in one or two sentences."""
    counts = result_counts(atlas.claims)
    ran = [item for item in atlas.studies if item.surveyed.run is not None]
    papers = [paper for paper in atlas.papers if any(study.claims for study in paper.studies)]
    tested = len(atlas.claims) - counts[Agreement.NOT_RUN]
    return (
        f"{len(statements(atlas.claims))} published numbers and sentences of {len(papers)} papers, as "
        f"{len(atlas.claims)} executable claims about cells; {tested} of these tested today by "
        f"{_counted(len(ran), 'study', 'studies')} of real programs over an emulated network."
    )


SUMMARY_COLUMNS = ("study", "paper", *RESULTS, "trials", "day", "results", "command")


def summary_markdown(rows: Sequence[SummaryRow]) -> str:
    """Return claims by study and result, with the command and the digest of each study's results, as Markdown."""
    return markdown_rows(SUMMARY_COLUMNS, summary_cells(rows), frozenset(range(2, 3 + len(RESULTS))))


def summary_cells(rows: Sequence[SummaryRow]) -> list[list[str]]:
    """Return the cells of the table of an atlas, and the sums below them."""
    total = [str(sum(row.counts.get(result, 0) for row in rows)) for result in RESULTS]
    return [*map(_summary_cells, rows), ["all", "", *total, "", "", "", ""]]


def _summary_cells(row: SummaryRow) -> list[str]:
    counts = [str(row.counts.get(result, "")) for result in RESULTS]
    command, entry = command_for(row.study), row.entry
    if entry is None:
        return [row.study, row.paper, *counts, "", "", row.state, command]
    found = wording.DASH if entry.results is None else entry.results[:_DIGITS]
    results = f"{found}, of an earlier version of the study" if row.earlier else found
    return [row.study, row.paper, *counts, str(entry.trials), entry.day, results, command]


def _whys(item: AtlasStudy, anchors: Mapping[tuple[str, str], str]) -> dict[str, str]:
    """Return the links of explanations by the links of the cells that they are about."""
    run = item.surveyed.run
    if run is None or run.report is None:
        return {}
    places = {(each.contrast, each.cell_id): each.link for each in item.explanations if each.link}
    return {f"{run.report}#{anchors[place]}": link for place, link in places.items() if place in anchors}


def _arms(item: AtlasStudy) -> list[str]:
    labels = short_labels(item.surveyed.study)
    return [labels[arm.name] for arm in item.surveyed.study.arms]


def _counted(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def _narrow(page: str) -> str:
    """Return the page without the indentation of its templates, which is a tenth of its bytes."""
    return "\n".join(line for line in map(str.strip, page.split("\n")) if line) + "\n"


def clock(engine: str) -> str:
    """Return in which time the trials of an engine run; of several, with `and` between, in which times."""
    return f"{engine.replace('live', 'real')} time"


def state_text(item: AtlasStudy) -> str:
    """Return why no run of a study is shown."""
    words: dict[PageState, str] = {
        PageState.NOT_RUN: "Not run yet",
        PageState.BEGUN: "Begun",
        PageState.LEFT_OUT: "Left out",
        PageState.FAILED: "Could not run here",
        PageState.DAMAGED: "Its run cannot be read",
        PageState.RUN: "Run",
    }
    return f"{words[item.state]}{': ' + item.reason if item.reason else ''}."
