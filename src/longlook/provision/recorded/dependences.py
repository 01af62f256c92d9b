"""What each request of a recorded page waited for: by the tool's own record, else by time. Pure."""

from collections.abc import Sequence
from enum import StrEnum

from longlook.provision.recorded.har import HarEntry

_NAMES_OTHERS = frozenset({"html", "css", "script", "json"})
"""The kinds whose contents can make a browser ask for more."""


class DependenceEvidence(StrEnum):
    """How it is known what an object waited for."""

    DOCUMENT = "document"  # it is the document
    REDIRECT = "redirect"  # another answer sent the browser here
    INITIATOR = "initiator"  # the tool recorded what named it
    TIMING = "timing"  # the last that had ended before it began, of those that can name others
    NOTHING_EARLIER = "nothing earlier"  # none had ended: the document named it


def after_what(entries: Sequence[HarEntry]) -> list[tuple[int | None, DependenceEvidence]]:
    """Return for each entry the place of the one that it waited for, and how that is known.

    `entries` stand in the order of their starts, the document first. Whatever an entry waits for stands before it, so
    there is no circle.
    """
    return [_after(place, entries) for place in range(len(entries))]


def _after(place: int, entries: Sequence[HarEntry]) -> tuple[int | None, DependenceEvidence]:
    own, earlier = entries[place], entries[:place]
    if not place:
        return None, DependenceEvidence.DOCUMENT
    for number, other in enumerate(earlier):
        if other.redirects_to == own.url:
            return number, DependenceEvidence.REDIRECT
    if own.initiator is not None:
        named = [number for number, other in enumerate(earlier) if other.url == own.initiator]
        if named:
            return named[-1], DependenceEvidence.INITIATOR
    ended = [
        (other.ended_ns, number)
        for number, other in enumerate(earlier)
        if other.kind in _NAMES_OTHERS and other.redirects_to is None and other.ended_ns <= own.started_ns
    ]
    return (max(ended)[1], DependenceEvidence.TIMING) if ended else (0, DependenceEvidence.NOTHING_EARLIER)
