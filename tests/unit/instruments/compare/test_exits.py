"""Exit codes for `git bisect run`: only a finding is below 128."""

import sys

import pytest

from longlook.instruments.compare import exits
from longlook.instruments.compare.gate import GateAnswer


def _code(end: BaseException) -> object:
    """Return the exit code of a program that this exception ends."""
    with pytest.raises(SystemExit) as caught, exits.for_git_bisect():
        raise end
    return caught.value.code


def test_answers_are_findings() -> None:
    codes = {answer: answer.git_bisect_code for answer in GateAnswer}
    assert codes == {
        GateAnswer.PASSED: 0,
        GateAnswer.WORSE: 1,
        GateAnswer.UNDECIDED: 125,
        GateAnswer.UNMEASURED: 125,
    }
    assert [answer.exit_code for answer in GateAnswer] == [1, 1, 4, 0]


def test_whatever_is_no_finding_ends_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["longlook", "compare", exits.GIT_BISECT_EXIT])
    assert [_code(exits.CommitAnswer(code)) for code in (0, 1, 125)] == [0, 1, 125]
    assert [_code(SystemExit(code)) for code in (0, 1, 2, 3, 130, "words")] == [128, 129, 130, 131, 130, 129]
    assert _code(ZeroDivisionError()) == 129


def test_without_the_option_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["longlook", "compare"])
    assert _code(SystemExit(2)) == 2
    with pytest.raises(ZeroDivisionError), exits.for_git_bisect():
        raise ZeroDivisionError
