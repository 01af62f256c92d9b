"""The palette: legible numbers, darker colours for larger effects."""

from hypothesis import example, given
from hypothesis import strategies as st

from longlook.report.charts import colours


@given(st.floats(min_value=-1e6, max_value=1e6))
@example(68.0)
def test_numbers_are_legible_on_every_colour(effect_pct: float) -> None:
    background = colours.effect_colour(effect_pct)
    assert colours.contrast_ratio(background, colours.text_colour(background)) >= 4.5


@given(st.floats(min_value=0.01, max_value=100), st.floats(min_value=0.01, max_value=100))
def test_larger_effects_are_darker(one: float, other: float) -> None:
    smaller, larger = sorted((one, other))
    for sign in (1, -1):
        lighter, darker = colours.effect_colour(sign * smaller), colours.effect_colour(sign * larger)
        assert colours.contrast_ratio(lighter, "#ffffff") <= colours.contrast_ratio(darker, "#ffffff") + 1e-9
