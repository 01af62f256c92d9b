"""When a gap counts as explained."""

import pytest

from longlook.explain.answer import Explained, Together, is_needed, unexplained_pct
from longlook.explain.attribution import Conclusion, Share
from tests.data.answers import explained, judged

NOT_CONFIRMED = explained(conclusion=Conclusion.REFUTED, cures=(judged("x", 90.0, conclusion=Conclusion.REFUTED),))


@pytest.mark.parametrize(
    ("findings", "together", "left", "needed"),
    [
        ((), None, 100, True),
        ((NOT_CONFIRMED,), None, 100, True),
        ((explained(cures=(judged("x", 70.0),)),), None, 30, True),
        ((explained(cures=(judged("x", 85.0),)), explained(cures=(judged("y", 20.0),))), None, 15, False),
        ((explained(cures=(judged("x", 70.0),)),), Together(("x", "y"), Share(81.0, 70, 90), 1.0), 19, False),
        ((explained(cures=(judged("x", 70.0),)),), Together(("x", "y"), Share(80.0, 70, 90), 1.0), 20, True),
        ((explained(cures=(judged("x", 130.0),)),), None, 0, False),
    ],
)
def test_a_fifth_that_confirmed_causes_leave_is_much(
    findings: tuple[Explained, ...], together: Together | None, left: float, needed: bool
) -> None:
    assert unexplained_pct(findings, together) == left
    assert is_needed(findings, together) is needed
