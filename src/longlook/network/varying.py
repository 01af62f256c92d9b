"""Parameters of a stage that vary with time: their mean, their bounds, and their trace.

docs/reference/link-formats.md has the forms: a number, or a mapping with `steps`, `uniform`, `walk` or `opportunities`;
`{"trace": "sha256:…"}` stands for one of them, or for a text, in the store of traces. Light: the agent needs it too.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from longlook.core import Json, Stage, trace_of

if TYPE_CHECKING:
    from fractions import Fraction


def resolved(stage: Stage, read: Callable[[str], Json]) -> Stage:
    """Return the stage with its traces in full."""
    values = {
        name: value if (digest := trace_of(value)) is None else read(digest) for name, value in stage.parameters.items()
    }
    return Stage(stage.kind, values)


def mean(value: Json) -> "Fraction":
    """Return the mean over time.

    For steps that repeat, it is the mean over one repetition; for others, the mean until the last step begins, because
    that one never ends. For a walk it is the middle between its bounds, its average in the long run.
    """
    from fractions import Fraction  # not for the agent, which pays for every import with each trial

    if not isinstance(value, dict):
        return Fraction(value)
    if "steps" in value:
        return _mean_of_steps(value)
    form: dict[str, Any] = next(iter(value.values()))
    if "opportunities" in value:
        size_bits = sum(count for _, count in form["runs"]) * form["bytes"] * 8
        return Fraction(size_bits * 10**9, form["repeat_ns"])
    return (Fraction(form["minimum"]) + Fraction(form["maximum"])) / 2


def _mean_of_steps(value: dict[str, Any]) -> "Fraction":
    from fractions import Fraction

    steps = value["steps"]
    end_ns = value.get("repeat_ns", steps[-1][0])
    if end_ns == 0:  # one value that never ends
        return Fraction(steps[0][1])
    ends_ns = [*(at_ns for at_ns, _ in steps[1:]), end_ns]
    total: Fraction | int = sum(  # of whole numbers where it can be: there may be thousands
        (item if isinstance(item, int) else Fraction(item)) * (until_ns - at_ns)
        for (at_ns, item), until_ns in zip(steps, ends_ns, strict=True)
    )
    return Fraction(total) / Fraction(end_ns)


def largest(value: Json) -> float:
    """Return the largest value that it ever takes; for opportunities to send, the mean rate."""
    return float(mean(value)) if isinstance(value, dict) and "opportunities" in value else max(_bounds(value))


def smallest(value: Json) -> float:
    """Return the smallest value that it ever takes; for opportunities to send, 0."""
    return 0 if isinstance(value, dict) and "opportunities" in value else min(_bounds(value))


def _bounds(value: Json) -> tuple[float, ...]:
    if not isinstance(value, dict):
        return (value,)
    if "steps" in value:
        return tuple(item for _, item in value["steps"])
    form = next(iter(value.values()))
    return (form["minimum"], form["maximum"])
