"""Work that takes long says so, on standard error, and work that does not says nothing."""

import time

import pytest

from longlook.terminal.patience import at_work


def test_long_work_speaks_less_and_less_often(capsys: pytest.CaptureFixture[str]) -> None:
    text = ""
    with at_work("drawing the page", first_s=0.02):
        deadline = time.monotonic() + 60
        while text.count("drawing the page … ") < 3 and time.monotonic() < deadline:
            time.sleep(0.02)
            text += capsys.readouterr().err
    assert text.count("drawing the page … ") >= 3
    assert capsys.readouterr().out == ""


def test_short_work_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with at_work("drawing the page"):
        pass
    with pytest.raises(ValueError, match="wrong"), at_work("drawing the page"):
        raise ValueError("wrong")
    assert capsys.readouterr() == ("", "")
