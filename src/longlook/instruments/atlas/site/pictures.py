"""The pictures of the site: charts of disputes as SVG, and a card for each page that is shared as a link, as PNG.

The report and the claims page have the same charts.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from longlook.core import Contrast
from longlook.instruments.atlas.claims.dispute_charts import evidence_chart
from longlook.instruments.atlas.claims.entries import Found
from longlook.instruments.atlas.claims.page import Piece
from longlook.instruments.atlas.claims.survey import SurveyedDispute
from longlook.report import contrast_heatmap, for_both_schemes, picture, share_card

BRAND = "Longlook · atlas of published findings"
MOST_CHARTS = 2
"""The pieces of evidence of a dispute that are drawn; all of them are squares and tables on its page."""
CHART_PX = 420
_MOST_PLACES = 60
"""Squares beyond which a heatmap is too small to read on a card."""


def heatmap(found: Found, contrast: Contrast) -> str:
    """Return the heatmap of a contrast as the report exports it."""
    return picture(contrast_heatmap(found.content, contrast), "svg").decode()


def shared_contrast(found: Found | None) -> Contrast | None:
    """Return the contrast that a study's card shows: the first that was published, else the first with values."""
    if found is None:
        return None
    counts = Counter(item.contrast for item in found.entry.estimates)
    claimed = {claim.contrast for claim in found.study.claims}
    drawn = [item for item in found.study.contrasts if 0 < counts[item.name] <= _MOST_PLACES]
    return next((item for item in drawn if item.name in claimed), drawn[0] if drawn else None)


def charts(item: SurveyedDispute, pieces: Sequence[Piece]) -> dict[str, str]:
    """Return charts of the first pieces of evidence that decide, by the names of the pieces; of controls none."""
    drawn = [piece for piece in pieces if piece.chart is not None and piece.judged.evidence.control is None]
    drawn.sort(key=lambda piece: not piece.judged.conclusion.decided)
    return {
        str(piece.chart): for_both_schemes(
            picture(evidence_chart(piece.judged, item.dispute, CHART_PX), "svg").decode()
        )
        for piece in drawn[:MOST_CHARTS]
    }


def card(title: str, text: str, figure: str | None = None) -> bytes:
    """Return the card of a page."""
    return share_card(BRAND, title, text, figure)


def alternatives(pieces: Sequence[Piece], drawn: Mapping[str, str]) -> dict[str, str]:
    """Return the charts in words, for people who do not see them."""
    return {
        str(piece.chart): f"{piece.title}: "
        + "; ".join(f"{row.level} {row.value} ({row.interval})" for row in piece.rows)
        for piece in pieces
        if piece.chart in drawn
    }
