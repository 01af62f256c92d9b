"""Sizes of datagrams as study files write them."""

import pytest

from longlook.core.echoes import canonical, payloads
from longlook.core.units import UnitError


@pytest.mark.parametrize(
    ("written", "sizes", "form"),
    [
        ("1350B", (1350,), "1350B"),
        ("1400B,1200 B", (1200, 1400), "1200B, 1400B"),
        ("1200B to 1220B by 5B", (1200, 1205, 1210, 1215, 1220), "1200B to 1220B by 5B"),
        ("1200B, 1210B, 1220B", (1200, 1210, 1220), "1200B to 1220B by 10B"),
        ("100B, 1KB to 2KB by 500B", (100, 1000, 1500, 2000), "100B, 1000B, 1500B, 2000B"),
    ],
)
def test_a_list_of_sizes_has_one_form(written: str, sizes: tuple[int, ...], form: str) -> None:
    assert payloads(written) == sizes
    assert canonical(written) == form
    assert payloads(form) == sizes


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("63B", "64 B to 9000 B"),
        ("8000B to 9005B by 5B", "64 B to 9000 B"),
        ("1200B to 1500B", "has no step"),
        ("1200B to 1501B by 5B", "whole steps"),
        ("1500B to 1200B by 5B", "whole steps"),
        ("1200B to 1500B by 0B", "whole steps"),
        ("64B to 9000B by 1B", "at most 1000 sizes"),
        ("1200B, 1200B", "twice"),
        ("1200", "write a size such as"),
        ("large", "write a size such as"),
        (1350, "write a size such as"),
    ],
)
def test_what_is_no_list_of_sizes_is_refused(written: object, problem: str) -> None:
    with pytest.raises(UnitError, match=problem):
        canonical(written)
