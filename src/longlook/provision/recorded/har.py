"""HTTP Archives of browsers and other tools → the requests that a page load consists of (docs/recorded-pages.md)."""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urldefrag, urljoin, urlsplit

from longlook.core import files

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
class Entry:
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
    """What a HAR has of one page load. `skipped` and `changed` count entries by reason."""

    digest: str  # of the file's bytes
    creator: str
    entries: tuple[Entry, ...]
    skipped: Mapping[str, int] = field(default_factory=dict)
    changed: Mapping[str, int] = field(default_factory=dict)


def read_har(path: Path) -> Recording:
    """Return the first page load of a HAR file. Raise HarError for a file that is none, or that is beyond a bound."""
    try:
        data = files.read_named(path, LARGEST_BYTES)
    except (OSError, ValueError) as error:
        if isinstance(error, HarError):
            raise
        reason = error.strerror if isinstance(error, OSError) else str(error)
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
    log = _mapping(_mapping(document).get("log"))
    entries = log.get("entries")
    if not isinstance(entries, list):
        raise HarError("no HTTP Archive: it has no list log.entries; export it again as HAR 1.2")
    if len(entries) > MOST_ENTRIES:
        raise HarError(f"{len(entries)} entries; allowed: at most {MOST_ENTRIES}; record one page load alone")
    reader = _Reader(_pages(log.get("pages")))
    for number, entry in enumerate(entries):
        reader.read(number, _mapping(entry))
    if not reader.found:
        reasons = "; ".join(f"{count} × {reason}" for reason, count in sorted(reader.skipped.items()))
        raise HarError(f"no request of {len(entries)} can be loaded again{f': {reasons}' if reasons else ''}")
    reader.found.sort(key=lambda entry: (entry.started_ns, entry.number))
    creator = _mapping(log.get("creator"))
    return Recording(
        digest=f"sha256:{hashlib.sha256(data).hexdigest()}",
        creator=" ".join(text for name in ("name", "version") if (text := _text(creator.get(name)))) or "unknown",
        entries=tuple(reader.found),
        skipped=dict(sorted(reader.skipped.items())),
        changed=dict(sorted(reader.changed.items())),
    )


class _Reader:
    """Keeps what belongs to the first page load and can be asked for again, and counts the rest by reason."""

    def __init__(self, pages: Sequence[Mapping[str, Any]]) -> None:
        first = pages[0] if pages else {}
        self._page, self._several = _text(first.get("id")), len(pages) > 1
        started_ns, load_ms = (
            _time_ns(first.get("startedDateTime")),
            _number(_mapping(first.get("pageTimings")).get("onLoad")),
        )
        known = started_ns is not None and load_ms is not None and load_ms > 0
        self._loaded_ns = (started_ns or 0) + round((load_ms or 0) * 1e6) if known else None
        self.found: list[Entry] = []
        self.skipped: Counter[str] = Counter()
        self.changed: Counter[str] = Counter()

    def read(self, number: int, entry: Mapping[str, Any]) -> None:
        """Take an entry, or count the reason why not. Raise HarError for an object beyond the bound."""
        request, response = _mapping(entry.get("request")), _mapping(entry.get("response"))
        url, started_ns = _text(request.get("url")), _time_ns(entry.get("startedDateTime"))
        if (reason := self._unusable(entry, request, response, url, started_ns)) is not None:
            self.skipped[reason] += 1
            return
        size_bytes = _transferred_bytes(response)
        if size_bytes is None:
            self.skipped["its size was not recorded"] += 1
            return
        if size_bytes > LARGEST_OBJECT_BYTES:
            raise HarError(f"entry {number}: {size_bytes} bytes; allowed: at most {LARGEST_OBJECT_BYTES}")
        if (method := _text(request.get("method")) or "GET") != "GET":
            self.changed[f"{method} is replayed as GET, without what it sent"] += 1
        url, started_ns = urldefrag(url or "").url, started_ns or 0
        location = _text(response.get("redirectURL"))
        is_redirect = 300 <= (_count(response.get("status")) or 0) < 400 and location
        took_ns = round(max(_number(entry.get("time")) or 0, 0) * 1e6)
        self.found.append(
            Entry(
                number=number,
                url=url,
                kind=_kind(_text(_mapping(response.get("content")).get("mimeType"))),
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
        """Return why an entry cannot be loaded again; None where it can."""
        kind, status = _text(entry.get("_resourceType")), _count(response.get("status"))
        scheme, is_web = (url or "").partition(":")[0].lower(), _has_host(url or "")
        is_socket = scheme in ("ws", "wss") or kind == "websocket" or status == 101 or "_webSocketMessages" in entry
        is_cached = status == 304 or entry.get("_fromCache") or _mapping(entry.get("cache")).get("beforeRequest")
        rules = (
            (url is None or started_ns is None or not request or not response, _MALFORMED),
            (is_socket, "WebSocket"),
            (scheme not in ("http", "https"), f"{scheme if scheme in _OTHER_SCHEMES else 'other'}: URL"),
            (not is_web, _MALFORMED),
            (self._several and _text(entry.get("pageref")) != self._page, "of another page load of the file"),
            (kind == "eventsource", "event stream"),
            (status is None or status <= 0 or _text(response.get("_error")), "aborted or failed"),
            (is_cached, "from the browser's cache"),
            (started_ns is not None and self._loaded_ns is not None and started_ns > self._loaded_ns, _LATE),
        )
        return next((reason for holds, reason in rules if holds), None)


_MALFORMED = "malformed entry: no URL, no start or no response"
_LATE = "after the load event"
_OTHER_SCHEMES = ("data", "blob", "about", "file", "chrome-extension", "moz-extension")


def _pages(value: object) -> list[Mapping[str, Any]]:
    return [page for page in value if isinstance(page, dict)] if isinstance(value, list) else []


def _transferred_bytes(response: Mapping[str, Any]) -> int | None:
    """Return the bytes of a body as it was transferred; None where no field has them.

    HAR's own field counts first. Chrome has it for HTTP/1.1 alone, else the whole response with its headers. The last
    is the body after decoding, less what compression saved if that is known.
    """
    content = _mapping(response.get("content"))
    size, saved = _count(content.get("size")), _count(content.get("compression")) or 0
    decoded = None if size is None or size < 0 else max(size - max(saved, 0), 0)
    body, whole = _count(response.get("bodySize")), _count(response.get("_transferSize"))
    for value in (body, whole):
        if value is not None and value > 0:
            return value
    return 0 if body == 0 and decoded is None else decoded


def _initiator(value: object) -> str | None:
    """Return the URL of what named an object: Chrome has a table, with the calls of scripts, WebPageTest a text."""
    if isinstance(value, str):
        return urldefrag(value).url if _has_host(value) else None
    table = _mapping(value)
    stack: Mapping[str, Any] = _mapping(table.get("stack"))
    for _ in range(_DEEPEST_STACK):
        frames = stack.get("callFrames")
        for frame in frames if isinstance(frames, list) else []:
            if (url := _text(_mapping(frame).get("url"))) and _has_host(url):
                return urldefrag(url).url
        stack = _mapping(stack.get("parent"))
    url = _text(table.get("url"))
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
        date = datetime.fromisoformat(str(_text(value)))
        date = date if date.tzinfo else date.replace(tzinfo=UTC)
        return round((date - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1e6) * 1000
    except (ValueError, OverflowError):
        return None


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _number(value: object) -> float | None:
    """Return a number, also one that a tool wrote as text; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if abs(number) < _LARGEST_NUMBER else None


_LARGEST_NUMBER = 1e15


def _count(value: object) -> int | None:
    number = _number(value)
    return None if number is None else int(number)
