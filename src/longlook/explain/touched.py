"""Whether a trial with a change shows the cause as it was: then the change did not touch it. Pure."""

from longlook.explain.cause import Sign

_SAME_DOSE = 0.1
_SAME_STRENGTH, _HALF = 0.9, 0.5


def as_before(before: Sign, after: Sign | None) -> bool:
    """Return whether a detector sees the same with a change as without.

    The same is a value that matters (window, threshold, count) within a tenth, at half of the strength or more; of a
    sign without a value it is nine tenths of the strength.
    """
    if after is None or after.strength_ns <= 0:
        return False
    if before.dose is None or after.dose is None:
        return after.strength_ns >= _SAME_STRENGTH * before.strength_ns
    same = abs(after.dose - before.dose) <= _SAME_DOSE * abs(before.dose)
    return same and after.strength_ns >= _HALF * before.strength_ns
