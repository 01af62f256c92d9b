"""What a trial with a change shows of causes: that the change did not touch one, or took another's sign away. Pure."""

from collections.abc import Mapping

from longlook.explain.cause import Sign

_SAME_DOSE = 0.1
_SAME_STRENGTH, _HALF = 0.9, 0.5
_GONE_STRENGTH = 0.2


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


def is_gone(before: Sign, after: Sign | None) -> bool:
    """Return whether a detector sees nothing with a change, or a fifth of the strength at most."""
    return after is None or after.strength_ns <= _GONE_STRENGTH * before.strength_ns


def consequences(gone: Mapping[str, frozenset[str]]) -> dict[str, str]:
    """Return the causes that are consequences of others, each with the other. `gone` has, by the cause that was cured,
    the causes whose signs went with it.

    One follows from another if its sign goes when that is cured, and the other's stays when it is cured itself.
    """
    return {
        one: other
        for other, signs in gone.items()
        for one in sorted(signs)
        if one in gone and one != other and other not in gone[one]
    }
