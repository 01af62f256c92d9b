"""What a finished trial is found to be."""

from dataclasses import dataclass

from longlook.core.model import Outcome


@dataclass(frozen=True)
class Judgement:
    """An outcome. Every outcome but ok has a reason and a hint.

    `complete`: all programs did their part to the end, though not as declared, so that the guard's observations of the
    laboratory tell whether its disturbance may be the cause.
    """

    outcome: Outcome
    reason: str | None = None
    hint: str | None = None
    complete: bool = False
