from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longlook.core import units
from longlook.core.units import Queue, UnitError


@pytest.mark.parametrize(
    ("text", "rate_bps"),
    [
        ("10Mbit", 10_000_000),
        ("1.5Gbit", 1_500_000_000),
        ("250kbit", 250_000),
        ("10mbit", 10_000_000),
        ("10 Mbit/s", 10_000_000),
        ("10Mbps", 10_000_000),
        ("9600bit", 9600),
    ],
)
def test_rates_as_people_write_them(text: str, rate_bps: int) -> None:
    assert units.parse_rate(text) == rate_bps


@pytest.mark.parametrize(
    ("text", "time_ns"),
    [("36ms", 36_000_000), ("1.5s", 1_500_000_000), ("250us", 250_000), ("250µs", 250_000), ("100ns", 100), ("0ms", 0)],
)
def test_times_as_people_write_them(text: str, time_ns: int) -> None:
    assert units.parse_time(text) == time_ns


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [("5KB", 5000), ("30kB", 30_000), ("1MB", 10**6), ("1.5 GB", 1_500_000_000), ("64KiB", 65536), ("1MiB", 2**20)],
)
def test_sizes_as_people_write_them(text: str, size_bytes: int) -> None:
    assert units.parse_size(text) == size_bytes


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("1%", Fraction(1, 100)),
        ("0.1%", Fraction(1, 1000)),
        (0.01, Fraction(1, 100)),
        (1e-7, Fraction(1, 10**7)),
        ("100%", Fraction(1)),
        (0, Fraction(0)),
    ],
)
def test_shares_as_people_write_them(text: object, share: Fraction) -> None:
    assert units.parse_share(text) == share


def test_a_queue_is_a_size_or_a_multiple_of_the_bandwidth_delay_product() -> None:
    assert units.parse_queue("30KB") == Queue(size_bytes=30_000)
    assert units.parse_queue("0.5bdp") == Queue(bdp=Fraction(1, 2))
    assert units.print_queue(units.parse_queue("1.50bdp")) == "1.5bdp"


@pytest.mark.parametrize(
    ("printed", "text"),
    [
        (units.print_rate(10_000_000), "10Mbit"),
        (units.print_rate(1_234_567), "1234.567kbit"),
        (units.print_rate(1), "1bit"),
        (units.print_time(1_500_000_000), "1.5s"),
        (units.print_time(36_000_000), "36ms"),
        (units.print_size(1500), "1.5KB"),
        (units.print_size(65536), "64KiB"),
        (units.print_size(10**6), "1MB"),
        (units.print_share(Fraction(1, 1000)), "0.1%"),
    ],
)
def test_quantities_are_printed_as_people_write_them(printed: str, text: str) -> None:
    assert printed == text


@given(st.integers(1, 10**13))
def test_rates_survive_printing(rate_bps: int) -> None:
    assert units.parse_rate(units.print_rate(rate_bps)) == rate_bps


@given(st.integers(0, 10**14))
def test_times_survive_printing(time_ns: int) -> None:
    assert units.parse_time(units.print_time(time_ns)) == time_ns


@given(st.integers(0, 10**15))
def test_sizes_survive_printing(size_bytes: int) -> None:
    assert units.parse_size(units.print_size(size_bytes)) == size_bytes


@given(st.decimals(0, 1, places=9))
def test_shares_survive_printing(share: object) -> None:
    exact = Fraction(str(share))
    assert units.parse_share(units.print_share(exact)) == exact


@given(st.one_of(st.text(max_size=12), st.integers(), st.floats(), st.booleans(), st.none(), st.lists(st.integers())))
def test_nonsense_is_a_unit_error_and_nothing_else(value: object) -> None:
    for parse in (units.parse_rate, units.parse_time, units.parse_size, units.parse_queue, units.parse_share):
        try:
            parse(value)
        except UnitError as error:
            assert str(error)


@pytest.mark.parametrize(
    ("parse", "value", "parts"),
    [
        (units.parse_rate, "10", ["needs a unit", "10Mbit"]),
        (units.parse_rate, 10, ["needs a unit", "10Mbit"]),
        (units.parse_rate, "10Mbt", ["'Mbt'", "bit, kbit, Mbit, Gbit", "did you mean '10Mbit'?"]),
        (units.parse_rate, "10MB/s", ["bytes", "bits per second"]),
        (units.parse_rate, "-5Mbit", ["cannot be negative"]),
        (units.parse_rate, "0Mbit", ["above zero"]),
        (units.parse_rate, "0.5bit", ["whole number of bits per second"]),
        (units.parse_rate, "٣Mbit", ["not a rate"]),
        (units.parse_rate, "3Mbit³", ["unknown unit"]),
        (units.parse_size, f"{2**63}B", ["at most 9223372036854775807 bytes"]),
        (units.parse_time, f"1.{'1' * 50}s", ["too many digits"]),
        (units.parse_time, "36", ["needs a unit", "36ms"]),
        (units.parse_time, "36mS", ["did you mean '36ms'?"]),
        (units.parse_time, "-1ms", ["cannot be negative"]),
        (units.parse_size, "5kb", ["'kb'", "did you mean '5KB'?"]),
        (units.parse_size, "", ["not a size"]),
        (units.parse_queue, "1bpd", ["did you mean '1bdp'?"]),
        (units.parse_share, "101%", ["between 0% and 100%"]),
        (units.parse_share, 1, ["ambiguous", "write 1%"]),
        (units.parse_share, True, ["write a percentage"]),
        (units.parse_share, "1ms", ["write a percentage"]),
    ],
)
def test_errors_say_what_to_write(parse: object, value: object, parts: list[str]) -> None:
    assert callable(parse)
    with pytest.raises(UnitError) as caught:
        parse(value)
    for part in parts:
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("90min", 5400), ("5m", 300), ("12h", 43200), ("1.5d", 129600), ("30d", 2592000)]
)
def test_lengths_of_time_that_people_wait(text: str, seconds: int) -> None:
    assert units.parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["30", "a month", "-1d", "3x", ""])
def test_other_lengths_of_time_are_refused(text: str) -> None:
    with pytest.raises(units.UnitError, match=r"30d|negative"):
        units.parse_duration(text)


@pytest.mark.parametrize(("size", "text"), [(0, "0 B"), (999, "999 B"), (4_640_000, "4.6 MB"), (12 * 10**9, "12.0 GB")])
def test_space_for_people(size: int, text: str) -> None:
    assert units.print_bytes(size) == text
