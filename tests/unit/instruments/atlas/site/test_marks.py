"""Two marks of a claim, for its direction and for its size."""

import pytest

from longlook.core import Agreement, ClaimKind
from longlook.instruments.atlas.claims.marks import marks_of


@pytest.mark.parametrize(
    ("result", "kind", "symbols"),
    [
        (Agreement.SAME_SIZE, ClaimKind.NUMBER, "✓✓"),
        (Agreement.OTHER_SIZE, ClaimKind.NUMBER, "✓✗"),
        (Agreement.SAME_DIRECTION, ClaimKind.DIRECTION, "✓·"),
        (Agreement.NO_DIFFERENCE, ClaimKind.NO_DIFFERENCE, "✓·"),
        (Agreement.WITHIN_BOUNDS, ClaimKind.LEVEL, "·✓"),
        (Agreement.CONTRADICTED, ClaimKind.NUMBER, "✗✗"),
        (Agreement.CONTRADICTED, ClaimKind.DIRECTION, "✗·"),
        (Agreement.CONTRADICTED, ClaimKind.LEVEL, "·✗"),
        (Agreement.OPEN, ClaimKind.NUMBER, "??"),
        (Agreement.NOT_RUN, ClaimKind.NO_DIFFERENCE, "–·"),
    ],
)
def test_marks(result: Agreement, kind: ClaimKind, symbols: str) -> None:
    assert marks_of(result, kind).symbols == symbols


def test_every_result_has_marks() -> None:
    assert all(len(marks_of(result, kind).symbols) == 2 for result in Agreement for kind in ClaimKind)
