"""A recording → the page that trials load: sizes, order and phases, and nothing that could be private. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from longlook.provision.content import PNG_OVERHEAD_BYTES
from longlook.provision.recorded.har import HarEntry, HarError, Recording

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
    """Return for each entry the place of the entry that it waited for, and how that is known.

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


LEAST_BYTES = PNG_OVERHEAD_BYTES
"""Objects are served as images, of which none is smaller."""
MOST_PAGE_BYTES = 1 << 30


@dataclass(frozen=True)
class RecordedObject:
    """One object of a page. `entry` is its number in the HAR; its URL is not kept."""

    entry: int
    origin: int  # its place in the page's origins
    kind: str
    size_bytes: int
    phase: int  # 0: the document
    after: int | None  # the place of the object that it waited for
    evidence: str  # how that is known


@dataclass(frozen=True)
class RecordedPage:
    """The page that a trial of workload `recorded_page` loads: its digest is part of the trial's identity.

    Objects stand in the order in which they are asked for. `skipped` and `changed` count entries of the HAR by reason.
    """

    har: str  # digest of the file
    creator: str
    origins: tuple[str, ...]
    objects: tuple[RecordedObject, ...]
    skipped: Mapping[str, int] = field(default_factory=dict)
    changed: Mapping[str, int] = field(default_factory=dict)

    @property
    def phases(self) -> list[list[RecordedObject]]:
        """The objects of each phase, in the order in which they are asked for."""
        last = max(item.phase for item in self.objects)
        return [[item for item in self.objects if item.phase == number] for number in range(last + 1)]

    @property
    def size_bytes(self) -> int:
        """Bytes of all objects."""
        return sum(item.size_bytes for item in self.objects)


def recorded_page(recording: Recording) -> RecordedPage:
    """Return the page of a recording: its document, and all that was asked for after it.

    An object's phase is one more than the phase of the object that it waited for. Raise HarError for a page with too
    many bytes.
    """
    entries, before = _from_document(recording.entries)
    skipped = Counter(recording.skipped)
    if before:
        skipped["redirect before the document"] += before
    changed = Counter(recording.changed)
    origins = list(dict.fromkeys(entry.origin for entry in entries))
    objects: list[RecordedObject] = []
    for entry, (after, evidence) in zip(entries, after_what(entries), strict=True):
        if entry.size_bytes < LEAST_BYTES:
            changed[f"served with {LEAST_BYTES} bytes, as it had fewer"] += 1
        objects.append(
            RecordedObject(
                entry=entry.number,
                origin=origins.index(entry.origin),
                kind=entry.kind,
                size_bytes=max(entry.size_bytes, LEAST_BYTES),
                phase=0 if after is None else objects[after].phase + 1,
                after=after,
                evidence=str(evidence),
            )
        )
    page = RecordedPage(
        har=recording.digest,
        creator=recording.creator,
        origins=tuple(origins),
        objects=tuple(objects),
        skipped=dict(sorted(skipped.items())),
        changed=dict(sorted(changed.items())),
    )
    if page.size_bytes > MOST_PAGE_BYTES:
        raise HarError(f"{page.size_bytes} bytes in all; allowed: at most {MOST_PAGE_BYTES}")
    return page


def evidence_counts(page: RecordedPage) -> dict[str, int]:
    """Return how many objects' dependences are known in which way, in the order of `DependenceEvidence`."""
    counts = Counter(item.evidence for item in page.objects)
    return {str(kind): counts[str(kind)] for kind in DependenceEvidence if counts[str(kind)]}


def _from_document(entries: Sequence[HarEntry]) -> tuple[Sequence[HarEntry], int]:
    """Return the entries from the document on, which is the first that redirects nowhere, and how many stand before."""
    place = next((number for number, entry in enumerate(entries) if entry.redirects_to is None), 0)
    return entries[place:], place
