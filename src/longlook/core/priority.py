"""Priorities of requests: the value of the header field `priority` (RFC 9218, 4). Pure."""

import re
from dataclasses import dataclass

from longlook.core.errors import InputError

USUAL_URGENCY = 3
"""The urgency of a request that states none (RFC 9218, 4.1)."""

BLOCKING_URGENCY = 2
"""Objects up to this urgency are more urgent than usual ones: what blocks rendering, as browsers ask for it."""

_PART = re.compile(r"u=(?P<urgency>[0-7])|(?P<incremental>i)")
_FORM = 'urgency and incremental of RFC 9218, such as "u=1", "u=3, i" or "i"'


@dataclass(frozen=True)
class Priority:
    """An urgency from 0, the most urgent, to 7, and whether parts of the answer are of use by themselves."""

    urgency: int = USUAL_URGENCY
    incremental: bool = False

    @property
    def field(self) -> str:
        """The value of the header field, with what is as usual left out only if something is left."""
        parts = [f"u={self.urgency}"] if self.urgency != USUAL_URGENCY or not self.incremental else []
        return ", ".join([*parts, *(["i"] if self.incremental else [])])


def parse_priority(text: str) -> Priority:
    """Return the priority in a text such as `u=1, i`. Raise InputError for one that is none."""
    found = [_PART.fullmatch(part.strip()) for part in text.split(",")]
    urgencies = [int(part["urgency"]) for part in found if part and part["urgency"]]
    incremental = [part for part in found if part and part["incremental"]]
    if None in found or len(urgencies) > 1 or len(incremental) > 1:
        raise InputError(f"priority {text.strip()!r} is none", _FORM)
    return Priority(urgencies[0] if urgencies else USUAL_URGENCY, bool(incremental))
