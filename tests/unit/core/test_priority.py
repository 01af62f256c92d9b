"""Priorities of requests, as studies write them and as requests carry them."""

import pytest

from longlook.core.errors import InputError
from longlook.core.priority import Priority, parse_priority


@pytest.mark.parametrize(
    ("text", "urgency", "incremental", "field"),
    [
        ("u=1", 1, False, "u=1"),
        ("u=5,i", 5, True, "u=5, i"),
        (" i , u=0 ", 0, True, "u=0, i"),
        ("i", 3, True, "i"),
        ("u=3, i", 3, True, "i"),
        ("u=3", 3, False, "u=3"),
    ],
)
def test_a_priority_is_that_of_rfc_9218(text: str, urgency: int, incremental: bool, field: str) -> None:
    assert parse_priority(text) == Priority(urgency, incremental)
    assert parse_priority(text).field == field


@pytest.mark.parametrize("text", ["", "u=8", "u=-1", "u=1, u=2", "i, i", "u=1 i", "urgent", "i=?1"])
def test_what_is_none_is_refused_with_the_form(text: str) -> None:
    with pytest.raises(InputError, match=r"priority .* is none") as caught:
        parse_priority(text)
    assert caught.value.hint is not None
    assert '"u=1"' in caught.value.hint
