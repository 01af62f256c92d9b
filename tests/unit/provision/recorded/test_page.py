"""What an object of a recorded page waits for, and the page that trials load."""

import json
from typing import Any

import pytest

from longlook.core import codec
from longlook.provision.recorded import page as pages
from longlook.provision.recorded.har import HarError, parse_har
from longlook.provision.recorded.page import RecordedPage, evidence_counts, recorded_page
from tests.data.recordings import archive, recorded


def made(*entries: dict[str, Any]) -> RecordedPage:
    return recorded_page(parse_har(json.dumps(archive(entries)).encode()))


def phases(page: RecordedPage) -> list[list[int]]:
    """The numbers of the HAR's entries in each phase."""
    return [[item.entry for item in phase] for phase in page.phases]


def named_by(path: str) -> dict[str, str]:
    return {"type": "parser", "url": f"https://www.site.example{path}"}


def test_an_object_comes_one_phase_after_what_named_it() -> None:
    page = made(
        recorded("/", 0, 50),
        recorded("/a.css", 20, 60, _initiator=named_by("/")),
        recorded("/b.js", 21, 90, _initiator=named_by("/")),
        recorded("/font", 70, 95, _initiator=named_by("/a.css")),
        recorded("/c.json", 99, 120, _initiator=named_by("/b.js")),
        recorded("/d.png", 130, 150, _initiator=named_by("/c.json")),
    )
    assert phases(page) == [[0], [1, 2], [3, 4], [5]]
    assert evidence_counts(page) == {"document": 1, "initiator": 5}


def test_without_initiators_an_object_waits_for_the_last_that_had_ended_and_can_name_others() -> None:
    page = made(
        recorded("/", 0, 50),
        recorded("/early.png", 30, 60),
        recorded("/a.css", 55, 80),
        recorded("/b.png", 56, 82),
        recorded("/c.png", 85, 99),
    )
    assert phases(page) == [[0], [1, 2, 3], [4]]
    assert [item.after for item in page.objects] == [None, 0, 0, 0, 2]  # the image that ended last names nothing
    assert [item.evidence for item in page.objects] == ["document", "nothing earlier", "timing", "timing", "timing"]


def test_an_initiator_that_is_not_in_the_file_leaves_the_times_to_decide() -> None:
    page = made(recorded("/", 0, 50), recorded("/a.png", 55, 80, _initiator=named_by("/elsewhere.js")))
    assert page.objects[1].evidence == "timing"


def test_what_a_redirect_leads_to_waits_for_it() -> None:
    page = made(
        recorded("/", 0, 50),
        recorded("/old", 55, 80, size=0, response={"status": 302, "redirectURL": "/new.png"}),
        recorded("/new.png", 81, 99, _initiator=named_by("/")),
    )
    assert phases(page) == [[0], [1], [2]]
    assert page.objects[2].evidence == "redirect"
    assert page.changed == {"served with 84 bytes, as it had fewer": 1}


def test_the_document_is_the_first_that_redirects_nowhere() -> None:
    moved = {"status": 301, "redirectURL": "/home"}
    page = made(recorded("/", 0, 10, response=moved), recorded("/home", 11, 30), recorded("/a.png", 31, 40))
    assert phases(page) == [[1], [2]]
    assert page.skipped == {"redirect before the document": 1}


def test_origins_are_kept_and_what_could_be_private_is_not() -> None:
    page = made(
        recorded("/account?token=secret"),
        recorded("https://name:word@cdn.other.example:8443/secret/i.png?secret", 20, 30),
    )
    assert page.origins == ("https://www.site.example", "https://cdn.other.example:8443")
    assert [item.origin for item in page.objects] == [0, 1]
    text = json.dumps(codec.encode(page))
    assert not [word for word in ("secret", "word", "token") if word in text]


def test_a_page_with_too_many_bytes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "MOST_PAGE_BYTES", 1500)
    with pytest.raises(HarError, match="2000 bytes in all; allowed: at most 1500"):
        made(recorded("/"), recorded("/a.png"))
