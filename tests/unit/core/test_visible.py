"""Text of others is shown as it is; what would steer a terminal or a page is written out."""

import pytest

from longlook.core.visible import steers, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
        ("over\rwritten\x08", r"over\rwritten\x08"),
        ("\x9b31m \x7f \x00", r"\x9b31m \x7f \x00"),
        ("\u202egnp.exe", r"\u202egnp.exe"),
        ("\ud800", r"\ud800"),
        ("\U000e0041", r"\U000e0041"),
    ],
)
def test_characters_that_steer_are_written_out(text: str, shown: str) -> None:
    assert steers(text)
    assert visible(text) == shown
    assert visible(shown) == shown


def test_other_characters_stay() -> None:
    text = "Größe ≥ 5\u00a0KB\t[bold]\n日本語 👩\u200d🔬"
    assert not steers(text)
    assert visible(text) == text
