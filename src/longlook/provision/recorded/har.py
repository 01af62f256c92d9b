"""HTTP Archives of browsers and other tools → the requests that a page load consists of
(docs/guide/browsers.md)."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any
from urllib.parse import urldefrag, urljoin, urlsplit

from longlook.core import InputError, compressed_files


def as_mapping(value: object) -> Mapping[str, Any]:
    """Return an object; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def as_text(value: object) -> str | None:
    """Return a text that is not empty; None for anything else."""
    return value if isinstance(value, str) and value else None


def as_number(value: object) -> float | None:
    """Return a number, also one that a tool wrote as text; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if abs(found) < _LARGEST_NUMBER else None


_LARGEST_NUMBER = 1e15


def as_count(value: object) -> int | None:
    """Return a whole number; as `number`."""
    found = as_number(value)
    return None if found is None else int(found)


class SizeFrom(StrEnum):
    """The field that a size is taken from."""

    BODY = "bodySize"
    TRANSFER = "_transferSize"
    OBJECT = "_objectSize"
    ARRIVED = "_bytesIn"
    CONTENT = "content.size"
    CONTRADICTED = "content.size less compression"  # bodySize is that of the decoded content


@dataclass(frozen=True)
class TransferredSize:
    """The bytes of a body as it was transferred; 0 if it is empty, or if a tool writes 0 for what it does not know."""

    size_bytes: int
    source: SizeFrom


def transferred(entry: Mapping[str, Any], response: Mapping[str, Any]) -> TransferredSize | None:
    """Return the size of an entry's body; None if no field has it.

    HAR's own field counts first, unless it contradicts what compression saved (HAR 1.2: `compression` is `content.size`
    less `bodySize`). Chrome has it for HTTP/1.1 alone, else the whole response with its headers. WebPageTest has the
    body, and what arrived with headers. The last is the body after decoding, less what compression saved if that is
    known.
    """
    content = as_mapping(response.get("content"))
    size, saved = as_count(content.get("size")), max(as_count(content.get("compression")) or 0, 0)
    decoded = None if size is None or size < 0 else max(size - saved, 0)
    body, whole = as_count(response.get("bodySize")), as_count(response.get("_transferSize"))
    if body and body > 0:
        if not (saved and decoded and size is not None and body >= size):
            return TransferredSize(body, SizeFrom.BODY)
        return TransferredSize(decoded, SizeFrom.CONTRADICTED)
    known = (
        (whole, SizeFrom.TRANSFER),
        (as_count(entry.get("_objectSize")), SizeFrom.OBJECT),
        (_less_headers(as_count(entry.get("_bytesIn")), response), SizeFrom.ARRIVED),
    )
    for value, source in known:
        if value is not None and value > 0:
            return TransferredSize(value, source)
    if body == 0 and decoded is None:
        return TransferredSize(0, SizeFrom.BODY)
    return None if decoded is None else TransferredSize(decoded, SizeFrom.CONTENT)


def _less_headers(arrived: int | None, response: Mapping[str, Any]) -> int | None:
    return None if arrived is None else arrived - max(as_count(response.get("headersSize")) or 0, 0)


FACTOR = 2
"""Sums that differ by more are contradictions: headers, retransmissions and rounding make less."""


@dataclass(frozen=True)
class MeasuredAnswer:
    """One answer of the page load as a HAR has it, beside the bytes that are replayed of it."""

    size_bytes: int
    arrived_bytes: int | None  # `_bytesIn`: with headers
    may_be_empty: bool  # by its method, status and kind


@dataclass(frozen=True)
class PageContradiction:
    """A disagreement, under the name of its check."""

    check: str
    problem: str


def contradictions(
    answers: Sequence[MeasuredAnswer], page_bytes: int | None, late_bytes: int = 0
) -> Iterator[PageContradiction]:
    """Yield what disagrees in a page load.

    `page_bytes` is the whole page's `_bytesIn`, if the tool counted that, and `late_bytes` what came after its load
    event, which the page has and the answers lack.
    """
    empty = [answer for answer in answers if not answer.size_bytes and not answer.may_be_empty]
    if empty:
        problem = f"{len(empty)} of {len(answers)} answers have no bytes, though their status and type promise some"
        yield PageContradiction("sizes_of_0", problem)
    larger = [
        answer for answer in answers if answer.arrived_bytes and answer.size_bytes > FACTOR * answer.arrived_bytes
    ]
    if larger:
        problem = f"{len(larger)} of {len(answers)} answers have over {FACTOR} times the bytes that arrived of them"
        yield PageContradiction("size_above_arrived", problem)
    total = late_bytes + sum(answer.size_bytes for answer in answers)
    if page_bytes and not page_bytes <= FACTOR * total:
        yield PageContradiction(
            "objects_below_page", f"its objects have {total} bytes, where the page had {page_bytes}"
        )
    elif page_bytes and total > FACTOR * page_bytes:
        yield PageContradiction(
            "objects_above_page", f"its objects have {total} bytes, where the page had {page_bytes}"
        )


def unrecorded(answers: Sequence[MeasuredAnswer]) -> tuple[int, int] | None:
    """Return how many answers of how many lack their size, if those are most of a page of several; else None."""
    empty = sum(not answer.size_bytes and not answer.may_be_empty for answer in answers)
    return (empty, len(answers)) if len(answers) > 1 and 2 * empty > len(answers) else None


LARGEST_BYTES = 64 << 20
MOST_ENTRIES = 2_000
LARGEST_OBJECT_BYTES = 256 << 20
"""Bounds of a HAR: bytes of the file, entries in it, bytes of one object."""

_KINDS: Mapping[str, tuple[str, ...]] = {
    "html": ("text/html", "application/xhtml"),
    "css": ("text/css",),
    "script": ("javascript", "ecmascript", "application/wasm"),
    "json": ("json",),
    "image": ("image/",),
    "font": ("font", "application/vnd.ms-fontobject"),
    "media": ("video/", "audio/"),
}


class HarError(ValueError):
    """A HAR that cannot be read, or that has no page load; the text names the limit or the entry."""


@dataclass(frozen=True)
class HarEntry:
    """One request of the page load, in the order of the requests. Times are ns since 1970."""

    number: int  # in the file's entries, from 0
    url: str  # without fragment
    kind: str  # html, css, script, json, image, font, media or other
    size_bytes: int  # of the body as it was transferred; 0: none
    started_ns: int
    ended_ns: int
    initiator: str | None  # URL of what named it, where the tool recorded that
    redirects_to: str | None

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


@dataclass(frozen=True)
class Recording:
    """One page load as a HAR has it. `skipped` and `changed` count entries by reason."""

    digest: str  # of the file's bytes
    creator: str
    entries: tuple[HarEntry, ...]
    skipped: Mapping[str, int] = field(default_factory=dict)
    changed: Mapping[str, int] = field(default_factory=dict)
    implausible: tuple[PageContradiction, ...] = ()


def read_har(path: Path) -> Recording:
    """Return the first page load of a HAR file. Raise HarError for a file that is none, or that is beyond a bound."""
    try:
        data = compressed_files.read_unpacked(path, LARGEST_BYTES)
    except (InputError, OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error).removeprefix(f"{path} ")
        raise HarError(f"{path}: cannot be read: {reason}") from error
    try:
        return parse_har(data)
    except HarError as error:
        raise HarError(f"{path.name}: {error}") from error


def parse_har(data: bytes) -> Recording:
    """Return the first page load of a HAR; HarError as of `read_har`."""
    try:
        document = json.loads(data.decode("utf-8-sig"), parse_constant=lambda _: None)
    except (ValueError, RecursionError) as error:
        raise HarError(f"not JSON: {error}") from error
    if kind := _other_kind(as_mapping(document)):
        raise HarError(f"is {kind}, not an HTTP Archive: {_OTHER_WAYS[kind]}")
    log = as_mapping(as_mapping(document).get("log"))
    entries = log.get("entries")
    if not isinstance(entries, list):
        raise HarError("no HTTP Archive: it has no list log.entries; export it again as HAR 1.2")
    if len(entries) > MOST_ENTRIES:
        raise HarError(f"{len(entries)} entries; allowed: at most {MOST_ENTRIES}; record one page load alone")
    reader = _Reader(_pages(log.get("pages")))
    for number, entry in enumerate(entries):
        reader.read(number, as_mapping(entry))
    if not reader.found:
        reasons = "; ".join(f"{count} × {reason}" for reason, count in sorted(reader.skipped.items()))
        raise HarError(f"no request of {len(entries)} can be loaded again{f': {reasons}' if reasons else ''}")
    if (lacking := unrecorded(reader.measured)) is not None:
        raise HarError(
            f"{lacking[0]} of {lacking[1]} answers have a size of 0, though their status and type promise bytes: sizes "
            "were not recorded; record the page load again with a browser's developer tools"
        )
    reader.found.sort(key=lambda entry: (entry.started_ns, entry.number))
    creator = as_mapping(log.get("creator"))
    return Recording(
        digest=f"sha256:{hashlib.sha256(data).hexdigest()}",
        creator=" ".join(text for name in ("name", "version") if (text := as_text(creator.get(name)))) or "unknown",
        entries=tuple(reader.found),
        skipped=dict(sorted(reader.skipped.items())),
        changed=dict(sorted(reader.changed.items())),
        implausible=tuple(contradictions(reader.measured, reader.page_bytes, reader.late_bytes)),
    )


class _Reader:
    """Keeps what belongs to the first page load and can be asked for again, and counts the rest by reason."""

    def __init__(self, pages: Sequence[Mapping[str, Any]]) -> None:
        first = pages[0] if pages else {}
        self._page, self._several = as_text(first.get("id")), len(pages) > 1
        started_ns, load_ms = (
            _time_ns(first.get("startedDateTime")),
            as_number(as_mapping(first.get("pageTimings")).get("onLoad")),
        )
        known = started_ns is not None and load_ms is not None and load_ms > 0
        self._loaded_ns = (started_ns or 0) + round((load_ms or 0) * 1e6) if known else None
        self.page_bytes = as_count(first.get("_bytesIn"))
        self.found: list[HarEntry] = []
        self.late_bytes = 0
        self.measured: list[MeasuredAnswer] = []
        self.skipped: Counter[str] = Counter()
        self.changed: Counter[str] = Counter()

    def read(self, number: int, entry: Mapping[str, Any]) -> None:
        """Take an entry, or count the reason why not. Raise HarError for an object beyond the bound."""
        request, response = as_mapping(entry.get("request")), as_mapping(entry.get("response"))
        url, started_ns = as_text(request.get("url")), _time_ns(entry.get("startedDateTime"))
        if (reason := self._unusable(entry, request, response, url, started_ns)) is not None:
            self.skipped[reason] += 1
            late = transferred(entry, response) if reason == _LATE else None
            self.late_bytes += late.size_bytes if late else 0
            return
        size = transferred(entry, response)
        if size is None:
            self.skipped["its size was not recorded"] += 1
            return
        size_bytes = size.size_bytes
        if size_bytes > LARGEST_OBJECT_BYTES:
            raise HarError(f"entry {number}: {size_bytes} bytes; allowed: at most {LARGEST_OBJECT_BYTES}")
        if (method := as_text(request.get("method")) or "GET") != "GET":
            self.changed[f"{method} is replayed as GET, without what it sent"] += 1
        if size.source is SizeFrom.CONTRADICTED:
            self.changed[_DECODED] += 1
        kind = _kind(as_text(as_mapping(response.get("content")).get("mimeType")))
        may_be_empty = method != "GET" or as_count(response.get("status")) != 200 or kind in _MAY_BE_EMPTY
        self.measured.append(MeasuredAnswer(size_bytes, as_count(entry.get("_bytesIn")), may_be_empty))
        url, started_ns = urldefrag(url or "").url, started_ns or 0
        location = as_text(response.get("redirectURL"))
        is_redirect = 300 <= (as_count(response.get("status")) or 0) < 400 and location
        took_ns = round(max(as_number(entry.get("time")) or 0, 0) * 1e6)
        self.found.append(
            HarEntry(
                number=number,
                url=url,
                kind=kind,
                size_bytes=size_bytes,
                started_ns=started_ns,
                ended_ns=started_ns + took_ns,
                initiator=_initiator(entry.get("_initiator")),
                redirects_to=_joined(url, location) if is_redirect and location else None,
            )
        )

    def _unusable(
        self,
        entry: Mapping[str, Any],
        request: Mapping[str, Any],
        response: Mapping[str, Any],
        url: str | None,
        started_ns: int | None,
    ) -> str | None:
        """Return why an entry cannot be loaded again; None if it can."""
        kind, status = as_text(entry.get("_resourceType")), as_count(response.get("status"))
        scheme, is_web = (url or "").partition(":")[0].lower(), _has_host(url or "")
        is_socket = scheme in ("ws", "wss") or kind == "websocket" or status == 101 or "_webSocketMessages" in entry
        is_cached = status == 304 or entry.get("_fromCache") or as_mapping(entry.get("cache")).get("beforeRequest")
        rules = (
            (url is None or started_ns is None or not request or not response, _MALFORMED),
            (is_socket, "WebSocket"),
            (scheme not in ("http", "https"), f"{scheme if scheme in _OTHER_SCHEMES else 'other'}: URL"),
            (not is_web, _MALFORMED),
            (self._several and as_text(entry.get("pageref")) != self._page, "of another page load of the file"),
            (kind == "eventsource", "event stream"),
            (status is None or status <= 0 or as_text(response.get("_error")), "aborted or failed"),
            (is_cached, "from the browser's cache"),
            (started_ns is not None and self._loaded_ns is not None and started_ns > self._loaded_ns, _LATE),
        )
        return next((reason for holds, reason in rules if holds), None)


_MALFORMED = "malformed entry: no URL, no start or no response"
_LATE = "after the load event"
_DECODED = "its bodySize was that of the decoded content: replayed with what compression left of it"
_MAY_BE_EMPTY = frozenset({"json", "other"})
"""Kinds of answers that have no bytes in many page loads: beacons, counters."""
_OTHER_SCHEMES = ("data", "blob", "about", "file", "chrome-extension", "moz-extension")


_NETLOG, _QLOG = "a netlog of Chromium", "a qlog"
_OTHER_WAYS = {
    _NETLOG: "longlook trace convert FILE --to har --out PAGE.har makes one of it",
    _QLOG: "record the page load as HAR; longlook trace show reads this file",
}


def _other_kind(document: Mapping[str, Any]) -> str | None:
    """Return which other record of a page load a file is that has no log."""
    if "log" in document:
        return None
    if "constants" in document and "events" in document:
        return _NETLOG
    return _QLOG if {"qlog_version", "file_schema"} & document.keys() else None


def _pages(value: object) -> list[Mapping[str, Any]]:
    return [page for page in value if isinstance(page, dict)] if isinstance(value, list) else []


def _initiator(value: object) -> str | None:
    """Return the URL of what named an object: Chrome has a table, with the calls of scripts, WebPageTest a text."""
    if isinstance(value, str):
        return urldefrag(value).url if _has_host(value) else None
    table = as_mapping(value)
    stack: Mapping[str, Any] = as_mapping(table.get("stack"))
    for _ in range(_DEEPEST_STACK):
        frames = stack.get("callFrames")
        for frame in frames if isinstance(frames, list) else []:
            if (url := as_text(as_mapping(frame).get("url"))) and _has_host(url):
                return urldefrag(url).url
        stack = as_mapping(stack.get("parent"))
    url = as_text(table.get("url"))
    return urldefrag(url).url if url and _has_host(url) else None


_DEEPEST_STACK = 32


def _kind(mime_type: str | None) -> str:
    name = (mime_type or "").lower()
    return next((kind for kind, parts in _KINDS.items() if any(part in name for part in parts)), "other")


def _has_host(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme.lower() in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return False


def _joined(url: str, location: str) -> str | None:
    try:
        return urldefrag(urljoin(url, location)).url
    except ValueError:
        return None


def _time_ns(value: object) -> int | None:
    """Return a date as ns since 1970; one without a time zone as UTC."""
    try:
        date = datetime.fromisoformat(str(as_text(value)))
        date = date if date.tzinfo else date.replace(tzinfo=UTC)
        return round((date - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1e6) * 1000
    except (ValueError, OverflowError):
        return None
