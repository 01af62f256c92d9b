"""HTTP Archives of several tools, and broken ones: what is taken, what is left out, and what is refused."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longlook.provision.recorded import har
from longlook.provision.recorded.har import HarError, Recording, parse_har, read_har
from tests.data.recordings import archive, recorded

OWN = "https://www.site.example"


def parsed(*entries: dict[str, Any], **log: Any) -> Recording:
    return parse_har(json.dumps(archive(entries, **log)).encode())


def taken(*entries: dict[str, Any], **log: Any) -> list[str]:
    return [entry.url.removeprefix(OWN) for entry in parsed(*entries, **log).entries]


def test_requests_are_read_in_the_order_of_their_starts() -> None:
    found = parsed(
        recorded("/b.png", 50, 90, size=700), recorded("/", 0, 40, size=900, mime="text/html; charset=utf-8")
    )
    assert [(entry.number, entry.kind, entry.size_bytes) for entry in found.entries] == [
        (1, "html", 900),
        (0, "image", 700),
    ]
    assert found.entries[0].ended_ns - found.entries[0].started_ns == 40_000_000
    assert (found.creator, found.entries[0].origin) == ("a browser 1.0", OWN)


@pytest.mark.parametrize(
    ("response", "size_bytes"),
    [
        ({"bodySize": 500, "content": {"size": 2000}}, 500),
        ({"bodySize": -1, "_transferSize": 640, "content": {"size": 2000}}, 640),  # Chrome, HTTP/2 and 3
        ({"bodySize": -1, "content": {"size": 2000, "compression": 1500}}, 500),
        ({"bodySize": "512", "content": {"size": "2000"}}, 512),  # texts, as WebPageTest has them
        ({"bodySize": 0, "content": {"size": 0}}, 0),
        ({"bodySize": None, "content": {"size": 2000}}, 2000),
        ({"bodySize": 0, "content": {}}, 0),
        ({"bodySize": 2000, "content": {"size": 2000, "compression": 1500}}, 500),  # Browsertime 1.0: decoded
        ({"bodySize": 600, "content": {"size": 2000, "compression": 1500}}, 600),
        ({"bodySize": 2000, "content": {"size": 2000, "compression": 0}}, 2000),
        ({"bodySize": 2000, "_transferSize": 800, "content": {"size": 2000, "compression": 1500}}, 500),
    ],
)
def test_the_size_is_what_was_transferred(response: dict[str, Any], size_bytes: int) -> None:
    (entry,) = parsed(recorded("/", response=response)).entries
    assert entry.size_bytes == size_bytes


UNKNOWN = {"bodySize": 0, "headersSize": 310, "content": {"size": 0, "mimeType": "text/html"}}


@pytest.mark.parametrize(
    ("fields", "size_bytes"),
    [
        ({"_bytesIn": 17_310}, 17_000),
        ({"_bytesIn": "17310", "_objectSize": 0}, 17_000),
        ({"_bytesIn": 17_310, "_objectSize": 16_900}, 16_900),
        ({"_bytesIn": 300}, 0),
    ],
)
def test_webpagetest_has_sizes_beside_the_response(fields: dict[str, Any], size_bytes: int) -> None:
    (entry,) = parsed(recorded("/", response=UNKNOWN, **fields)).entries
    assert entry.size_bytes == size_bytes


def test_a_body_size_that_was_the_decoded_one_is_counted_as_changed() -> None:
    found = parsed(recorded("/", response={"bodySize": 900, "content": {"size": 900, "compression": 500}}))
    assert found.changed == {
        "its bodySize was that of the decoded content: replayed with what compression left of it": 1
    }


def test_a_page_without_most_sizes_is_refused() -> None:
    bodies = [recorded(f"/{number}", response=UNKNOWN) for number in range(3)]
    with pytest.raises(HarError, match=r"3 of 5 answers have a size of 0.*sizes were not recorded"):
        parsed(*bodies, recorded("/a"), recorded("/b"))
    found = parsed(*bodies[:2], recorded("/a"), recorded("/b"))
    assert [each.check for each in found.implausible] == ["sizes_of_0"]


@pytest.mark.parametrize(
    "empty",
    [
        recorded("/beacon", response={"bodySize": 0, "content": {"size": 0, "mimeType": ""}}),
        recorded("/beacon", size=0, method="POST"),
        recorded("/beacon", size=0, response={"status": 404, "bodySize": 0, "content": {"size": 0}}),
        recorded("/beacon.json", size=0),
    ],
)
def test_answers_that_may_be_empty_contradict_nothing(empty: dict[str, Any]) -> None:
    assert parsed(recorded("/"), empty, empty, empty).implausible == ()


def paged(page_bytes: object, *entries: dict[str, Any]) -> Recording:
    made = archive(entries)
    made["log"]["pages"][0]["_bytesIn"] = page_bytes
    return parse_har(json.dumps(made).encode())


@pytest.mark.parametrize(
    ("page_bytes", "checks"),
    [
        (None, []),
        (2000, []),
        (3900, []),
        (1100, []),
        (4100, ["objects_below_page"]),
        ("4100", ["objects_below_page"]),
        (900, ["objects_above_page"]),
    ],
)
def test_objects_are_compared_with_what_the_page_had(page_bytes: object, checks: list[str]) -> None:
    found = paged(page_bytes, recorded("/"), recorded("/a.png"))
    assert [each.check for each in found.implausible] == checks


def test_objects_after_the_load_event_belong_to_what_the_page_had() -> None:
    made = archive([recorded("/"), recorded("/late", 2000, 2100, size=5000)], load_ms=1000)
    made["log"]["pages"][0]["_bytesIn"] = 6000
    assert parse_har(json.dumps(made).encode()).implausible == ()


def test_an_object_is_compared_with_what_arrived_of_it() -> None:
    found = parsed(recorded("/", _bytesIn=400), recorded("/a", _bytesIn=1300))
    assert [(each.check, each.problem[:6]) for each in found.implausible] == [("size_above_arrived", "1 of 2")]


def test_an_archive_may_be_packed_and_is_the_same_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = json.dumps(archive([recorded("/")])).encode()
    (tmp_path / "page.har").write_bytes(data)
    (tmp_path / "page.har.gz").write_bytes(gzip.compress(data, mtime=0))
    assert read_har(tmp_path / "page.har.gz") == read_har(tmp_path / "page.har")
    (tmp_path / "cut.har.gz").write_bytes(gzip.compress(data, mtime=0)[:-20])
    with pytest.raises(HarError, match=r"cut\.har\.gz: cannot be read"):
        read_har(tmp_path / "cut.har.gz")
    monkeypatch.setattr(har, "LARGEST_BYTES", len(data) - 1)
    with pytest.raises(HarError, match=r"page\.har\.gz: cannot be read: is over .* bytes long when it is unpacked"):
        read_har(tmp_path / "page.har.gz")


@pytest.mark.parametrize(
    ("document", "what"),
    [
        ({"constants": {}, "events": []}, "is a netlog of Chromium, not an HTTP Archive"),
        ({"qlog_version": "0.3", "traces": []}, "is a qlog, not an HTTP Archive"),
    ],
)
def test_other_records_of_a_load_are_called_by_their_name(document: dict[str, Any], what: str) -> None:
    with pytest.raises(HarError, match=what):
        parse_har(json.dumps(document).encode())


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (recorded("data:image/gif;base64,AA"), "data: URL"),
        (recorded("chrome-extension://abc/x.js"), "chrome-extension: URL"),
        (recorded("wss://live.site.example/"), "WebSocket"),
        (recorded("/live", response={"status": 101}), "WebSocket"),
        (recorded("/live", _webSocketMessages=[]), "WebSocket"),
        (recorded("/stream", _resourceType="eventsource"), "event stream"),
        (recorded("/x", response={"status": 0}), "aborted or failed"),
        (recorded("/x", response={"status": -1}), "aborted or failed"),
        (recorded("/x", response={"_error": "net::ERR_ABORTED"}), "aborted or failed"),
        (recorded("/x", response={"status": 304}), "from the browser's cache"),
        (recorded("/x", _fromCache="memory"), "from the browser's cache"),
        (recorded("/x", response={"bodySize": -1, "content": {"size": -1}}), "its size was not recorded"),
        (recorded("/x", startedDateTime="yesterday"), "malformed entry: no URL, no start or no response"),
        (recorded("http://[::1"), "malformed entry: no URL, no start or no response"),
        ({}, "malformed entry: no URL, no start or no response"),
        (recorded("/x", 2000, 2100), "after the load event"),
    ],
    ids=str,
)
def test_what_cannot_be_loaded_again_is_left_out_and_counted(entry: dict[str, Any], reason: str) -> None:
    found = parsed(recorded("/"), entry, load_ms=1000)
    assert [item.url for item in found.entries] == [f"{OWN}/"]
    assert found.skipped == {reason: 1}


def test_of_several_page_loads_the_first_counts() -> None:
    entries = [recorded("/"), recorded("/again", pageref="page_2")]
    assert taken(*entries, pages=2) == ["/"]
    assert taken(*entries) == ["/", "/again"]  # a tool that knows one page may name it differently


def test_what_is_sent_is_not_replayed_which_is_counted() -> None:
    found = parsed(recorded("/", method="POST"))
    assert found.changed == {"POST is replayed as GET, without what it sent": 1}


@pytest.mark.parametrize(
    ("initiator", "url"),
    [
        ({"type": "parser", "url": f"{OWN}/", "lineNumber": 3}, "/"),
        ({"type": "script", "stack": {"callFrames": [{"url": ""}, {"url": f"{OWN}/a.js#x"}]}}, "/a.js"),
        ({"type": "script", "stack": {"callFrames": [], "parent": {"callFrames": [{"url": f"{OWN}/b.js"}]}}}, "/b.js"),
        (f"{OWN}/c.js", "/c.js"),
        ({"type": "other"}, None),
        (None, None),
        ("", None),
        ([1], None),
    ],
)
def test_initiators_of_chrome_and_of_webpagetest_are_read(initiator: object, url: str | None) -> None:
    (entry,) = parsed(recorded("/x", _initiator=initiator)).entries
    assert entry.initiator == (url and OWN + url)


def test_a_redirect_knows_where_it_leads() -> None:
    (entry,) = parsed(recorded("/old/", response={"status": 301, "redirectURL": "../new#top"})).entries
    assert entry.redirects_to == f"{OWN}/new"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[1]", "no list log.entries"),
        (b'{"log": {"entries": {}}}', "no list log.entries"),
        (b'{"log": {"entries": []}}', "no request of 0 can be loaded again"),
        (json.dumps(archive([recorded("data:,")])).encode(), "no request of 1 can be loaded again: 1 × data: URL"),
        (json.dumps(archive([{}] * 2001)).encode(), "2001 entries; allowed: at most 2000"),
        (json.dumps(archive([recorded("/", size=1 << 40)])).encode(), "entry 0: 1099511627776 bytes; allowed: at most"),
    ],
    ids=["empty", "no text", "deep", "list", "table", "no entries", "nothing left", "many", "large object"],
)
def test_a_file_that_is_no_page_load_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(HarError, match=message):
        parse_har(data)


def test_a_byte_order_mark_and_numbers_that_json_lacks_are_no_obstacle() -> None:
    text = json.dumps(archive([recorded("/", time=float("nan"))]))
    (entry,) = parse_har(b"\xef\xbb\xbf" + text.encode()).entries
    assert entry.ended_ns == entry.started_ns


def test_files_that_cannot_be_read_name_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(HarError, match="it is a folder"):
        read_har(tmp_path)
    with pytest.raises(HarError, match="cannot be read: No such file"):
        read_har(tmp_path / "absent.har")
    path = tmp_path / "page.har"
    path.write_text("{}")
    monkeypatch.setattr(har, "LARGEST_BYTES", 1)
    with pytest.raises(HarError, match="2 bytes long; allowed: at most 1"):
        read_har(path)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
FIELDS = ("request", "response", "startedDateTime", "time", "pageref", "_initiator", "_resourceType", "cache")


@settings(max_examples=60)
@given(broken=st.dictionaries(st.sampled_from(FIELDS), ANYTHING), inner=ANYTHING)
def test_no_value_of_any_field_breaks_the_reader(broken: dict[str, Any], inner: object) -> None:
    whole = recorded("/second")
    whole["response"] |= {"content": inner, "bodySize": inner, "status": 200, "redirectURL": inner}
    found = parsed(recorded("/"), whole, recorded("/third") | broken)
    assert 1 <= len(found.entries) <= 3
    assert len(found.entries) + sum(found.skipped.values()) == 3
