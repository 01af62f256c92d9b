"""A netlog of Chromium → an HTTP Archive of its page loads (docs/reference/capture.md has the rules).

`longlook-trace decode --requests` writes the events of a netlog's requests, with the numbers of its own constants
resolved. A request has a hop for each redirection, and each hop becomes an entry.
"""

import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from longlook import __version__
from longlook.core import InputError
from longlook.timeline.export.har import NOT_AVAILABLE, date, ms

_BEGIN, _END = 1, 2
_MOST_DIGITS = 18
_ABORTED = -3  # ERR_ABORTED, Chromium's number for what its own side ended
_SENT = {
    "HTTP_TRANSACTION_SEND_REQUEST_HEADERS": "http/1.1",
    "HTTP_TRANSACTION_HTTP2_SEND_REQUEST_HEADERS": "h2",
    "HTTP_TRANSACTION_QUIC_SEND_REQUEST_HEADERS": "h3",
}
_COMMENT = (
    "Longlook, of a netlog: times are of whole milliseconds, and sizes those of bodies as they were transferred. A "
    "netlog has no load event, so that everything that a page asked for is in it."
)


@dataclass
class _Hop:
    """One answer to a request: its events' times in ns of the log's own clock, and what they say."""

    url: str
    method: str
    site: str | None  # of the page that asked, by its isolation key; None in logs without one
    is_page: bool
    asked_ns: int
    sent_ns: int | None = None
    answered_ns: int | None = None
    ended_ns: int | None = None
    protocol: str = ""
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    is_filtered: bool = False
    raw_bytes: int = 0
    read_bytes: int = 0
    is_cached: bool = False
    redirect: str = ""
    error: int | None = None

    @property
    def body_bytes(self) -> int:
        """The bytes of the body that were transferred; bytes that no filter decoded are read as they came."""
        return self.raw_bytes if self.is_filtered or self.raw_bytes else self.read_bytes


@dataclass(frozen=True)
class NetlogHar:
    """The archive, and sentences about what is not in it or contradicts itself."""

    har: Mapping[str, Any]
    problems: tuple[str, ...]


def netlog_har(requests: Path, name: str, producer: str | None) -> NetlogHar:
    """Return the page loads of a netlog, by the lines of its requests; `name` is the log as messages call it.

    Raise InputError if it has no page load.
    """
    with requests.open(encoding="utf-8") as file:
        constants = json.loads(next(file))
        requests_hops = list(_requests(map(json.loads, file)).values())
    hops = [hop for request in requests_hops for hop in request]
    loads = [[hop for hop in request if hop.is_page] for request in requests_hops]
    starts = sorted((load[0] for load in loads if load), key=lambda hop: hop.asked_ns)  # others: redirections
    if not starts:
        raise InputError(
            f"{name}: it logs {len(hops)} requests, but no page load",
            "record from before the page is opened: chromium --log-net-log=FILE, or chrome://net-export",
        )
    offset_ns = constants["reference_unix_ns"] or 0
    errors = {number: text for text, number in (constants["errors"] or {}).items()}
    by_site: dict[str | None, list[int]] = {}
    for number, start in enumerate(starts):
        by_site.setdefault(start.site, []).append(number)
    entries, others = [], 0
    for hop in sorted(hops, key=lambda hop: hop.asked_ns):
        page = _page_of(hop, starts, by_site.get(hop.site, []))
        others += page is None
        if page is not None:
            entries.append(_entry(hop, f"page_{page + 1}", offset_ns, errors))
    problems = (
        [f"{others} requests belong to no page, as those of the browser itself, and are left out"] if others else []
    )
    if constants["reference_unix_ns"] is None:
        problems.append("the log does not say when its clock began: dates count from 1970")
    log = {
        "version": "1.2",
        "creator": {"name": "Longlook", "version": __version__},
        "browser": {"name": (producer or "Chromium").partition(" ")[0], "version": (producer or "").partition(" ")[2]},
        "pages": [
            {
                "startedDateTime": date(offset_ns + hop.asked_ns),
                "id": f"page_{number}",
                "title": hop.url,
                "pageTimings": {"onContentLoad": NOT_AVAILABLE, "onLoad": NOT_AVAILABLE},
            }
            for number, hop in enumerate(starts, 1)
        ],
        "entries": entries,
        "comment": _COMMENT,
    }
    return NetlogHar({"log": log}, (*problems, *_contradictions(hops)))


def _requests(events: Iterable[Mapping[str, Any]]) -> dict[int, list[_Hop]]:
    """Return the hops of each request by its number, in the order of the log."""
    found: dict[int, list[_Hop]] = {}
    for event in events:
        hops = found.setdefault(event["request"], [])
        params = event["params"] if isinstance(event["params"], dict) else {}
        if event["name"] == "URL_REQUEST_START_JOB" and event["phase"] == _BEGIN:
            key = params.get("network_isolation_key")
            hops.append(
                _Hop(
                    url=str(params.get("url", "")),
                    method=str(params.get("method", "GET")),
                    site=key.split()[0] if isinstance(key, str) and key.strip() else None,
                    is_page=params.get("request_type") == "main frame",
                    asked_ns=event["time_ns"],
                )
            )
        elif hops:
            _read(hops[-1], event["name"], event["phase"], event["time_ns"], params)
    return found


def _read(hop: _Hop, name: str, phase: int, at_ns: int, params: Mapping[str, Any]) -> None:
    """Take what one event says of a hop."""
    if name in _SENT:
        hop.protocol = _SENT[name]
    elif name == "HTTP_TRANSACTION_SEND_REQUEST" and phase == _BEGIN:
        hop.sent_ns = at_ns
    elif name == "HTTP_TRANSACTION_READ_RESPONSE_HEADERS":
        hop.answered_ns = at_ns
        hop.status, hop.headers = _answer(params.get("headers"))
    elif name == "HTTP_CACHE_READ_INFO":
        hop.is_cached = True
    elif name == "URL_REQUEST_FILTERS_SET":
        hop.is_filtered = True
    elif name in ("URL_REQUEST_JOB_BYTES_READ", "URL_REQUEST_JOB_FILTERED_BYTES_READ"):
        count = params.get("byte_count")
        bytes_read = count if isinstance(count, int) and count > 0 else 0
        hop.ended_ns = at_ns
        if name == "URL_REQUEST_JOB_BYTES_READ":
            hop.raw_bytes += bytes_read
        else:
            hop.read_bytes += bytes_read
    elif name == "URL_REQUEST_REDIRECTED":
        hop.redirect = str(params.get("location", ""))
        hop.ended_ns = hop.answered_ns or at_ns
    elif name == "CANCELLED":
        hop.error, hop.ended_ns = _ABORTED, at_ns
    elif phase == _END or name == "FAILED":  # of the job or of the whole request
        error = params.get("net_error")
        hop.error = error if isinstance(error, int) and error < 0 else hop.error
        if name == "REQUEST_ALIVE" or hop.error is not None:
            hop.ended_ns = hop.ended_ns or hop.answered_ns or at_ns


def _answer(headers: object) -> tuple[int, dict[str, str]]:
    """Return the status and the headers of an answer, whose first line is `HTTP/1.1 200`."""
    lines = [line for line in headers if isinstance(line, str)] if isinstance(headers, list) else []
    words = lines[0].split() if lines else []
    status = (_number(words[1]) if len(words) > 1 else None) or 0
    pairs = (line.partition(":") for line in lines[1:])
    return status, {name.strip().lower(): value.strip() for name, _, value in pairs}


def _number(text: str) -> int | None:
    """Return a number that a header writes in decimal; None for other texts, and for more digits than a file has."""
    return int(text) if text.isdecimal() and len(text) <= _MOST_DIGITS else None


def _page_of(hop: _Hop, starts: Sequence[_Hop], own: Sequence[int]) -> int | None:
    """Return which page load a hop belongs to: the last one of its page's site, which are `own`, that had begun."""
    at = bisect_right(own, hop.asked_ns, key=lambda number: starts[number].asked_ns)
    return own[at - 1] if at else None


def _entry(hop: _Hop, page: str, offset_ns: int, errors: Mapping[int, str]) -> dict[str, Any]:
    shared = {"httpVersion": hop.protocol or "unknown", "cookies": [], "headers": [], "headersSize": NOT_AVAILABLE}
    ended_ns = hop.ended_ns
    failed = errors.get(hop.error, f"error {hop.error}") if hop.error is not None else ""
    if ended_ns is None:
        failed = "the log ends before it"
    last_ns = max(filter(None, (hop.asked_ns, hop.sent_ns, hop.answered_ns, ended_ns)))
    response: dict[str, Any] = {
        "status": hop.status,
        "statusText": "",
        "content": {"size": hop.read_bytes, "mimeType": hop.headers.get("content-type", "")},
        "redirectURL": hop.redirect,
        "bodySize": 0 if hop.is_cached and hop.sent_ns is None else hop.body_bytes,
        **shared,
    }
    if failed:
        response["_error"] = failed  # as Chrome names it
    entry: dict[str, Any] = {
        "pageref": page,
        "startedDateTime": date(offset_ns + hop.asked_ns),
        "time": ms(last_ns - hop.asked_ns),
        "request": {"method": hop.method, "url": hop.url, "queryString": [], "bodySize": NOT_AVAILABLE, **shared},
        "response": response,
        "cache": {},
        "timings": _timings(hop, last_ns),
    }
    if hop.is_cached and hop.sent_ns is None:
        entry["_fromCache"] = "disk"  # as Chrome names it
    return entry


def _timings(hop: _Hop, last_ns: int) -> dict[str, float]:
    """Return HAR's timings in ms, which add up to the entry's time; a connection's own events are another source's."""
    nothing: dict[str, float] = dict.fromkeys(("dns", "connect", "ssl"), NOT_AVAILABLE)
    sent_ns = hop.asked_ns if hop.sent_ns is None else hop.sent_ns
    answered_ns = last_ns if hop.answered_ns is None else max(hop.answered_ns, sent_ns)
    return {
        **nothing,
        "blocked": ms(sent_ns - hop.asked_ns),
        "send": 0,
        "wait": ms(answered_ns - sent_ns),
        "receive": ms(max(last_ns - answered_ns, 0)),
    }


def _contradictions(hops: Sequence[_Hop]) -> Iterator[str]:
    """Yield what the log contradicts of itself: bodies that are not as long as their headers say."""
    whole = [
        (hop, length)
        for hop in hops
        if (length := _number(hop.headers.get("content-length", ""))) is not None
        and (hop.method, hop.status, hop.error, hop.redirect) == ("GET", 200, None, "")
        and hop.ended_ns is not None
        and hop.sent_ns is not None
    ]
    odd = [(hop, length) for hop, length in whole if hop.body_bytes != length]
    if odd:
        hop, wanted = odd[0]
        yield (
            f"implausible: {len(odd)} of {len(whole)} bodies are not as long as their headers say, first {hop.url} "
            f"with {hop.body_bytes} of {wanted} bytes (body_length)"
        )
