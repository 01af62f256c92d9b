"""What a round may draw: texts of laws, and the lattices that values are drawn from."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longlook.core.problems import SettingError
from longlook.study import laws


@pytest.mark.parametrize(
    ("setting", "value", "canonical"),
    [
        ("network.rtt", "uniform 5%", "uniform 5%"),
        ("network.rtt", " uniform   5.0 % ", "uniform 5%"),
        ("workload.object", "uniform 0.025", "uniform 2.5%"),
        ("start_phase", "uniform 0.1s", "uniform 100ms"),
        ("order", "uniform", "uniform"),
        ("certificate", "uniform 1KB", "uniform 1KB"),
    ],
)
def test_a_law_has_one_text(setting: str, value: str, canonical: str) -> None:
    assert laws.law(setting, value) == canonical


def test_the_standard_is_written_in_canonical_form() -> None:
    assert {setting: laws.law(setting, law) for setting, law in laws.STANDARD_LAWS.items()} == laws.STANDARD_LAWS


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        (
            "network.rtd",
            "uniform 5%",
            "nothing that a round can draw; allowed: network.rtt.*did you mean 'network.rtt'?",
        ),
        ("network.rtt", "uniform 100%", "above 0% and below 100%"),
        ("network.rtt", "uniform 0%", "above 0% and below 100%"),
        ("network.rtt", "uniform -5%", "between 0% and 100%"),
        ("network.rtt", "uniform 5ms", 'not a share.*for example "uniform 5%"'),
        ("network.rtt", "uniform", "not a share"),
        ("network.rtt", "normal 5%", "unknown law 'normal'; allowed: uniform"),
        ("network.rtt", 5, "write a law and its width, for example"),
        ("network.loss", "uniform 101%", "between 0% and 100%"),
        ("start_phase", "uniform 5%", 'a time.*for example "uniform 100ms"'),
        ("start_phase", "uniform 61s", "from 32us to 60s"),
        ("order", "uniform 5%", "no width"),
        ("certificate", "uniform 20B", "50 to 8000 bytes"),
    ],
)
def test_a_law_that_cannot_be_names_its_key_and_what_is_allowed(setting: str, value: object, message: str) -> None:
    with pytest.raises(SettingError, match=message) as caught:
        laws.law(setting, value)
    assert caught.value.key == f"around.{setting}"


VALUES = [
    (laws.TIME, "36ms", "36.421ms"),
    (laws.TIME, "112ms", "112.34ms"),
    (laws.RATE, "10Mbit", "10.012Mbit"),
    (laws.RATE, "170kbit", "171.23kbit"),
    (laws.SIZE, "100KB", "98123B"),
    (laws.SHARE, "1%", "1.0123%"),
    (laws.LENGTH, "1bdp", "1.0123bdp"),
    (laws.LENGTH, "30KB", "30123B"),
    (laws.LENGTH, "20packets", "21packets"),
]


@pytest.mark.parametrize(("quantity", "nominal", "like"), VALUES)
def test_what_is_drawn_is_written_in_few_digits(quantity: laws.DrawnQuantity, nominal: str, like: str) -> None:
    first, last, step = laws.lattice(quantity, nominal, Fraction(5, 100))
    assert quantity.number(like) / step == int(quantity.number(like) / step)
    longest = max(len(quantity.text(nominal, point * step)) for point in range(first, min(last, first + 2000) + 1))
    assert longest <= len(like) + 2


@settings(max_examples=300)
@given(
    st.sampled_from(VALUES),
    st.fractions(Fraction(1, 1000), Fraction(999, 1000), max_denominator=1000),
    st.floats(0, 1, exclude_max=True),
)
def test_what_is_drawn_lies_inside_and_reads_back(
    value: tuple[laws.DrawnQuantity, str, str], width: Fraction, share: float
) -> None:
    quantity, nominal, _ = value
    number = quantity.number(nominal)
    first, last, step = laws.lattice(quantity, nominal, width)
    drawn = laws.point(first, last, share) * step
    assert number * (1 - width) <= drawn <= number * (1 + width)
    if drawn:
        assert quantity.number(quantity.text(nominal, drawn)) == drawn


def test_every_point_is_drawn_alike() -> None:
    counts = [0] * 21
    for step in range(21_000):
        counts[laws.point(0, 20, (step + 0.5) / 21_000)] += 1
    assert counts == [1000] * 21
    assert laws.point(3, 7, 0.0) == 3
    assert laws.point(3, 7, 1 - 2.0**-53) == 7
