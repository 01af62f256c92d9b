"""The advice by its rule, and how numbers are said."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from longlook.analysis import AnswerOfUsers, LevelOfUsers, Users
from longlook.core import Effect
from longlook.instruments.decide.verdict import Advice, advise, amount, change, paragraph, share
from longlook.pipeline import UsersAnswered


def figure(name: str, pct: float, spread: float, *, endless: bool = False) -> LevelOfUsers:
    after = math.inf if endless else 1 - pct / 100
    effect = None if endless else Effect(pct, pct - spread, pct + spread, "%")
    return LevelOfUsers(name, Effect(1.0, 1.0, 1.0, "s"), Effect(after, after, after, "s"), effect)


def made(mean: float, slow: float, slowest: float, *, spread: float = 1.0, fails: float = 0.0) -> AnswerOfUsers:
    levels = (figure("mean", mean, spread), figure("p95", slow, 1), figure("p99", slowest, 1, endless=slowest == -1000))
    none, some = Effect(0.0, 0.0, 0.0, "%"), Effect(fails, fails, fails, "%")
    return AnswerOfUsers(
        "h3 vs h2", "page_load_time", "s", {}, levels, None, none, none, none, (none, some), 0.0, 0.0, True, 0.0, {},
        {}, (), (), 10, 3.0,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "advice"),
    [
        (made(20, 10, 10), Advice.YES),
        (made(20, -10, 10), Advice.TRADE),
        (made(20, 10, -1000), Advice.TRADE),
        (made(-20, 10, 10), Advice.NO),
        (made(0, 0, 0), Advice.ALIKE),
        (made(0, 0, -20), Advice.TRADE),
        (made(4, 0, 0, spread=5), Advice.OPEN),
        (made(20, 10, 10, fails=2), Advice.NO),
    ],
)
def test_advice_is_by_its_rule(answer: AnswerOfUsers, advice: Advice) -> None:
    assert advise(answer).advice is advice


def test_an_answer_for_a_part_of_the_users_says_for_which_part() -> None:
    whole, part = made(20, 10, 10), replace(made(20, 10, 10), outside_pct=50.0, unmeasured_pct=10.0)
    users = Users("people", "made up", np.ones(1), {})
    for answer, found in ((whole, []), (part, ["That is for 45 % of the users; nothing was found of the others."])):
        said = paragraph(UsersAnswered(users, Path("run"), [], [answer], {}, {}, []), [advise(answer)])
        assert [text for text in said if text.startswith("That is for")] == found


def test_numbers_are_said_with_their_units_and_signs() -> None:
    assert amount(Effect(0.25, None, None, "s")) == "250 ms"
    assert amount(Effect(2.5, None, None, "s")) == "2.50 s"
    assert amount(Effect(math.inf, None, None, "s")) == "never"
    assert change(Effect(-3.25, -4.0, -2.0, "%")) == "−3.2 % (−4.0 to −2.0)"
    assert change(Effect(-3.25, -math.inf, -2.0, "%")) == "−3.2 % (never to −2.0)"
    assert change(None) == "–"
    assert share(Effect(95.6, 95.6, 95.6, "%")) == "95.6 %"
    assert share(Effect(95.6, 94.0, 97.0, "%")) == "95.6 % (94.0 to 97.0)"
