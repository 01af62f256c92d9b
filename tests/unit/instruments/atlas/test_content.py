from dataclasses import replace

import pytest

from longlook.core.model import Claim, ExpectedLevel, Verdict
from longlook.core.results import ClaimResult, Estimate
from longlook.instruments.atlas.content import ReplicationKind, kind_of
from tests.unit.analysis.claims.test_judge import CLAIM, ESTIMATE, NONE, one

EQUIVALENT = replace(ESTIMATE, verdict=Verdict.EQUIVALENT, effect_pct=0.5, ci_low_pct=-1.0, ci_high_pct=2.0)
OPEN = replace(EQUIVALENT, verdict=Verdict.INCONCLUSIVE, ci_low_pct=-20.0, ci_high_pct=20.0)


@pytest.mark.parametrize(
    ("claim", "estimate", "kind"),
    [
        (CLAIM, ESTIMATE, ReplicationKind.INSIDE),
        (replace(CLAIM, effect_pct=47.0), ESTIMATE, ReplicationKind.INSIDE),  # 45 and a reading error of 2
        (replace(CLAIM, effect_pct=47.1), ESTIMATE, ReplicationKind.OUTSIDE),
        (replace(CLAIM, effect_pct=32.9), ESTIMATE, ReplicationKind.OUTSIDE),
        (replace(CLAIM, effect_pct=99.0), ESTIMATE, ReplicationKind.CLIPPED),
        (replace(CLAIM, effect_pct=None, direction=Verdict.BETTER), ESTIMATE, ReplicationKind.DIRECTION),
        (NONE, EQUIVALENT, ReplicationKind.EQUIVALENT),
        (NONE, OPEN, ReplicationKind.OPEN),
    ],
)
def test_kind_says_how_much_was_found_again(claim: Claim, estimate: Estimate, kind: ReplicationKind) -> None:
    found = one(claim, estimate)
    assert found.result == "reproduced"
    assert kind_of(found) is kind


def test_a_level_has_bounds_of_the_studys_choice() -> None:
    level = replace(
        CLAIM, contrast="", effect_pct=None, expected=ExpectedLevel("quic", "page_load_time", 1.0, at_most=2.0)
    )
    assert kind_of(ClaimResult(level, None, "reproduced", "within")) is ReplicationKind.LEVEL
