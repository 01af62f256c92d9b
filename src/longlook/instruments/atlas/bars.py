"""Claims about levels as pictures: what was published, within which bounds the finding is the same, and ours."""

from collections.abc import Iterable, Mapping, Sequence

from markupsafe import Markup

from longlook.core import ExpectedLevel
from longlook.instruments.atlas.claims.survey import SurveyedClaim
from longlook.report import RESULT_COLOURS, wording

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

    shade = RESULT_COLOURS.get(item.result, RESULT_COLOURS["not testable"])
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
