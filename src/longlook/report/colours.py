"""The diverging palette of the heatmaps. Red and blue of this kind stay apart for deuteranopes and protanopes
(ColorBrewer's RdBu); symbols and signed numbers repeat what colour says."""

from longlook.model import Verdict

CLIP_PCT = 100.0
"""Effects at or beyond ± this share the darkest colour; the number in the cell is never clipped."""

BETTER_STOPS = ("#fbe6da", "#f4a582", "#d6604d", "#9e1528")
WORSE_STOPS = ("#dfeaf4", "#92c5de", "#4393c3", "#1d4f8c")
NOT_SIGNIFICANT = "#ffffff"
NO_DATA = "#f0efec"

CONTENDER = "#b0293a"
BASELINE = "#2a6aa8"
INK = "#1c1b1a"
INK_SOFT = "#5f5c57"
PAPER = "#ffffff"
RULE = "#d9d6d0"

RESULT_COLOURS = {
    "reproduced": "#23764b",
    "contradicted": "#a1340f",
    "inconclusive": "#8a6d00",
    "not testable": "#77736d",
}


def cell_colour(effect_pct: float | None, verdict: Verdict) -> str:
    """Background of a cell: red where the contender is better, blue where it is worse, white otherwise."""
    if effect_pct is None or verdict not in (Verdict.BETTER, Verdict.WORSE):
        return NOT_SIGNIFICANT
    return effect_colour(effect_pct)


def effect_colour(effect_pct: float) -> str:
    """Colour of a significant effect; even the smallest is visibly tinted."""
    stops = BETTER_STOPS if effect_pct >= 0 else WORSE_STOPS
    position = min(abs(effect_pct), CLIP_PCT) / CLIP_PCT * (len(stops) - 1)
    index = min(int(position), len(stops) - 2)
    return _mix(stops[index], stops[index + 1], position - index)


def text_colour(background: str) -> str:
    """The more legible of ink and paper on a background."""
    return INK if contrast_ratio(INK, background) >= contrast_ratio(PAPER, background) else PAPER


def contrast_ratio(one: str, other: str) -> float:
    """WCAG 2 contrast of two colours, 1 to 21."""
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (v / 255 for v in _rgb(colour))]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _mix(start: str, end: str, share: float) -> str:
    mixed = (round(a + (b - a) * share) for a, b in zip(_rgb(start), _rgb(end), strict=True))
    return "#" + "".join(f"{value:02x}" for value in mixed)
