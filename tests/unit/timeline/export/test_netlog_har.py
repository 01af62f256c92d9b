"""A netlog of Chromium becomes an HTTP Archive: of a real one, and rule by rule of events written by hand."""

import json
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from longlook.core.errors import InputError
from longlook.provision.recorded.har import HarError, parse_har, read_har
from longlook.timeline.export import convert
from longlook.timeline.export.netlog_har import netlog_har
from tests.data.decoded import NETLOGS, QLOGS

MS = 1_000_000
URL, SITE = "https://example.test/", "https://example.test https://example.test"
FIXTURE = NETLOGS / "chromium-156-page.json.gz"

Event = tuple[int, str, int, dict[str, Any]]


def start(at_ms: int, url: str = URL, *, kind: str = "other", key: str | None = SITE, **params: Any) -> Event:
    shared = {"url": url, "method": "GET", "request_type": kind, **params}
    return at_ms, "URL_REQUEST_START_JOB", 1, shared if key is None else {**shared, "network_isolation_key": key}


def answered(at_ms: int, *headers: str, status: int = 200, protocol: str = "QUIC_") -> list[Event]:
    """A request's headers that are sent 5 ms before the answer's."""
    name = f"HTTP_TRANSACTION_{protocol}SEND_REQUEST_HEADERS"
    return [
        (at_ms - 5, "HTTP_TRANSACTION_SEND_REQUEST", 1, {}),
        (at_ms - 5, name, 0, {}),
        (at_ms, "HTTP_TRANSACTION_READ_RESPONSE_HEADERS", 0, {"headers": [f"HTTP/1.1 {status}", *headers]}),
    ]


def body(at_ms: int, read: int, raw: int | None = None) -> list[Event]:
    packed: list[Event] = [] if raw is None else [
        (at_ms, "URL_REQUEST_FILTERS_SET", 0, {"filters": "GZIP"}),
        (at_ms, "URL_REQUEST_JOB_BYTES_READ", 0, {"byte_count": raw}),
    ]  # fmt: skip
    return [*packed, (at_ms, "URL_REQUEST_JOB_FILTERED_BYTES_READ", 0, {"byte_count": read})]


def ended(at_ms: int, **params: Any) -> Event:
    return at_ms, "REQUEST_ALIVE", 2, params


PAGE = [start(0, kind="main frame"), *answered(10, "Content-Type: text/html"), *body(12, 100), ended(13)]


def made(folder: Path, *requests: list[Event], reference_unix_ns: int | None = 0) -> tuple[Any, tuple[str, ...]]:
    """The entries that these requests become, and the problems."""
    constants = {"reference_unix_ns": reference_unix_ns, "errors": {"ERR_ABORTED": -3, "ERR_FAILED": -2}}
    lines = [
        {"request": number, "time_ns": at_ms * MS, "name": name, "phase": phase, "params": params}
        for number, events in enumerate(requests)
        for at_ms, name, phase, params in events
    ]
    path = folder / "requests.jsonl"
    path.write_text("\n".join(map(json.dumps, [constants, *sorted(lines, key=lambda line: line["time_ns"])])))
    found = netlog_har(path, "net.json", "Chromium 156")
    return found.har["log"]["entries"], found.problems


def test_a_real_netlog_becomes_the_page_that_was_loaded(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    (written,) = convert(FIXTURE, "har", tmp_path / "page.har")
    log = json.loads(written.path.read_text())["log"]
    assert (log["browser"], [page["title"] for page in log["pages"]]) == (
        {"name": "Chromium", "version": "156.0.8078.108"},
        ["https://quic.example.test:18443/index.html"],
    )
    seen = [
        (entry["request"]["url"].rpartition("/")[2], entry["response"]["status"], entry["response"]["bodySize"])
        for entry in log["entries"]
    ]
    transferred = {"index.html": 155, "a.css": 117, "a.js": 132, "x.json": 2}
    assert {name: size for name, _, size in seen if name in transferred} == transferred
    assert ("b.png", 200, 50_913) in seen
    assert ("r.png", 302, 0) in seen
    assert ("none.png", 404, 0) in seen
    assert {entry["response"]["httpVersion"] for entry in log["entries"]} <= {"h3", "unknown"}
    assert all(
        entry["time"] == pytest.approx(sum(t for t in entry["timings"].values() if t > 0)) for entry in log["entries"]
    )
    assert written.count == len(seen)
    assert written.problems[0] == snapshot
    assert not [problem for problem in written.problems if "implausible" in problem]


def test_the_archive_of_a_netlog_is_a_page_to_study(tmp_path: Path) -> None:
    convert(FIXTURE, "har", tmp_path / "page.har")
    recording = read_har(tmp_path / "page.har")
    assert {entry.kind for entry in recording.entries} >= {"html", "css", "script", "json", "image"}
    assert recording.implausible == ()
    with pytest.raises(HarError, match="is a netlog of Chromium, not an HTTP Archive: longlook trace convert FILE"):
        read_har(FIXTURE)


def test_times_and_sizes_are_those_of_the_log(tmp_path: Path) -> None:
    entries, problems = made(
        tmp_path, PAGE, [start(20, f"{URL}a.css"), *answered(40), *body(45, 900, raw=300), ended(46)]
    )
    page, sheet = entries
    assert problems == ()
    assert (page["time"], page["timings"]["blocked"], page["timings"]["wait"], page["timings"]["receive"]) == (
        12,
        5,
        5,
        2,
    )
    assert (sheet["startedDateTime"], sheet["time"]) == ("1970-01-01T00:00:00.020000Z", 25)
    assert (sheet["response"]["bodySize"], sheet["response"]["content"]["size"]) == (300, 900)
    assert page["response"]["bodySize"] == page["response"]["content"]["size"] == 100


@pytest.mark.parametrize(("protocol", "version"), [("", "http/1.1"), ("HTTP2_", "h2"), ("QUIC_", "h3")])
def test_the_protocol_is_that_of_the_request(tmp_path: Path, protocol: str, version: str) -> None:
    (entry,), _ = made(tmp_path, [start(0, kind="main frame"), *answered(9, protocol=protocol), ended(10)])
    assert entry["response"]["httpVersion"] == version


def test_each_redirection_is_an_entry(tmp_path: Path) -> None:
    moved: Event = (11, "URL_REQUEST_REDIRECTED", 0, {"location": f"{URL}new"})
    hops = [start(0, kind="main frame"), *answered(10, status=301), moved, start(12, f"{URL}new", kind="main frame")]
    entries, _ = made(tmp_path, [*hops, *answered(20), *body(21, 50), ended(22)])
    assert [(each["response"]["status"], each["response"]["redirectURL"]) for each in entries] == [
        (301, f"{URL}new"),
        (200, ""),
    ]
    assert {each["pageref"] for each in entries} == {"page_1"}
    assert [each["time"] for each in entries] == [10, 9]


def test_a_page_that_a_redirection_led_to_before_is_a_load_of_its_own(tmp_path: Path) -> None:
    moved: Event = (11, "URL_REQUEST_REDIRECTED", 0, {"location": f"{URL}new"})
    hops = [start(0, kind="main frame"), *answered(10, status=301), moved, start(12, f"{URL}new", kind="main frame")]
    again = [start(100, f"{URL}new", kind="main frame"), *answered(110), ended(111)]
    entries, _ = made(tmp_path, [*hops, *answered(20), *body(21, 50), ended(22)], again)
    assert [each["pageref"] for each in entries] == ["page_1", "page_1", "page_2"]


def test_each_page_has_its_own_requests_and_the_browsers_are_counted(tmp_path: Path) -> None:
    again = [start(100, kind="main frame"), *answered(110), ended(111)]
    frame = [start(105, "https://ads.test/", key="https://example.test https://ads.test"), *answered(112), ended(113)]
    own = [start(50, "https://update.test/", key="null null"), *answered(60), ended(61)]
    early = [start(-5, f"{URL}early"), *answered(1), ended(2)]
    entries, problems = made(tmp_path, PAGE, again, frame, own, early)
    assert [(each["pageref"], each["request"]["url"]) for each in entries] == [
        ("page_1", URL), ("page_2", URL), ("page_2", "https://ads.test/"),
    ]  # fmt: skip
    assert problems == ("2 requests belong to no page, as those of the browser itself, and are left out",)


def test_logs_without_isolation_keys_have_pages_too(tmp_path: Path) -> None:
    page = [start(0, kind="main frame", key=None), *answered(10), ended(11)]
    entries, problems = made(tmp_path, page, [start(20, f"{URL}a", key=None), *answered(30), ended(31)])
    assert (len(entries), problems) == (2, ())


@pytest.mark.parametrize(
    ("events", "error"),
    [
        ([*answered(20), *body(21, 50), (22, "CANCELLED", 0, {}), ended(22)], "ERR_ABORTED"),
        ([(25, "URL_REQUEST_START_JOB", 2, {"net_error": -2}), ended(26, net_error=-2)], "ERR_FAILED"),
        ([(25, "FAILED", 0, {"net_error": -7}), ended(26)], "error -7"),
        ([(25, "URL_REQUEST_START_JOB", 2, {})], "the log ends before it"),
    ],
)
def test_what_did_not_end_well_is_no_object_of_the_page(tmp_path: Path, events: list[Event], error: str) -> None:
    entries, problems = made(tmp_path, PAGE, [start(15, f"{URL}a"), *events])
    assert entries[1]["response"]["_error"] == error
    assert problems == ()
    recording = parse_har(json.dumps({"log": {"entries": entries}}).encode())
    assert (len(recording.entries), recording.skipped) == (1, {"aborted or failed": 1})


def test_what_came_from_the_cache_was_not_transferred(tmp_path: Path) -> None:
    cached: Event = (21, "HTTP_CACHE_READ_INFO", 1, {})
    entries, _ = made(tmp_path, PAGE, [start(20, f"{URL}a"), cached, *body(22, 5000), ended(23)])
    assert (entries[1]["response"]["bodySize"], entries[1]["_fromCache"]) == (0, "disk")
    revalidated, _ = made(tmp_path, PAGE, [start(20, f"{URL}a"), cached, *answered(30, status=304), ended(31)])
    assert "_fromCache" not in revalidated[1]


def test_a_body_that_is_not_as_long_as_its_header_says_is_implausible(tmp_path: Path) -> None:
    (_, _, problems) = (
        None,
        *made(tmp_path, PAGE, [start(20, f"{URL}a"), *answered(30, "Content-Length: 90"), *body(31, 80), ended(32)]),
    )
    assert problems == (
        "implausible: 1 of 1 bodies are not as long as their headers say, first https://example.test/a with 80 of 90 "
        "bytes (body_length)",
    )


@pytest.mark.parametrize("length", ["²", "9" * 5000, "-1"])
def test_a_length_that_is_no_number_is_not_compared(tmp_path: Path, length: str) -> None:
    load = [start(20, f"{URL}a"), *answered(30, f"Content-Length: {length}"), *body(31, 80), ended(32)]
    assert made(tmp_path, PAGE, load)[1] == ()


def test_a_log_without_a_reference_says_so(tmp_path: Path) -> None:
    assert made(tmp_path, PAGE, reference_unix_ns=None)[1] == (
        "the log does not say when its clock began: dates count from 1970",
    )


def test_events_of_other_shapes_are_no_error(tmp_path: Path) -> None:
    strange: list[Event] = [
        (1, "HTTP_TRANSACTION_READ_RESPONSE_HEADERS", 0, {"headers": 7}),
        (1, "HTTP_TRANSACTION_READ_RESPONSE_HEADERS", 0, {"headers": [None, "no line"]}),
        (1, "HTTP_TRANSACTION_READ_RESPONSE_HEADERS", 0, {"headers": ["HTTP/1.1 ²", "Content-Length: ²"]}),
        (1, "HTTP_TRANSACTION_READ_RESPONSE_HEADERS", 0, {"headers": [f"HTTP/1.1 {'9' * 5000}"]}),
        (1, "URL_REQUEST_JOB_BYTES_READ", 0, {"byte_count": "many"}),
        (1, "URL_REQUEST_JOB_BYTES_READ", 0, {"byte_count": -5}),
    ]
    ((entry,), _) = made(tmp_path, [*strange, start(0, kind="main frame"), *strange, ended(2)])
    assert (entry["response"]["status"], entry["response"]["bodySize"]) == (0, 0)


def test_what_has_no_page_load_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"net\.json: it logs 1 requests, but no page load"):
        made(tmp_path, [start(0), *answered(10), ended(11)])
    for path in (NETLOGS / "chromium-156.json.gz", QLOGS / "quinn.qlog.gz"):
        with pytest.raises(InputError, match="no page load") as caught:
            convert(path, "har", tmp_path / "x.har")
        assert caught.value.hint
